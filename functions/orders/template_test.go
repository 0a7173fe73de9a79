package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestMain(m *testing.M) { lambdatest.Main(m, main) }

func TestTheAlarmsKnowWhatTheFunctionPrints(t *testing.T) {
	counted := []string{lambdatest.Faults, lambdatest.Events}
	order := [][]byte{message(t, first, `{"order_id":"ord-1","customer":"cus_8812","items":[{"sku":"cup-white","quantity":1}]}`)}
	for name, story := range map[string]lambdatest.LogStory{
		"the records are out of reach":  {Events: order, Before: lambdatest.StoreDown(1), Counted: counted},
		"the outcome can't be recorded": {Events: order, Before: lambdatest.StoreDown(2), Counted: counted},
		"another run has taken the record": {Events: order, Counted: counted, Before: func(t *testing.T, db *dynamotest.DB, _ int) {
			t.Helper()
			lambdatest.StolenBy(t, db, ordersTable)
		}},
		"messages as they come": {Events: [][]byte{
			event(t, "sqs-orders"), event(t, "sqs-orders-redelivery"), event(t, "sqs-orders-resent"), event(t, "sqs-orders-mixed"),
		}, Answers: []string{`:[]`, `:[]`, `:[]`, invalid}},
		"the warehouse is sold out": {Events: order, Variables: map[string]string{"SIMULATED_WAREHOUSE": "refuse"}, Answers: []string{first}},
	} {
		t.Run(name, func(t *testing.T) {
			story.Run(t, newDatabase(t), "OrdersFunction", timeout, map[string]string{"ORDERS_TABLE": ordersTable})
		})
	}
}

// What the guard relies on and only the template can give.
func TestTheTemplateSetsTheQueueUpForTheFunction(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	template := string(raw)
	_, queues, _ := strings.Cut(template, "\n  OrdersQueue:\n")
	queues, _, _ = strings.Cut(queues, "\n  OrdersFunction:\n")
	seconds := func(part, property string) []time.Duration {
		var all []time.Duration
		for _, found := range regexp.MustCompile(`(?m)^ +`+property+`: (\d+)`).FindAllStringSubmatch(part, -1) {
			n, err := strconv.Atoi(found[1])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Duration(n)*time.Second)
		}
		return all
	}
	if got := seconds(template, "Timeout"); len(got) == 0 || got[0] != timeout {
		t.Errorf("the timeouts are %v, want %v for all functions that have none of their own", got, timeout)
	}
	if got := seconds(queues, "VisibilityTimeout"); len(got) != 1 || got[0] != 6*timeout {
		t.Errorf("the visibility timeout is %v, want six times the function's %v", got, timeout)
	}
	var comeBack time.Duration
	retentions := seconds(queues, "MessageRetentionPeriod")
	for _, retention := range retentions {
		comeBack += retention
	}
	if len(retentions) != 2 || comeBack >= remembered {
		t.Errorf("messages may come back for %v (%v), and orders are remembered for %v", comeBack, retentions, remembered)
	}
	for _, setting := range []string{"FunctionResponseTypes: [ReportBatchItemFailures]", "maxReceiveCount: 5", "MaximumConcurrency: 10", "deadLetterTargetArn: !GetAtt OrdersDeadLetterQueue.Arn"} {
		if !strings.Contains(template, setting) {
			t.Errorf("template.yaml lacks %s", setting)
		}
	}
}
