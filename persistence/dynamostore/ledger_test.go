package dynamostore_test

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// The entries of storetest.Ledger are counters beside the records.

func (p planter) place(name string) attributes {
	a, key := p.config.Attributes, "entries of "+name
	switch {
	case a.SortKey != "":
		return attributes{a.Key: text(p.config.PartitionValue), a.SortKey: text(key)}
	case a.Key != "":
		return attributes{a.Key: text(key)}
	default:
		return attributes{"idempotency_key": text(key)}
	}
}

// Entry implements storetest.Ledger.
func (p planter) Entry(name string) storekit.Write {
	return dynamostore.Write{Update: &types.Update{
		TableName:                 aws.String(p.config.Table),
		Key:                       p.place(name),
		UpdateExpression:          aws.String("ADD entries :one"),
		ExpressionAttributeValues: attributes{":one": number("1")},
	}}
}

// Refusal implements storetest.Ledger.
func (p planter) Refusal() storekit.Write {
	return dynamostore.Write{ConditionCheck: &types.ConditionCheck{
		TableName:           aws.String(p.config.Table),
		Key:                 p.place("nothing"),
		ConditionExpression: aws.String("attribute_exists(entries)"),
	}}
}

// Entries implements storetest.Ledger.
func (p planter) Entries(ctx context.Context, name string) (int, error) {
	found, err := p.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(p.config.Table), Key: p.place(name), ConsistentRead: aws.Bool(true),
	})
	if err != nil || found.Item == nil {
		return 0, err
	}
	return strconv.Atoi(found.Item["entries"].(*types.AttributeValueMemberN).Value)
}
