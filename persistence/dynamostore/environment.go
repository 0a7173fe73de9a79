package dynamostore

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The environment variables that [FromEnvironment] reads.
const (
	tableVariable = "IDEMPOTENCY_TABLE"
	warmVariable  = "IDEMPOTENCY_WARM"
)

// FromEnvironment is all the wiring that the main of a Lambda function needs:
//
//	store, client, err := dynamostore.FromEnvironment(ctx)
//
// The environment variable IDEMPOTENCY_TABLE names the table, and is required. Region,
// credentials and endpoint are those of the AWS SDK's default configuration, which Lambda
// sets (locally AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL_DYNAMODB and others do). The
// client is the store's own: tables of the function that are reached with it share its
// connections. Options change the [Config] before the store is made, such as
//
//	func(c *dynamostore.Config) { c.Compress = true }
//
// Where IDEMPOTENCY_WARM is true (or 1, t), the connection is opened before FromEnvironment
// returns: see [Store.Warm]. What fails there is left to the first call, which tells it to
// somebody who can try again; a main that wants to know calls Warm itself.
//
// Errors match [ErrConfig], but for those of the SDK's configuration.
func FromEnvironment(ctx context.Context, options ...func(*Config)) (*Store, *dynamodb.Client, error) {
	warm, err := warmWanted()
	if err != nil {
		return nil, nil, err
	}
	c := Config{Table: os.Getenv(tableVariable)}
	for _, change := range options {
		change(&c)
	}
	if c.Table == "" {
		return nil, nil, fmt.Errorf("%w: the environment variable %s is not set; it names the table of the records", ErrConfig, tableVariable)
	}
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("dynamostore: the AWS SDK's configuration can't be loaded: %w", err)
	}
	if aws.Region == "" {
		return nil, nil, fmt.Errorf("%w: no Region; Lambda sets AWS_REGION, elsewhere set it or AWS_PROFILE", ErrConfig)
	}
	client := dynamodb.NewFromConfig(aws)
	store, err := New(client, c)
	if err != nil {
		return nil, nil, err
	}
	if warm {
		_ = store.Warm(ctx) // the first call finds out, and can be tried again
	}
	return store, client, nil
}

func warmWanted() (bool, error) {
	setting := os.Getenv(warmVariable)
	if setting == "" {
		return false, nil
	}
	wanted, err := strconv.ParseBool(setting)
	if err != nil {
		return false, fmt.Errorf("%w: %s is %q, which is neither true nor false", ErrConfig, warmVariable, setting)
	}
	return wanted, nil
}
