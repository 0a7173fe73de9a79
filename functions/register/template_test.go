package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestMain(m *testing.M) { lambdatest.Main(m, main) }

func TestTheAlarmsKnowWhatTheFunctionPrints(t *testing.T) {
	counted := []string{lambdatest.Faults, lambdatest.Events}
	registration := [][]byte{event(t, "httpapi-registration")}
	for name, story := range map[string]lambdatest.LogStory{
		"the records are out of reach":  {Events: registration, Before: lambdatest.StoreDown(1), Counted: counted},
		"the outcome can't be recorded": {Events: registration, Before: lambdatest.StoreDown(2), Counted: counted},
		"another run has taken the record": {Events: registration, Counted: counted, Before: func(t *testing.T, db *dynamotest.DB, _ int) {
			t.Helper()
			lambdatest.StolenBy(t, db, usersTable)
		}},
		"requests as they come": {Events: [][]byte{
			event(t, "httpapi-registration"), event(t, "httpapi-registration-retry"), event(t, "httpapi-registration-taken"),
			request(t, "guessable", `{"email":"eve@example.com","name":"Eve"}`),
		}, Answers: []string{`:201`, `:201`, `:409`, `:400`}},
	} {
		t.Run(name, func(t *testing.T) {
			story.Run(t, newDatabase(t), "RegisterFunction", timeout, map[string]string{"USERS_TABLE": usersTable})
		})
	}
}
