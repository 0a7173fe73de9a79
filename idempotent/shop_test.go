package idempotent_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// shop is a table of stock beside the records, in an embedded DynamoDB.
type shop struct {
	t     *testing.T
	db    *dynamotest.DB
	store *dynamostore.Store
}

func newShop(t *testing.T, boxes int) shop {
	t.Helper()
	db, store := newDynamo(t)
	s := shop{t, db, store}
	db.MustCreateTable("stock", "id")
	s.stock(boxes)
	return s
}

func (s shop) stock(boxes int) {
	s.t.Helper()
	if _, err := s.db.Client().PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: aws.String("stock"), Item: map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: "box"}, "left": &types.AttributeValueMemberN{Value: strconv.Itoa(boxes)},
	}}); err != nil {
		s.t.Fatal(err)
	}
	s.db.ResetLog()
}

func (s shop) left() int {
	s.t.Helper()
	out, err := s.db.Client().GetItem(s.t.Context(), &dynamodb.GetItemInput{TableName: aws.String("stock"), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "box"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	left, err := strconv.Atoi(out.Item["left"].(*types.AttributeValueMemberN).Value)
	if err != nil {
		s.t.Fatal(err)
	}
	return left
}

var errOutOfStock = errors.New("out of stock")

// take enlists taking boxes out of stock, or giving them back.
func take(ctx context.Context, boxes int, outOfStock error) error {
	return dynamostore.Enlist(ctx, dynamostore.Write{
		Update: &types.Update{
			TableName:                 aws.String("stock"),
			Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "box"}},
			UpdateExpression:          aws.String("SET #l = #l - :n"),
			ConditionExpression:       aws.String("#l >= :n"),
			ExpressionAttributeNames:  map[string]string{"#l": "left"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: strconv.Itoa(boxes)}},
		},
		OnRefused: func(map[string]types.AttributeValue) error { return outOfStock },
	})
}

// modes are the two forms of the protocol that commit writes with the result.
var modes = map[string]bool{"long form": false, "short form": true}
