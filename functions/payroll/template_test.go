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

func TestTheAlarmsKnowWhatTheFunctionPrints(t *testing.T) {
	counted := []string{lambdatest.Faults, lambdatest.Events}
	for name, story := range map[string]lambdatest.LogStory{
		"the records are out of reach":  {Before: lambdatest.StoreDown(1), Counted: counted},
		"the outcome can't be recorded": {Before: lambdatest.StoreDown(2), Counted: counted},
		"another run has taken the record": {Counted: counted, Before: func(t *testing.T, db *dynamotest.DB, _ int) {
			t.Helper()
			lambdatest.StolenBy(t, db, payrollTable)
		}},
		"everybody is paid":   {Answers: []string{`"paid":1,`}},
		"the bank refuses":    {Variables: map[string]string{"SIMULATED_BANK": "refuse"}, Answers: []string{"UnfinishedError"}},
		"the bank fails once": {Variables: map[string]string{"SIMULATED_BANK": "flaky"}, Answers: []string{"UnfinishedError"}},
	} {
		t.Run(name, func(t *testing.T) {
			story.Events = [][]byte{november}
			story.Run(t, newDatabase(t, 1), "PayrollFunction", timeout, map[string]string{"PAYROLL_TABLE": payrollTable})
		})
	}
}

// What the payroll relies on and only the template can give.
func TestTheTemplateStartsThePayrollAgain(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, function, _ := strings.Cut(string(template), "\n  PayrollFunction:\n")
	function, _, _ = strings.Cut(function, "\n\n")
	for _, setting := range []string{
		fmt.Sprintf("Timeout: %d\n", int(timeout.Seconds())),
		"EventInvokeConfig:\n        MaximumRetryAttempts: 2\n",
		"OnFailure:\n            Type: SQS\n            Destination: !GetAtt PayrollUnfinishedQueue.Arn\n",
		`Input: '{"scheduled_time": "<aws.scheduler.scheduled-time>"}'`,
	} {
		if !strings.Contains(function, setting) {
			t.Errorf("template.yaml lacks %s", setting)
		}
	}
}
