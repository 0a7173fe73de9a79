package main

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestMain(m *testing.M) { lambdatest.Main(m, main) }

func TestTheAlarmsKnowWhatTheFunctionPrints(t *testing.T) {
	counted := []string{lambdatest.Faults, lambdatest.Events}
	once := [][]byte{event(t, "httpapi-checkout")}
	twice := [][]byte{event(t, "httpapi-checkout"), event(t, "httpapi-checkout-retry")}
	for name, story := range map[string]lambdatest.LogStory{
		"the records are out of reach": {Events: once, Before: lambdatest.StoreDown(1), Counted: counted},
		"a step can't be recorded":     {Events: once, Before: lambdatest.StoreDown(2), Counted: counted},
		"the goods can't be given back": {
			Events: once, Counted: counted, Variables: map[string]string{"SIMULATED_PROVIDER": "refuse"},
			Before: func(_ *testing.T, db *dynamotest.DB, _ int) {
				db.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Nth: 2, Do: dynamotest.Deny()})
			},
		},
		"a deployment has renamed a step": {
			Events: twice, Counted: []string{lambdatest.Stuck, lambdatest.Events}, Variables: map[string]string{"SIMULATED_PROVIDER": "flaky"},
			Before: renamesTheStep,
		},
		"a request is resumed":  {Events: twice, Variables: map[string]string{"SIMULATED_PROVIDER": "flaky"}, Answers: []string{`connection reset`, `:201`}},
		"a card is declined":    {Events: twice, Variables: map[string]string{"SIMULATED_PROVIDER": "refuse"}, Answers: []string{`:402`, `:402`}},
		"requests as they come": {Events: append(twice, event(t, "httpapi-checkout-sold-out"), event(t, "httpapi-checkout-invalid")), Answers: []string{`:201`, `:201`, `:409`, `:422`}},
	} {
		t.Run(name, func(t *testing.T) {
			story.Run(t, newDatabase(t), "CheckoutFunction", timeout, map[string]string{"SALES_TABLE": salesTable})
		})
	}
}

// renamesTheStep has the record of the first request tell of a step that the function
// does not know, as one of an earlier deployment may.
func renamesTheStep(t *testing.T, db *dynamotest.DB, event int) {
	t.Helper()
	if event == 0 {
		return
	}
	for _, record := range db.Items(lambdatest.IdempotencyTable) {
		steps, ok := record["steps"].(*types.AttributeValueMemberM)
		if !ok {
			t.Fatalf("the record has no steps: %v", record)
		}
		steps.Value["reserve"] = steps.Value["reserve-stock"]
		delete(steps.Value, "reserve-stock")
		if err := db.Seed(lambdatest.IdempotencyTable, record); err != nil {
			t.Fatal(err)
		}
	}
}
