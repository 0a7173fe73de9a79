package dynamotest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// newPayments is a database of the examples with its table.
func newPayments() *dynamotest.DB {
	db := dynamotest.Open()
	db.MustCreateTable("payments", "id")
	return db
}

// outcome tells an error in a word.
func outcome(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	if err != nil {
		return "broken connection"
	}
	return "ok"
}

// The second and third write of one item suffer, each in its own way.
func ExampleDB_Inject() {
	db := newPayments()
	db.Inject(
		dynamotest.Fault{Operation: "PutItem", Key: "id=a", Nth: 2, Do: dynamotest.FailAfter()},
		dynamotest.Fault{Operation: "PutItem", Key: "id=a", Nth: 3, Do: dynamotest.TransactionConflict()},
	)
	client := db.Client(once)
	for _, id := range []string{"a", "b", "a", "b", "a", "b"} {
		fmt.Println(id, outcome(pay(client, id, "1")))
	}
	// Output:
	// a ok
	// b ok
	// a InternalServerError
	// b ok
	// a TransactionConflictException
	// b ok
}

// One request of a context suffers, whatever else is under way.
func ExampleWithEffects() {
	db := newPayments()
	client := db.Client(once)
	put := func(ctx context.Context) error {
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("payments"), Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: "a"},
		}})
		return err
	}
	fmt.Println(outcome(put(dynamotest.WithEffects(context.Background(), dynamotest.LoseReply()))))
	fmt.Println(outcome(put(context.Background())))
	// Output:
	// broken connection
	// ok
}

// A third of all requests are lost, the same ones in each run.
func ExampleFault() {
	db := newPayments()
	db.Inject(dynamotest.Fault{Times: dynamotest.Always, Chance: 1.0 / 3, Seed: 7, Do: dynamotest.LoseRequest()})
	client := db.Client(once)
	lost := 0
	for range 300 {
		if pay(client, "a", "1") != nil {
			lost++
		}
	}
	fmt.Println("lost:", lost)
	db.ClearFaults()
	fmt.Println(outcome(pay(client, "a", "1")))
	// Output:
	// lost: 102
	// ok
}

// A test asks in the end whether what it meant to test has happened.
func ExampleDB_Unmet() {
	db := newPayments()
	db.Inject(dynamotest.Fault{Operation: "DeleteItem", Do: dynamotest.LoseReply()})
	_ = pay(db.Client(), "a", "1")
	for _, fault := range db.Unmet() {
		fmt.Println(fault.Operation, fault.Do)
	}
	// Output: DeleteItem reply lost
}

func ExampleThrottleFor() {
	db := newPayments()
	db.Inject(dynamotest.Fault{Do: dynamotest.ThrottleFor("TableWriteMaxOnDemandThroughputExceeded")})
	throttled, ok := errors.AsType[*types.ThrottlingException](pay(db.Client(once), "a", "1"))
	fmt.Println(ok, *throttled.ThrottlingReasons[0].Reason)
	// Output: true TableWriteMaxOnDemandThroughputExceeded
}

func ExampleDeny() {
	db := newPayments()
	db.Inject(dynamotest.Fault{Operation: "PutItem", Times: dynamotest.Always, Do: dynamotest.Deny()})
	err := pay(db.Client(), "a", "1")
	fmt.Println(outcome(err), strings.Contains(err.Error(), "dynamodb:PutItem on resource: arn:aws:dynamodb:us-east-1:000000000000:table/payments"))
	// Output: AccessDeniedException true
}

// A write that its caller has given up on arrives after all.
func ExampleApplyLater() {
	db := newPayments()
	var held dynamotest.Held
	db.Inject(dynamotest.Fault{Do: dynamotest.ApplyLater(&held)})
	client := db.Client(once)
	fmt.Println("first:", outcome(pay(client, "a", "1")))
	fmt.Println("second:", outcome(pay(client, "a", "2")))
	fmt.Println("waiting:", held.Waiting())
	for _, late := range held.Release() {
		fmt.Println("late:", late.Operation, late.Keys, late.Applied)
	}
	fmt.Println("stored:", db.Items("payments")[0]["amount"].(*types.AttributeValueMemberN).Value)
	// Output:
	// first: broken connection
	// second: ok
	// waiting: 1
	// late: PutItem [id=a] true
	// stored: 1
}

