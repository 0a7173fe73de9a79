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
)

// Powertools is the protocol of the four Powertools for AWS Lambda, as far as writes
// go: a conditional put that a completed or unended record refuses, and then an update
// or a delete without any condition. Records have no owner.
//
// It is written after their documentation and source ("Idempotency", DynamoDB
// persistence layer), for comparison only.
func Powertools() System {
	return System{Name: "Powertools' protocol", Open: func() (Table, error) {
		t, err := openDynamo(attributes{key: "id", status: "status", lease: "in_progress_expiration", expiry: "expiration", result: "data"})
		if err != nil {
			return nil, err
		}
		return &powertoolsTable{t}, nil
	}}
}

type powertoolsTable struct{ *dynamoTable }

// Connect implements [Table].
func (t *powertoolsTable) Connect(p *Process) (Protocol, error) {
	api := wire{p, t.db.Direct()}
	return func(ctx context.Context, run func(context.Context) (string, error)) (string, error) {
		return powertools{p, api}.handle(ctx, run)
	}, nil
}

// powertools is one process that follows the protocol.
type powertools struct {
	p   *Process
	api wire
}

func (t powertools) now() time.Time { return time.Now().Add(t.p.Skew) }

func (t powertools) handle(ctx context.Context, run func(context.Context) (string, error)) (string, error) {
	found, err := t.saveInProgress(ctx)
	switch {
	case err != nil:
		return "", err
	case found != nil:
		return answerOf(found)
	}
	finished := false
	defer func() {
		if !finished {
			t.delete()
		}
	}()
	answer, err := run(ctx)
	if err != nil {
		return "", err
	}
	finished = true
	return answer, t.saveSuccess(ctx, answer)
}

// saveInProgress returns the record in its way, if there is one.
func (t powertools) saveInProgress(ctx context.Context) (map[string]types.AttributeValue, error) {
	now := t.now()
	deadline, _ := ctx.Deadline()
	_, err := t.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(tableName),
		Item: map[string]types.AttributeValue{
			"id":                     text(keyText),
			"status":                 text("INPROGRESS"),
			"expiration":             number(now.Add(ttl).Unix()),
			"in_progress_expiration": number(now.Add(time.Until(deadline)).UnixMilli()),
		},
		ConditionExpression: aws.String("attribute_not_exists(#id) OR #expiry < :now OR " +
			"(#status = :inprogress AND attribute_exists(#lease) AND #lease < :nowms)"),
		ExpressionAttributeNames: map[string]string{
			"#id": "id", "#expiry": "expiration", "#status": "status", "#lease": "in_progress_expiration",
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now": number(now.Unix()), ":nowms": number(now.UnixMilli()), ":inprogress": text("INPROGRESS"),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refused.Item, nil
	}
	return nil, err
}

func (t powertools) saveSuccess(ctx context.Context, answer string) error {
	data, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = t.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                aws.String(tableName),
		Key:                      map[string]types.AttributeValue{"id": text(keyText)},
		UpdateExpression:         aws.String("SET #data = :data, #expiry = :expiry, #status = :status"),
		ExpressionAttributeNames: map[string]string{"#data": "data", "#expiry": "expiration", "#status": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":data": text(string(data)), ":expiry": number(t.now().Add(ttl).Unix()), ":status": text("COMPLETED"),
		},
	})
	return err
}

func (t powertools) delete() {
	_, _ = t.api.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
		TableName: aws.String(tableName), Key: map[string]types.AttributeValue{"id": text(keyText)},
	})
}

func answerOf(found map[string]types.AttributeValue) (string, error) {
	if status, _ := found["status"].(*types.AttributeValueMemberS); status.Value == "INPROGRESS" {
		return "", fmt.Errorf("%w: execution already in progress", ErrRejected)
	}
	data, _ := found["data"].(*types.AttributeValueMemberS)
	return string(plain([]byte(data.Value))), nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
