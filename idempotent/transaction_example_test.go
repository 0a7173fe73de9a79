package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// A transfer commits with its record: both accounts and the record change, or
// nothing does. The condition is the application's own, and so is its error.
func Example_enlist() {
	bank := openBank(idempotent.Config{Operation: "transfer"})
	transfer := func(amount int) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			debit := bank.add("alice", -amount)
			debit.Update.ConditionExpression = aws.String("balance >= :least")
			debit.Update.ExpressionAttributeValues[":least"] = numberOf(amount)
			err := dynamostore.Enlist(ctx,
				dynamostore.Write{
					Update: debit.Update,
					OnRefused: func(map[string]types.AttributeValue) error {
						return idempotent.Permanent(errors.New("insufficient funds"))
					},
				},
				bank.add("bob", amount),
			)
			return "transferred", err
		}
	}

	for _, id := range []string{"1", "1", "2"} { // 1 comes twice
		_, err := idempotent.Do(context.Background(), bank.guard, id, transfer(60))
		fmt.Println(err, bank.balances())
	}
	// Output:
	// <nil> map[alice:40 bob:60]
	// <nil> map[alice:40 bob:60]
	// insufficient funds map[alice:40 bob:60]
}

// Writes that are enlisted in a step commit when the step is finished. What comes
// later can fail as often as it likes.
func Example_enlistInAStep() {
	book := saga.NewStep(saga.Spec[string]{Name: "book"})
	notify := saga.NewStep(saga.Spec[string]{Name: "notify"})
	bank := openBank(idempotent.Config{Operation: "payout", Steps: saga.Steps(book, notify)})
	mailDown := true
	payout := func(ctx context.Context) (string, error) {
		_, err := book.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
			return "booked", dynamostore.Enlist(ctx, bank.add("alice", -60))
		})
		if err != nil {
			return "", err
		}
		return notify.Run(ctx, func(context.Context, saga.Call) (string, error) {
			if mailDown {
				return "", errors.New("the mail service is down")
			}
			return "notified", nil
		})
	}

	_, err := idempotent.Do(context.Background(), bank.guard, "1", payout)
	fmt.Println(errors.Is(err, saga.ErrPartialSuccess), bank.balances())
	mailDown = false
	out, err := idempotent.Do(context.Background(), bank.guard, "1", payout)
	fmt.Println(out, err, bank.balances())
	// Output:
	// true map[alice:40 bob:0]
	// notified <nil> map[alice:40 bob:0]
}

// A function that does nothing but enlist writes needs no PROCESSING record: the
// whole call is one request.
func ExampleConfig_onlyEnlists() {
	bank := openBank(idempotent.Config{Operation: "deposit", OnlyEnlists: true})
	deposit := func(ctx context.Context) (string, error) {
		return "deposited", dynamostore.Enlist(ctx, bank.add("bob", 10))
	}

	bank.db.ResetLog()
	fmt.Println(idempotent.Do(context.Background(), bank.guard, "1", deposit))
	for _, request := range bank.db.Requests() {
		fmt.Println(request.Operation)
	}
	fmt.Println(idempotent.Do(context.Background(), bank.guard, "1", deposit))
	fmt.Println(bank.balances())
	// Output:
	// deposited <nil>
	// TransactWriteItems
	// deposited <nil>
	// map[alice:100 bob:10]
}

// exampleBank is a table of accounts beside the idempotency table, in which alice has
// 100 and bob nothing.
type exampleBank struct {
	db    *dynamotest.DB
	guard *idempotent.Guard
}

func openBank(config idempotent.Config) exampleBank {
	db := dynamotest.Open() // in a function, the client is dynamodb.NewFromConfig(cfg)
	db.MustCreateTable("accounts", "id")
	records := dynamostore.Config{Table: "idempotency"}
	err := dynamostore.CreateTable(context.Background(), db.Client(), records)
	for id, balance := range map[string]int{"alice": 100, "bob": 0} {
		err = errors.Join(err, db.Seed("accounts", map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: id}, "balance": numberOf(balance),
		}))
	}
	store, storeErr := dynamostore.New(db.Client(), records)
	config.Logger = slog.New(slog.DiscardHandler)
	guard, guardErr := idempotent.New(store, config)
	if err := errors.Join(err, storeErr, guardErr); err != nil {
		panic(err)
	}
	return exampleBank{db, guard}
}

// add is a write that changes a balance.
func (b exampleBank) add(id string, amount int) dynamostore.Write {
	return dynamostore.Write{Update: &types.Update{
		TableName:                 aws.String("accounts"),
		Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression:          aws.String("ADD balance :amount"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":amount": numberOf(amount)},
	}}
}

func (b exampleBank) balances() map[string]string {
	all := make(map[string]string)
	for _, account := range b.db.Items("accounts") {
		all[account["id"].(*types.AttributeValueMemberS).Value] = account["balance"].(*types.AttributeValueMemberN).Value
	}
	return all
}

func numberOf(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}
