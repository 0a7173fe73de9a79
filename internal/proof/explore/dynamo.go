package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// attributes are the names of a record's attributes.
type attributes struct{ key, status, owner, lease, expiry, result, attempt, steps string }

// dynamoTable is a table of the embedded DynamoDB.
type dynamoTable struct {
	db   *dynamotest.DB
	name attributes
}

func openDynamo(names attributes) (*dynamoTable, error) {
	db := dynamotest.Open()
	for _, table := range []dynamostore.Config{
		{Table: tableName, Attributes: dynamostore.Attributes{Key: names.key, ExpireAt: names.expiry}},
		{Table: ledgerName, Attributes: dynamostore.Attributes{Key: "name"}},
	} {
		if err := dynamostore.CreateTable(context.Background(), db.Client(), table); err != nil {
			return nil, err
		}
	}
	return &dynamoTable{db, names}, nil
}

// Reset implements [Table].
func (t *dynamoTable) Reset() {
	for table, key := range map[string]string{tableName: t.name.key, ledgerName: "name"} {
		for _, item := range t.db.Items(table) {
			_, err := t.db.Direct().DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
				TableName: aws.String(table), Key: map[string]types.AttributeValue{key: item[key]},
			})
			if err != nil {
				panic(err)
			}
		}
	}
	t.db.ForgetTokens()
}

// RemoveExpired implements [Table].
func (t *dynamoTable) RemoveExpired(now time.Time) { t.db.RemoveExpired(now) }

// Record implements [Table]. It reads the item without the code that is explored.
func (t *dynamoTable) Record() (persistence.Record, bool) {
	items := t.db.Items(tableName)
	if len(items) == 0 {
		return persistence.Record{}, false
	}
	read := func(name string) string { return content(items[0][name]) }
	count := func(name string) (n int64) {
		_, _ = fmt.Sscan(read(name), &n) // 0 where there is none
		return n
	}
	r := persistence.Record{
		Key:     read(t.name.key),
		Status:  persistence.Status(read(t.name.status)),
		Owner:   read(t.name.owner),
		Result:  plain([]byte(read(t.name.result))),
		Attempt: int(count(t.name.attempt)),
	}
	if r.Status == "INPROGRESS" {
		r.Status = persistence.StatusProcessing
	}
	if ms := count(t.name.lease); ms != 0 {
		r.LeaseUntil = time.UnixMilli(ms)
	}
	if s := count(t.name.expiry); s != 0 {
		r.ExpiresAt = time.Unix(s, 0)
	}
	if steps, ok := items[0][t.name.steps].(*types.AttributeValueMemberM); ok {
		r.Steps = make(map[string][]byte, len(steps.Value))
		for name, entry := range steps.Value {
			r.Steps[name] = []byte(content(entry))
		}
	}
	return r, true
}

// Applied implements [Ledger].
func (t *dynamoTable) Applied() map[string]int {
	applied := make(map[string]int)
	for _, item := range t.db.Items(ledgerName) {
		applied[content(item["name"])], _ = strconv.Atoi(content(item["n"])) // it is a number
	}
	return applied
}

// content is a text, or the digits of a number.
func content(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	default:
		return ""
	}
}

// plain is a stored result as the caller gets it.
func plain(stored []byte) []byte {
	var durable output
	if json.Unmarshal(stored, &durable) == nil && durable.Status == succeeded {
		stored = []byte(durable.Result)
	}
	var text string
	if json.Unmarshal(stored, &text) != nil {
		return stored
	}
	return []byte(text)
}

// wire carries a process's requests to the table.
type wire struct {
	p  *Process
	db dynamotest.Direct
}

// PutItem implements [dynamostore.API].
func (w wire) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return Ask(ctx, w.p, "PutItem", func() (*dynamodb.PutItemOutput, error) { return w.db.PutItem(ctx, in) })
}

// UpdateItem implements [dynamostore.API].
func (w wire) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return Ask(ctx, w.p, "UpdateItem", func() (*dynamodb.UpdateItemOutput, error) { return w.db.UpdateItem(ctx, in) })
}

// DeleteItem implements [dynamostore.API].
func (w wire) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return Ask(ctx, w.p, "DeleteItem", func() (*dynamodb.DeleteItemOutput, error) { return w.db.DeleteItem(ctx, in) })
}

// GetItem implements [dynamostore.API].
func (w wire) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return Ask(ctx, w.p, Read, func() (*dynamodb.GetItemOutput, error) { return w.db.GetItem(ctx, in) })
}

// TransactWriteItems implements [dynamostore.API].
func (w wire) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return Ask(ctx, w.p, transaction, func() (*dynamodb.TransactWriteItemsOutput, error) { return w.db.TransactWriteItems(ctx, in) })
}

// itemless keeps the items in the way of failed conditions back.
type itemless struct{ wire }

// PutItem implements [dynamostore.API].
func (i itemless) PutItem(ctx context.Context, in *dynamodb.PutItemInput, options ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	out, err := i.wire.PutItem(ctx, in, options...)
	return out, withoutItem(err)
}

// UpdateItem implements [dynamostore.API].
func (i itemless) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := i.wire.UpdateItem(ctx, in, options...)
	return out, withoutItem(err)
}

// DeleteItem implements [dynamostore.API].
func (i itemless) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, options ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	out, err := i.wire.DeleteItem(ctx, in, options...)
	return out, withoutItem(err)
}

// TransactWriteItems implements [dynamostore.API].
func (i itemless) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := i.wire.TransactWriteItems(ctx, in, options...)
	return out, withoutItem(err)
}

func withoutItem(err error) error {
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for i := range canceled.CancellationReasons {
			canceled.CancellationReasons[i].Item = nil
		}
	}
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		failed.Item = nil
	}
	return err
}