// The caller waits while somebody else is faster.
func ExampleHold() {
	db := newPayments()
	var held dynamotest.Held
	db.Inject(dynamotest.Fault{Key: "id=a", Do: dynamotest.Hold(&held)}, dynamotest.Fault{Key: "id=b", Do: dynamotest.After(func(dynamotest.Request) {
		held.Release()
	})})
	client := db.Client(once)
	waiting := make(chan error)
	go func() { waiting <- pay(client, "a", "1") }()
	held.Await(1)
	fmt.Println("b:", outcome(pay(client, "b", "2")))
	fmt.Println("a:", outcome(<-waiting))
	// Output:
	// b: ok
	// a: ok
}

// Somebody else writes between a request's arrival and its being applied.
func ExampleBefore() {
	db := newPayments()
	db.Inject(dynamotest.Fault{Do: dynamotest.Before(func(r dynamotest.Request) {
		fmt.Println("meanwhile, before", r.Operation, r.Keys)
		_ = db.Seed("payments", payment("a", "100"))
	})})
	fmt.Println(outcome(pay(db.Client(), "a", "1")))
	// Output:
	// meanwhile, before PutItem [id=a]
	// ok
}

func ExampleCancel() {
	db := newPayments()
	db.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Do: dynamotest.Cancel("None", "ThrottlingError")})
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](transfer(db))
	fmt.Println(ok, *cancelled.CancellationReasons[1].Code)
	// Output: true ThrottlingError
}

// transfer takes from one payment what it gives to another.
func transfer(db *dynamotest.DB) error {
	action := func(id, amount string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: aws.String("payments"), Item: payment(id, amount)}}
	}
	_, err := db.Client(once).TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{action("a", "-1"), action("b", "1")},
	})
	return err
}

// What each effect does to a write, as its caller sees it, and as the table has it.
func ExampleEffect() {
	for _, effect := range []dynamotest.Effect{
		dynamotest.LoseRequest(),
		dynamotest.LoseReply(),
		dynamotest.FailBefore(), // 500 before it is applied
		dynamotest.FailAfter(),  // 500 and it is applied
		dynamotest.Throttle(),
		dynamotest.Deny(),
		dynamotest.TransactionConflict(),
		dynamotest.Fail("LimitExceededException", "too many tables", 400),
		dynamotest.DelayBefore(0), // as long as is given
		dynamotest.DelayAfter(0),
	} {
		db := newPayments()
		db.Inject(dynamotest.Fault{Do: effect})
		err := pay(db.Client(once), "a", "1")
		fmt.Printf("%s: %s, applied: %t\n", effect, outcome(err), len(db.Items("payments")) == 1)
	}
	// Output:
	// request lost: broken connection, applied: false
	// reply lost: broken connection, applied: true
	// 500 before applying: InternalServerError, applied: false
	// 500 after applying: InternalServerError, applied: true
	// throttled: ThrottlingException, applied: false
	// access denied: AccessDeniedException, applied: false
	// transaction conflict: TransactionConflictException, applied: false
	// LimitExceededException: LimitExceededException, applied: false
	// delayed before applying: ok, applied: true
	// delayed after applying: ok, applied: true
}

// DAX leaves out what has made a condition fail.
func ExampleOmitItem() {
	db := newPayments()
	db.Inject(dynamotest.Fault{Operation: "PutItem", Nth: 2, Do: dynamotest.OmitItem()})
	for range 3 {
		_, err := db.Client(once).PutItem(context.Background(), &dynamodb.PutItemInput{
			TableName: aws.String("payments"), Item: payment("a", "1"), ConditionExpression: aws.String("attribute_not_exists(id)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
			fmt.Println("what is there:", len(failed.Item), "attributes")
		}
	}
	// Output:
	// what is there: 0 attributes
	// what is there: 2 attributes
}

func ExampleOmitReasons() {
	db := newPayments()
	_ = db.Seed("payments", payment("a", "1"))
	take := types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String("payments"), Item: payment("a", "2"), ConditionExpression: aws.String("attribute_not_exists(id)"),
	}}
	db.Inject(dynamotest.Fault{Nth: 2, Do: dynamotest.OmitReasons()})
	for range 2 {
		_, err := db.Client(once).TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{take}})
		cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
		fmt.Println("cancelled:", ok, "reasons:", len(cancelled.CancellationReasons))
	}
	// Output:
	// cancelled: true reasons: 1
	// cancelled: true reasons: 0
}
