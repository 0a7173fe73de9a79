// Package ledger keeps rows that are added and never changed, in a DynamoDB table
// whose partition key is the string "pk" and which has no sort key.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Ledger is a table of rows. It is safe for concurrent use.
type Ledger struct {
	client *dynamodb.Client
	table  string
}

// New returns the ledger in a table.
func New(client *dynamodb.Client, table string) (*Ledger, error) {
	if table == "" {
		return nil, errors.New("ledger: the table's name is missing")
	}
	return &Ledger{client: client, table: table}, nil
}

// Table is the table's name.
func (l *Ledger) Table() string { return l.table }

// Get returns the row with that key; nil if there is none.
func (l *Ledger) Get(ctx context.Context, pk string) (Row, error) {
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(l.table),
		Key:            Row{"pk": Text(pk)},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: get %s: %w", pk, err)
	}
	return out.Item, nil
}

// List returns the rows whose keys begin with a prefix, in the order of their keys. It
// reads the whole table.
func (l *Ledger) List(ctx context.Context, prefix string) ([]Row, error) {
	pages := dynamodb.NewScanPaginator(l.client, &dynamodb.ScanInput{
		TableName:                 aws.String(l.table),
		FilterExpression:          aws.String("begins_with(pk, :prefix)"),
		ExpressionAttributeValues: Row{":prefix": Text(prefix)},
		ConsistentRead:            aws.Bool(true),
	})
	var rows []Row
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("ledger: list %s: %w", prefix, err)
		}
		for _, row := range page.Items {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Text("pk"), b.Text("pk")) })
	return rows, nil
}

// Add puts the row in unless one with that key is there, and returns the one that
// is there: of two callers at once, both get the row of the one. Its own write whose
// reply was lost is no exception.
func (l *Ledger) Add(ctx context.Context, pk string, row Row) (Row, error) {
	row = maps.Clone(row)
	row["pk"] = Text(pk)
	_, err := l.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           aws.String(l.table),
		Item:                                row,
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if exists, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return exists.Item, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: add %s: %w", pk, err)
	}
	return row, nil
}

// Adding is Add as a write to enlist. It is refused where a row with that key is there.
func (l *Ledger) Adding(pk string, row Row) dynamostore.Write {
	row = maps.Clone(row)
	row["pk"] = Text(pk)
	return dynamostore.Write{Put: &types.Put{
		TableName:           aws.String(l.table),
		Item:                row,
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}}
}

// Row is a row, by its attributes.
type Row map[string]types.AttributeValue

// Text is an attribute with a text.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number is an attribute with a number.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Text returns the text of an attribute; empty if it has none.
func (r Row) Text(name string) string {
	s, ok := r[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// Number returns the number of an attribute.
func (r Row) Number(name string) (int64, error) {
	n, ok := r[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("ledger: attribute %s is no number", name)
	}
	return strconv.ParseInt(n.Value, 10, 64)
}

// Has tells whether all attributes of another row are in this one, with the same
// values.
func (r Row) Has(other Row) bool {
	for name, value := range other {
		if !reflect.DeepEqual(r[name], value) {
			return false
		}
	}
	return true
}
