package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestMain(m *testing.M) { lambdatest.Main(m, main) }

// What the function prints, of each event after which somebody should look, and of what
// is nobody's concern.
func TestTheAlarmsKnowWhatTheFunctionPrints(t *testing.T) {
	counted := []string{lambdatest.Faults, lambdatest.Events}
	paid := [][]byte{event(t, "httpapi-payment")}
	for name, story := range map[string]lambdatest.LogStory{
		"the records are out of reach":  {Events: paid, Before: lambdatest.StoreDown(1), Counted: counted},
		"the outcome can't be recorded": {Events: paid, Before: lambdatest.StoreDown(2), Counted: counted},
		"another run has taken the record": {Events: paid, Counted: counted, Before: func(t *testing.T, db *dynamotest.DB, _ int) {
			t.Helper()
			lambdatest.StolenBy(t, db, paymentsTable)
		}},
		"a request is repeated": {Events: [][]byte{event(t, "httpapi-payment"), event(t, "httpapi-payment-retry"), event(t, "httpapi-payment-extras")}, Answers: []string{`:201`, `:201`, `:201`}},
		"a request is refused": {Events: [][]byte{
			event(t, "httpapi-payment"), event(t, "httpapi-payment-other-amount"), event(t, "httpapi-payment-no-key"), event(t, "httpapi-payment-invalid"),
		}, Answers: []string{`:201`, `:422`, `:400`, `:422`}},
		"a card is declined":      {Events: paid, Variables: map[string]string{"SIMULATED_PROVIDER": "refuse"}, Answers: []string{`:402`}},
		"the provider has failed": {Events: append(paid, paid...), Variables: map[string]string{"SIMULATED_PROVIDER": "flaky"}, Answers: []string{`connection reset`, `:201`}},
	} {
		t.Run(name, func(t *testing.T) {
			story.Run(t, newDatabase(t), "PaymentFunction", timeout, map[string]string{"PAYMENTS_TABLE": paymentsTable, "KEY_SCOPE": "jwt"})
		})
	}
}
