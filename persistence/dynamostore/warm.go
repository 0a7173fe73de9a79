package dynamostore

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	// warmKey is that of a record which never exists.
	warmKey = "ikkai-warm-up"
	// warmLimit bounds the only request of Warm. The first one of a process takes longer
	// than any other, with little CPU most of all, and nobody waits for it in the init phase,
	// which Lambda ends after 10 s.
	warmLimit = 5 * time.Second
)

// Warm opens the connection to DynamoDB and resolves the credentials, so that the first call
// need not: in the init phase of a Lambda function, before lambda.Start.
//
// It makes one request, and does not repeat it: an eventually consistent GetItem of a record
// that never exists, for half a read unit, with the permission that the store needs anyway.
// (A policy with a condition on dynamodb:LeadingKeys has to allow the key "ikkai-warm-up",
// or [Config.PartitionValue] in a table with a sort key. Otherwise Warm returns the refusal;
// the connection is open all the same.)
//
// The error is a [*persistence.Fault]. A main may ignore it: nothing depends on Warm, and the
// first call is tried again by whoever made it, which a function that doesn't start is not.
func (s *Store) Warm(ctx context.Context) error {
	input := &dynamodb.GetItemInput{TableName: s.table, Key: s.schema.key(warmKey), ConsistentRead: aws.Bool(false)}
	_, err := s.api.GetItem(ctx, input, limitRequests(warmLimit), unrepeated)
	return fault("warm", err)
}

func unrepeated(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
