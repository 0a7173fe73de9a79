package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestMain(m *testing.M) { lambdatest.Main(m, main) }

// TestTheAlarmsKnowWhatTheFunctionPrints: what a sweep finds raises no alarm by the log, but by
// the queue. And template.yaml lets it do what it does.
func TestTheAlarmsKnowWhatTheFunctionPrints(t *testing.T) {
	counted := []string{lambdatest.Faults, lambdatest.Events}
	for name, story := range map[string]lambdatest.LogStory{
		"nothing resumes a request":    {Answers: []string{`"abandoned":1`}},
		"a message can't be recorded":  {Before: refusing("UpdateItem"), Counted: counted},
		"a message can't be announced": {Before: refusing("PutItem"), Counted: counted, Answers: []string{"errorMessage"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.died("payment#1", nil)
			story.Events = [][]byte{[]byte(`{}`)}
			w.db.ResetLog()
			story.Run(t, w.db, "ResumeFunction", timeout, w.settings)
		})
	}
}

func refusing(operation string) func(*testing.T, *dynamotest.DB, int) {
	return func(_ *testing.T, db *dynamotest.DB, _ int) {
		db.Inject(dynamotest.Fault{Table: lambdatest.IdempotencyTable, Operation: operation, Times: dynamotest.Always, Do: dynamotest.Deny()})
	}
}

// What the sweep relies on and only the template can give.
func TestTheTemplateStartsTheSweeps(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, function, _ := strings.Cut(string(template), "\n  ResumeFunction:\n")
	function, _, _ = strings.Cut(function, "\n\n")
	for _, setting := range []string{
		fmt.Sprintf("Timeout: %d ", int(timeout.Seconds())),
		"ScheduleExpression: rate(5 minutes)\n",
		`FUNCTIONS: !Sub '{"checkout": "${CheckoutFunction}"}'`,
	} {
		if !strings.Contains(function, setting) {
			t.Errorf("template.yaml lacks %s", setting)
		}
	}
}
