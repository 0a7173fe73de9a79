package idempotenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// order is the event of the functions of these tests.
type order struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

// receipt is what they answer.
type receipt struct {
	Order  string `json:"order"`
	Charge string `json:"charge"`
}

// shop is what a function of these tests is made of.
type shop struct {
	environment *Environment
	client      *dynamodb.Client
	provider    *Service
	guard       *idempotent.Guard
}

const shopTable = "orders"

// newShop opens it.
func newShop(e *Environment, config idempotent.Config) (*shop, error) {
	client := e.Client()
	store, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency"})
	if err != nil {
		return nil, err
	}
	config.Operation, config.Key = "order", idempotency.MustJMESPath("id")
	config.Logger = slog.New(slog.DiscardHandler)
	guard, err := idempotent.New(store, config)
	return &shop{environment: e, client: client, provider: e.Service("charge"), guard: guard}, err
}

// charge has the order paid.
func (s *shop) charge(ctx context.Context, key string, o order) (receipt, error) {
	id, err := s.provider.Do(ctx, key, fmt.Sprint(o))
	return receipt{Order: o.ID, Charge: id}, err
}

// write writes the order down, in the place of one that is there.
func (s *shop) write(ctx context.Context, pk string, o order) error {
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(shopTable), Item: map[string]types.AttributeValue{
		"pk":     &types.AttributeValueMemberS{Value: pk},
		"amount": &types.AttributeValueMemberN{Value: fmt.Sprint(o.Amount)},
	}})
	return err
}

// selling is a Function of these tests: a handler of a shop.
func selling(config idempotent.Config, handler func(s *shop) any) Function {
	return Function{
		New: func(e *Environment) (any, error) {
			s, err := newShop(e, config)
			if err != nil {
				return nil, err
			}
			return handler(s), nil
		},
		Request: order{ID: "a", Amount: 10},
		Other:   order{ID: "b", Amount: 10},
		Setup:   func(_ testing.TB, db *dynamotest.DB) { db.MustCreateTable(shopTable, "pk") },
	}
}

// guarded makes a handler that does all of it in the guarded function.
func guarding(sell func(ctx context.Context, s *shop, o order) (receipt, error)) func(s *shop) any {
	return func(s *shop) any {
		return s.guard.Handler(func(ctx context.Context, o order) (receipt, error) { return sell(ctx, s, o) })
	}
}

// sound is as it should be: five requests.
func sound(ctx context.Context, s *shop, o order) (receipt, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(shopTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: o.ID}}})
	if err != nil {
		return receipt{}, err
	}
	if out.Item != nil {
		return receipt{Order: o.ID}, nil
	}
	r, err := s.charge(ctx, idempotent.DownstreamKey(ctx), o)
	if err != nil {
		return receipt{}, err
	}
	return r, s.write(ctx, idempotent.DownstreamKey(ctx), o)
}

// find proves a function and returns what was found, by families.
func find(t *testing.T, f Function) (found map[string]*failure, cases int) {
	t.Helper()
	p, failed := rehearse(t, f)
	if failed != nil {
		t.Fatal(failed)
	}
	found = make(map[string]*failure)
	for _, kind := range families {
		failures, n := p.search(t, kind)
		cases += n
		if len(failures) > 0 {
			found[kind.name] = failures[0]
		}
	}
	return found, cases
}

func decode(t *testing.T, a Answer) (r receipt) {
	t.Helper()
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	if err := json.Unmarshal(a.Payload, &r); err != nil {
		t.Fatal(err)
	}
	return r
}
