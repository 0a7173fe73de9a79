package bench

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Own is what a call costs in the toolkit itself, where DynamoDB and the SDK take
// no time at all.
type Own struct {
	Name string `json:"name"`
	Cost Cost   `json:"cost"`
}

// measureOwn measures the toolkit on a client that answers at once.
func measureOwn(ctx context.Context) ([]Own, error) {
	if err := shortBenchmarks(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lambdaTimeout)
	defer cancel()
	stored, err := storedItem("p-1")
	if err != nil {
		return nil, err
	}
	event := payment("p-1", eventBytes)
	var measured []Own
	var calls []func() error
	for _, kind := range []struct {
		name   string
		client instant
		cached bool
	}{
		{name: "first run"},
		{name: "replay", client: instant{stored: stored}},
		{name: "replay from the cache", client: instant{stored: stored}, cached: true},
	} {
		handler, err := kind.client.handler(kind.cached)
		if err != nil {
			return nil, err
		}
		measured = append(measured, Own{Name: kind.name})
		calls = append(calls, func() error {
			_, err := handler.Invoke(ctx, event)
			return err
		})
	}
	costs, err := compare(calls...)
	if err != nil {
		return nil, err
	}
	for i := range measured {
		measured[i].Cost = costs[i]
	}
	return measured, nil
}

// storedItem is the completed record of a payment as the store writes it.
func storedItem(id string) (map[string]types.AttributeValue, error) {
	key, err := idempotency.Key("payment", id)
	return map[string]types.AttributeValue{
		"idempotency_key": &types.AttributeValueMemberS{Value: key},
		"status":          &types.AttributeValueMemberS{Value: string(persistence.StatusCompleted)},
		"owner":           &types.AttributeValueMemberS{Value: "somebody"},
		"expire_at":       &types.AttributeValueMemberN{Value: "4102444800"},
		"result":          &types.AttributeValueMemberS{Value: string(result)},
		"attempt":         &types.AttributeValueMemberN{Value: "1"},
		"version":         &types.AttributeValueMemberN{Value: "1"},
	}, err
}

// instant is a DynamoDB client without DynamoDB: it holds one item, or takes every
// write.
type instant struct {
	dynamostore.API
	stored map[string]types.AttributeValue
}

func (i instant) handler(inMemory bool) (lambda.Handler, error) {
	store, err := dynamostore.New(&i, dynamostore.Config{Table: "instant"})
	if err != nil {
		return nil, err
	}
	if inMemory {
		return newHandler(cached.New(store, cached.Limits{}))
	}
	return newHandler(store)
}

// PutItem implements [dynamostore.API].
func (i *instant) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if i.stored != nil {
		return nil, &types.ConditionalCheckFailedException{Item: i.stored}
	}
	return new(dynamodb.PutItemOutput), nil
}

// UpdateItem implements [dynamostore.API].
func (*instant) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return new(dynamodb.UpdateItemOutput), nil
}
