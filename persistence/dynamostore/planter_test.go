package dynamostore_test

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// planter is a store into whose table records can be put past the store.
type planter struct {
	*dynamostore.Store
	client *dynamodb.Client
	config dynamostore.Config
}

// Plant implements storetest.Planter.
func (p planter) Plant(ctx context.Context, r persistence.Record) error {
	a := p.config.Attributes
	if a.Key == "" {
		a = dynamostore.Attributes{
			Key: "idempotency_key", Status: "status", Owner: "owner", LeaseUntil: "lease_until", ExpireAt: "expire_at",
			Fingerprint: "fingerprint", Result: "result", Steps: "steps", Attempt: "attempt",
		}
	}
	item := attributes{a.Key: text(r.Key), a.Status: text(string(r.Status))}
	if a.SortKey != "" {
		item[a.Key], item[a.SortKey] = text(p.config.PartitionValue), text(r.Key)
	}
	if r.Owner != "" {
		item[a.Owner] = text(r.Owner)
	}
	if r.Fingerprint != "" {
		item[a.Fingerprint] = text(r.Fingerprint)
	}
	if !r.LeaseUntil.IsZero() {
		item[a.LeaseUntil] = number(strconv.FormatInt(r.LeaseUntil.UnixMilli(), 10))
	}
	if !r.ExpiresAt.IsZero() {
		item[a.ExpireAt] = number(strconv.FormatInt(r.ExpiresAt.Unix(), 10))
	}
	if r.Attempt > 0 {
		item[a.Attempt] = number(strconv.Itoa(r.Attempt))
	}
	if r.Status.Finished() && !r.ResultOmitted {
		item[a.Result] = &types.AttributeValueMemberB{Value: r.Result}
	}
	if len(r.Steps) > 0 {
		steps := attributes{}
		for name, output := range r.Steps {
			steps[name] = &types.AttributeValueMemberB{Value: output}
		}
		item[a.Steps] = &types.AttributeValueMemberM{Value: steps}
	}
	_, err := p.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(p.config.Table), Item: item})
	return err
}
