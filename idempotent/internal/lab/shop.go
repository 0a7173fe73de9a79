package lab

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

// Shop is a table of stock beside the records, in an embedded DynamoDB.
type Shop struct {
	t     *testing.T
	DB    *dynamotest.DB
	Store *dynamostore.Store
}

// NewShop returns a shop with boxes in stock.
func NewShop(t *testing.T, boxes int) Shop {
	t.Helper()
	db, store := NewDynamo(t)
	s := Shop{t, db, store}
	db.MustCreateTable("stock", "id")
	s.Stock(boxes)
	return s
}

// Stock sets how many boxes there are.
func (s Shop) Stock(boxes int) {
	s.t.Helper()
	if _, err := s.DB.Client().PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: aws.String("stock"), Item: map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: "box"}, "left": &types.AttributeValueMemberN{Value: strconv.Itoa(boxes)},
	}}); err != nil {
		s.t.Fatal(err)
	}
	s.DB.ResetLog()
}

// Left is how many boxes are left.
func (s Shop) Left() int {
	s.t.Helper()
	out, err := s.DB.Client().GetItem(s.t.Context(), &dynamodb.GetItemInput{TableName: aws.String("stock"), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "box"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	left, err := strconv.Atoi(out.Item["left"].(*types.AttributeValueMemberN).Value)
	if err != nil {
		s.t.Fatal(err)
	}
	return left
}

// ErrOutOfStock is what a refused take means.
var ErrOutOfStock = errors.New("out of stock")

// Take enlists taking boxes out of stock, or giving them back.
func Take(ctx context.Context, boxes int, outOfStock error) error {
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

// Modes are the two forms of the protocol that commit writes with the result.
var Modes = map[string]bool{"long form": false, "short form": true}
