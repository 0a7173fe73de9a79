package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// stock is the goods on sale, a row "stock#" + SKU each: their quantity, the price
// of one in cents, and the row's version, which every change counts up.
type stock struct{ *ledger.Ledger }

// reservation is what was taken out of stock.
type reservation struct {
	Items  []item `json:"items"`
	Amount int64  `json:"amount"` // cents, by the prices at which it was taken
}

var (
	errSoldOut = errors.New("sold out")
	// errChanged says that somebody else has changed a row since it was read.
	errChanged = errors.New("the stock has changed meanwhile")
)

// reserve takes the items out of stock, all or none, at the prices that it finds. The
// writes are enlisted: they happen with the checkpoint of the step that this is
// called in, or not at all, and if a row is not as it was read, the step fails with
// errChanged.
func (s stock) reserve(ctx context.Context, items []item) (reservation, error) {
	r := reservation{Items: items}
	var writes []dynamostore.Write
	for _, i := range items {
		row, err := s.Get(ctx, "stock#"+i.SKU)
		if err != nil {
			return reservation{}, err
		}
		if row == nil {
			return reservation{}, &orderError{"there is no " + i.SKU}
		}
		seen, err := read(row)
		if err != nil {
			return reservation{}, fmt.Errorf("stock of %s: %w", i.SKU, err)
		}
		if seen.quantity < i.Quantity {
			return reservation{}, fmt.Errorf("%s is %w", i.SKU, errSoldOut)
		}
		r.Amount += i.Quantity * seen.price
		writes = append(writes, s.take(i, seen.version))
	}
	return r, dynamostore.Enlist(ctx, writes...)
}

// take is a write on the condition that nobody has changed the row since its version
// was read: neither the quantity nor the price is another one then.
func (s stock) take(i item, version int64) dynamostore.Write {
	return dynamostore.Write{
		Update: &types.Update{
			TableName:           aws.String(s.Table()),
			Key:                 ledger.Row{"pk": ledger.Text("stock#" + i.SKU)},
			UpdateExpression:    aws.String("SET quantity = quantity - :taken, version = version + :one"),
			ConditionExpression: aws.String("version = :seen"),
			ExpressionAttributeValues: ledger.Row{
				":taken": ledger.Number(i.Quantity),
				":one":   ledger.Number(1),
				":seen":  ledger.Number(version),
			},
		},
		OnRefused: func(map[string]types.AttributeValue) error { return errChanged },
	}
}

// release puts the items back. Its writes are enlisted as well, and commit with the
// record's word that the step is undone: once. They depend on nothing that was read,
// so nobody else's sale can get in their way.
func (s stock) release(ctx context.Context, r reservation) error {
	var writes []dynamostore.Write
	for _, i := range r.Items {
		writes = append(writes, dynamostore.Write{Update: &types.Update{
			TableName:                 aws.String(s.Table()),
			Key:                       ledger.Row{"pk": ledger.Text("stock#" + i.SKU)},
			UpdateExpression:          aws.String("ADD quantity :given, version :one"),
			ExpressionAttributeValues: ledger.Row{":given": ledger.Number(i.Quantity), ":one": ledger.Number(1)},
		}})
	}
	return dynamostore.Enlist(ctx, writes...)
}

// shelf is what a row of the stock says.
type shelf struct{ quantity, price, version int64 }

func read(row ledger.Row) (s shelf, err error) {
	var errs [3]error
	s.quantity, errs[0] = row.Number("quantity")
	s.price, errs[1] = row.Number("price")
	s.version, errs[2] = row.Number("version")
	return s, errors.Join(errs[:]...)
}
