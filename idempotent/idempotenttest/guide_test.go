package idempotenttest_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/idempotenttest"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// The function and the tests of docs/testing.md.

type payment struct {
	ID     string `json:"payment_id"`
	Amount int    `json:"amount"`
}

type receipt struct {
	Charge string `json:"charge"`
}

// provider is what the function needs of its payment provider.
type provider interface {
	Do(ctx context.Context, key, what string) (id string, err error)
}

// newGuard is used by the function and by its tests.
func newGuard(store persistence.Store) (*idempotent.Guard, error) {
	return idempotent.New(store, idempotent.Config{
		Operation: "payment",
		Key:       idempotency.MustJMESPath("payment_id"),
		Logger:    slog.New(slog.DiscardHandler),
	})
}

// newFunction makes what main hands to lambda.Start.
func newFunction(client *dynamodb.Client, p provider) (lambda.Handler, error) {
	store, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency"})
	if err != nil {
		return nil, err
	}
	guard, err := newGuard(store)
	if err != nil {
		return nil, err
	}
	return guard.Handler(func(ctx context.Context, in payment) (receipt, error) {
		charge, err := p.Do(ctx, idempotent.DownstreamKey(ctx), "charge")
		if err != nil {
			return receipt{}, err
		}
		return receipt{Charge: charge}, dynamostore.Enlist(ctx, row(in, charge))
	}), nil
}

// row is the write of a payment, which commits with the record.
func row(in payment, charge string) dynamostore.Write {
	return dynamostore.Write{Put: &types.Put{
		TableName: aws.String("payments"),
		Item: map[string]types.AttributeValue{
			"id":     &types.AttributeValueMemberS{Value: in.ID},
			"charge": &types.AttributeValueMemberS{Value: charge},
		},
	}}
}

func TestADuplicateGetsTheFirstReceipt(t *testing.T) {
	guard, err := newGuard(persistence.NewMemory())
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	pay := idempotent.Func(guard, func(context.Context, payment) (receipt, error) {
		runs++
		return receipt{Charge: "ch_1"}, nil
	})
	for range 2 {
		got, err := pay(t.Context(), payment{ID: "p-1", Amount: 10})
		if err != nil || got.Charge != "ch_1" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if runs != 1 {
		t.Errorf("it ran %d times", runs)
	}
}

func TestThePaymentCommitsWithItsRecord(t *testing.T) {
	db := dynamotest.New(t)
	db.MustCreateTable("payments", "id")
	config := dynamostore.Config{Table: "idempotency"}
	if err := dynamostore.CreateTable(t.Context(), db.Client(), config); err != nil {
		t.Fatal(err)
	}
	store, err := dynamostore.New(db.Client(), config)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := newGuard(store)
	if err != nil {
		t.Fatal(err)
	}
	pay := idempotent.Func(guard, func(ctx context.Context, in payment) (receipt, error) {
		return receipt{Charge: "ch_1"}, dynamostore.Enlist(ctx, row(in, "ch_1"))
	})
	db.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Do: dynamotest.LoseReply()})
	for range 2 {
		if _, err := pay(t.Context(), payment{ID: "p-1", Amount: 10}); err != nil {
			t.Error(err)
		}
	}
	if rows := db.Items("payments"); len(rows) != 1 {
		t.Errorf("there are %d payments", len(rows))
	}
}

// payments is the function as the kit sees it.
func payments() idempotenttest.Function {
	return idempotenttest.Function{
		New: func(e *idempotenttest.Environment) (any, error) {
			return newFunction(e.Client(), e.Service("charge"))
		},
		Request: payment{ID: "p-1", Amount: 10},
		Other:   payment{ID: "p-2", Amount: 10},
		Setup:   func(_ testing.TB, db *dynamotest.DB) { db.MustCreateTable("payments", "id") },
	}
}

func TestPaymentsAreProved(t *testing.T) {
	idempotenttest.Prove(t, payments())
}

func TestADuplicateIsToldToWait(t *testing.T) {
	idempotenttest.Story(t, payments(), func(t *testing.T, w *idempotenttest.World) {
		a, b := w.Start(), w.Start()
		a.FreezeAfter(1, 2*time.Second) // it has the record
		first := a.Begin(payment{ID: "p-1", Amount: 10})
		synctest.Wait()
		if got := b.Invoke(payment{ID: "p-1", Amount: 10}); !errors.Is(got.Err, idempotent.ErrInProgress) {
			t.Errorf("the duplicate %v", got)
		}
		receipt := first.Wait()
		if got := b.Invoke(payment{ID: "p-1", Amount: 10}); string(got.Payload) != string(receipt.Payload) {
			t.Errorf("the first one %v, the duplicate %v", receipt, got)
		}
	})
}

func TestARequestIsNewWhenItsRecordHasExpired(t *testing.T) {
	idempotenttest.Story(t, payments(), func(t *testing.T, w *idempotenttest.World) {
		e := w.Start()
		e.Invoke(payment{ID: "p-1", Amount: 10})
		w.Expire() // a day passes
		if again := e.Invoke(payment{ID: "p-1", Amount: 10}); again.Err != nil {
			t.Errorf("the second payment %v", again)
		}
		if runs := len(w.DB().Items("payments")); runs != 1 {
			t.Errorf("there are %d payments", runs)
		}
		if charges := len(w.Effects()); charges != 1 { // the provider knows the key for longer
			t.Errorf("there are %d charges", charges)
		}
	})
}

// forgetful hands no key on.
type forgetful struct{ provider }

func (f forgetful) Do(ctx context.Context, _, what string) (string, error) {
	return f.provider.Do(ctx, "", what)
}

// The guide shows what a function looks like that is wrong.
func TestTheStoryInTheGuideIsTrue(t *testing.T) {
	guide, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	f := payments()
	f.New = func(e *idempotenttest.Environment) (any, error) {
		return newFunction(e.Client(), forgetful{e.Service("charge")})
	}
	if story := idempotenttest.FirstStory(t, f); !strings.Contains(string(guide), strings.TrimSpace(story)) {
		t.Errorf("docs/testing.md does not have this story:\n%s", story)
	}
}
