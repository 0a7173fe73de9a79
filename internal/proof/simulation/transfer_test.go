package simulation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/proof/simulation"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// The same transfers, their writes sent one by one before the record is written, make
// and lose money: what is missing is missing still when all is over. It is the
// transaction that the rules owe their holding to.
func TestWithoutTheTransactionMoneyIsMadeAndLost(t *testing.T) {
	const seeds = 40
	untied := onTransactions(rewritten{requests: oneByOne})
	mustBreak(t, simulation.Transfers, untied, simulation.Conserved, simulation.Applied)
	made, lost := 0, 0
	for seed := uint64(0); seed < seeds && (made == 0 || lost == 0); seed++ {
		missing := simulation.Run(t, simulation.Transfers, seed, untied).Missing
		made, lost = max(made, -missing), max(lost, missing)
	}
	t.Logf("made: %d, lost: %d", made, lost)
	if made == 0 || lost == 0 {
		t.Errorf("in %d seeds, %d is made, and %d lost", seeds, made, lost)
	}
}

// Every flaw of a transaction breaks the rule that it is about, within a few seeds.
func TestAFlawOfATransactionIsFound(t *testing.T) {
	tests := map[string]struct {
		flaw   simulation.Flaw
		breaks []simulation.Rule
	}{
		"writes the record in a request of its own": {onTransactions(rewritten{requests: apart}), []simulation.Rule{simulation.Applied}},
		"forgets the application's writes":          {onTransactions(rewritten{requests: recordOnly}), []simulation.Rule{simulation.Applied}},
		"asks for no owner":                         {onTransactions(rewritten{action: anyOwner}), []simulation.Rule{simulation.Final, simulation.Applied}},
		"completes at once whatever is there":       {onTransactions(rewritten{action: anyRecord}), []simulation.Rule{simulation.Final}},
		"forgets the application's conditions":      {onTransactions(rewritten{action: anyBalance}), []simulation.Rule{simulation.Conserved}},
		"undoes again what it has undone":           {onStore(func(s simulation.Store) simulation.Store { return absentMinded{s} }), []simulation.Rule{simulation.Applied}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { mustBreak(t, simulation.Transfers, test.flaw, test.breaks...) })
	}
}

// A transaction whose reply is lost is sent again. Where DynamoDB does not know its
// token any more, it is the record's condition that keeps it from being applied twice.
func TestTransactionsAreAppliedOnceAlsoWithoutTokens(t *testing.T) {
	const seeds = 25
	counts := make(simulation.Counts)
	for seed := range uint64(seeds) {
		report := simulation.Run(t, simulation.Transfers, seed, simulation.Flaw{Tokenless: true})
		if len(report.Violations) > 0 {
			t.Fatal(report)
		}
		counts.Add(report.Counts)
	}
	if counts["transactions applied, and not heard of"] == 0 {
		t.Errorf("in %d seeds, no reply to a transaction was lost", seeds)
	}
}

// rewritten sends something else in place of a transaction.
type rewritten struct {
	dynamostore.API
	// requests are the actions that are sent together, by their numbers. That of the
	// record is 0.
	requests func(actions int) [][]int
	// action is what an action becomes.
	action func(at int, a types.TransactWriteItem) types.TransactWriteItem
}

func onTransactions(r rewritten) simulation.Flaw {
	return simulation.Flaw{Requests: func(api dynamostore.API) dynamostore.API {
		spoilt := r
		spoilt.API = api
		return spoilt
	}}
}

func (r rewritten) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	requests := [][]int{allOf(in.TransactItems)}
	if r.requests != nil {
		requests = r.requests(len(in.TransactItems))
	}
	for _, numbers := range requests {
		var actions []types.TransactWriteItem
		for _, at := range numbers {
			action := in.TransactItems[at]
			if r.action != nil {
				action = r.action(at, action)
			}
			actions = append(actions, action)
		}
		if err := r.send(ctx, actions, opts...); err != nil {
			return nil, canceled(err, numbers, len(in.TransactItems))
		}
	}
	return new(dynamodb.TransactWriteItemsOutput), nil
}

