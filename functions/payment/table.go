package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// table is the payments table. Its rows are added and never changed. The partition
// key is the string "pk"; there is no sort key.
type table struct {
	client *dynamodb.Client
	name   string
}

func newTable(client *dynamodb.Client, name string) (*table, error) {
	if name == "" {
		return nil, errors.New("the table's name is missing")
	}
	return &table{client: client, name: name}, nil
}

// get returns the row with that key; nil if there is none.
func (t *table) get(ctx context.Context, pk string) (attributes, error) {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(t.name),
		Key:            attributes{"pk": text(pk)},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", pk, err)
	}
	return out.Item, nil
}

// add puts the row in unless one with that key is there, and returns the one that
// is there. Its own write whose reply was lost is no exception.
func (t *table) add(ctx context.Context, pk string, row attributes) (attributes, error) {
	row["pk"] = text(pk)
	_, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           aws.String(t.name),
		Item:                                row,
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var exists *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &exists):
		return exists.Item, nil
	case err != nil:
		return nil, fmt.Errorf("add %s: %w", pk, err)
	}
	return row, nil
}

// attributes are those of a row.
type attributes map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func (a attributes) text(name string) string {
	s, ok := a[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

func (a attributes) number(name string) (int64, error) {
	n, ok := a[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("attribute %s is no number", name)
	}
	return strconv.ParseInt(n.Value, 10, 64)
}
