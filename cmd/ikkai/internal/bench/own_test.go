package bench

import (
	"context"
	"crypto/rand"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// A replay allocates hardly more than the request that it sends: counted against
// the same request, written by hand and sent to the same client.
func TestReplayAllocatesLittleBesidesItsRequest(t *testing.T) {
	const most = 9
	ctx, cancel := context.WithTimeout(t.Context(), lambdaTimeout)
	defer cancel()
	item, err := storedItem("p-1")
	if err != nil {
		t.Fatal(err)
	}
	client := instant{stored: item}
	var api dynamostore.API = &client // of a type that the compiler cannot see through, as the SDK's is
	handler, err := client.handler(false)
	if err != nil {
		t.Fatal(err)
	}
	key, err := idempotency.Key("payment", "p-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 10, 256 << 10} {
		event := payment("p-1", size)
		replay := testing.AllocsPerRun(100, func() {
			if _, err := handler.Invoke(ctx, event); err != nil {
				t.Fatal(err)
			}
		})
		byHand := testing.AllocsPerRun(100, func() {
			if err := storedResult(putByHand(ctx, api, key)); err != nil {
				t.Fatal(err)
			}
		})
		if more := replay - byHand; more > most {
			t.Errorf("a replay of an event of %d bytes allocates %.0f times, its request by hand %.0f times: %.0f more, want at most %d", len(event), replay, byHand, more, most)
		}
	}
}

// putByHand sends the request of the toolkit's acquire as one would write it down.
func putByHand(ctx context.Context, client dynamostore.API, key string) error {
	now := time.Now()
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("instant"),
		Item: map[string]types.AttributeValue{
			"idempotency_key": &types.AttributeValueMemberS{Value: key},
			"status":          &types.AttributeValueMemberS{Value: "PROCESSING"},
			"owner":           &types.AttributeValueMemberS{Value: rand.Text()},
			"lease_until":     &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(time.Minute).UnixMilli(), 10)},
			"expire_at":       &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(time.Hour).Unix(), 10)},
			"attempt":         &types.AttributeValueMemberN{Value: "1"},
			"version":         &types.AttributeValueMemberN{Value: "1"},
		},
		ConditionExpression: aws.String("attribute_not_exists(#k) OR #x < :now AND NOT #l >= :nowms"),
		ExpressionAttributeNames: map[string]string{
			"#k": "idempotency_key", "#x": "expire_at", "#l": "lease_until",
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now":   &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Unix(), 10)},
			":nowms": &types.AttributeValueMemberN{Value: strconv.FormatInt(now.UnixMilli(), 10)},
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}
