package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// sameRequests sends the requests of a first run as the toolkit makes them, but
// made beforehand. What is slower than the bare calls here is the endpoint's work
// on the protocol's conditions, and none of the toolkit's own.
type sameRequests struct {
	client *dynamodb.Client
	put    *dynamodb.PutItemInput
	update *dynamodb.UpdateItemInput
}

// recordRequests has the toolkit make its requests once.
func recordRequests(ctx context.Context, client *dynamodb.Client, table string) (*sameRequests, error) {
	s := &sameRequests{client: client}
	store, err := dynamostore.New(recorder{Client: client, requests: s}, dynamostore.Config{Table: table})
	if err != nil {
		return nil, err
	}
	handler, err := newHandler(store)
	if err != nil {
		return nil, err
	}
	if _, err := handler.Invoke(ctx, payment("recorded", eventBytes)); err != nil {
		return nil, err
	}
	if s.put == nil || s.update == nil {
		return nil, errors.New("the toolkit's first run was not a PutItem and an UpdateItem")
	}
	return s, nil
}

// recorder keeps the inputs of requests on their way.
type recorder struct {
	*dynamodb.Client
	requests *sameRequests
}

// PutItem implements [dynamostore.API].
func (r recorder) PutItem(ctx context.Context, input *dynamodb.PutItemInput, options ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	r.requests.put = input
	return r.Client.PutItem(ctx, input, options...)
}

// UpdateItem implements [dynamostore.API].
func (r recorder) UpdateItem(ctx context.Context, input *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	r.requests.update = input
	return r.Client.UpdateItem(ctx, input, options...)
}

func (s *sameRequests) sendPut(ctx context.Context, key types.AttributeValue) error {
	input := *s.put
	input.Item = maps.Clone(s.put.Item)
	input.Item["idempotency_key"] = key
	_, err := s.client.PutItem(ctx, &input)
	return err
}

func (s *sameRequests) sendUpdate(ctx context.Context, key types.AttributeValue) error {
	input := *s.update
	input.Key = map[string]types.AttributeValue{"idempotency_key": key}
	_, err := s.client.UpdateItem(ctx, &input)
	return err
}

func (s *sameRequests) putUpdate(ctx context.Context, id string) error {
	key := s.key(id)
	if err := s.sendPut(ctx, key); err != nil {
		return err
	}
	return s.sendUpdate(ctx, key)
}

func (s *sameRequests) failingPut(ctx context.Context, id string) error {
	return storedResult(s.sendPut(ctx, s.key(id)))
}

// key is of the toolkit's length, and none of its.
func (s *sameRequests) key(id string) types.AttributeValue {
	const length = len("payment#") + 64
	return &types.AttributeValueMemberS{Value: fmt.Sprintf("%0*s", length, "recorded#"+id)}
}