func allOf(actions []types.TransactWriteItem) (numbers []int) {
	for at := range actions {
		numbers = append(numbers, at)
	}
	return numbers
}

// send sends actions: a single one without a transaction.
func (r rewritten) send(ctx context.Context, actions []types.TransactWriteItem, opts ...func(*dynamodb.Options)) (err error) {
	put, update := actions[0].Put, actions[0].Update
	switch {
	case len(actions) > 1:
		_, err = r.API.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, opts...)
	case put != nil:
		_, err = r.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           put.TableName,
			Item:                                put.Item,
			ConditionExpression:                 put.ConditionExpression,
			ExpressionAttributeNames:            put.ExpressionAttributeNames,
			ExpressionAttributeValues:           put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
		}, opts...)
	default:
		_, err = r.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                           update.TableName,
			Key:                                 update.Key,
			UpdateExpression:                    update.UpdateExpression,
			ConditionExpression:                 update.ConditionExpression,
			ExpressionAttributeNames:            update.ExpressionAttributeNames,
			ExpressionAttributeValues:           update.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: update.ReturnValuesOnConditionCheckFailure,
		}, opts...)
	}
	return err
}

// canceled is a failure of some actions as the whole transaction reports it.
func canceled(err error, numbers []int, actions int) error {
	reasons := make([]types.CancellationReason, actions)
	for i := range reasons {
		reasons[i].Code = aws.String("None")
	}
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		reasons[numbers[0]] = types.CancellationReason{Code: aws.String("ConditionalCheckFailed"), Item: failed.Item}
		return &types.TransactionCanceledException{CancellationReasons: reasons}
	}
	if failed, ok := errors.AsType[*types.TransactionCanceledException](err); ok && len(failed.CancellationReasons) == len(numbers) {
		for i, at := range numbers {
			reasons[at] = failed.CancellationReasons[i]
		}
		return &types.TransactionCanceledException{CancellationReasons: reasons}
	}
	return err
}

// oneByOne sends the application's writes one by one, and then the record's.
func oneByOne(actions int) (requests [][]int) {
	for n := range actions {
		requests = append(requests, []int{(n + 1) % actions})
	}
	return requests
}

// apart sends the application's writes in one transaction, and then the record's.
func apart(actions int) [][]int {
	var application []int
	for n := range actions - 1 {
		application = append(application, n+1)
	}
	return [][]int{application, {0}}
}

// recordOnly sends none of the application's writes.
func recordOnly(int) [][]int { return [][]int{{0}} }

// anyOwner completes whatever record is there, and keeps whatever step.
func anyOwner(at int, a types.TransactWriteItem) types.TransactWriteItem {
	if at == 0 && a.Update != nil {
		a.Update = unconditional(a.Update)
	}
	return a
}

// anyRecord is completed at once, in place of whatever record is there.
func anyRecord(at int, a types.TransactWriteItem) types.TransactWriteItem {
	if at == 0 && a.Put != nil {
		put := *a.Put
		put.ConditionExpression, put.ExpressionAttributeNames = always(put.ConditionExpression, put.ExpressionAttributeNames)
		a.Put = &put
	}
	return a
}

// anyBalance is debited.
func anyBalance(at int, a types.TransactWriteItem) types.TransactWriteItem {
	if at > 0 && a.Update.ConditionExpression != nil {
		a.Update = unconditional(a.Update)
	}
	return a
}

func unconditional(u *types.Update) *types.Update {
	spoilt := *u
	spoilt.ConditionExpression, spoilt.ExpressionAttributeNames = always(u.ConditionExpression, u.ExpressionAttributeNames)
	return &spoilt
}

// absentMinded undoes steps, and does not keep that it has.
type absentMinded struct{ simulation.Store }

func (s absentMinded) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	if strings.HasSuffix(step, ":compensated") {
		return s.Commit(ctx, writes)
	}
	return s.Store.CheckpointWith(ctx, l, step, output, writes)
}
