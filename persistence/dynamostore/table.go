package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// TableAPI is what [CreateTable] needs of a DynamoDB client. *dynamodb.Client has it.
type TableAPI interface {
	dynamodb.DescribeTableAPIClient
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// CreateTable creates the table that config describes, with on-demand billing
// and TTL, and waits until it can be used. A table that is there already is
// left as it is but for its TTL, so CreateTable may be called at every start.
// For local use and tests: deployed tables belong into a template.
func CreateTable(ctx context.Context, api TableAPI, config Config) error {
	if storekit.IsNil(api) {
		return fmt.Errorf("%w: no client", ErrConfig)
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return err
	}
	a := config.Attributes
	input := &dynamodb.CreateTableInput{
		TableName:   aws.String(config.Table),
		BillingMode: types.BillingModePayPerRequest,
	}
	addKey := func(name string, kind types.KeyType) {
		input.AttributeDefinitions = append(input.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS,
		})
		input.KeySchema = append(input.KeySchema, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind})
	}
	addKey(a.Key, types.KeyTypeHash)
	if a.SortKey != "" {
		addKey(a.SortKey, types.KeyTypeRange)
	}
	var exists *types.ResourceInUseException
	if _, err := api.CreateTable(ctx, input); err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("dynamostore: create table %s: %w", config.Table, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(api, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, 2*time.Second
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: input.TableName}, tableTimeout); err != nil {
		return fmt.Errorf("dynamostore: create table %s: %w", config.Table, err)
	}
	return enableTTL(ctx, api, config)
}

// tableTimeout is how long a new table may take to become active.
const tableTimeout = 2 * time.Minute

func enableTTL(ctx context.Context, api TableAPI, config Config) error {
	enabled, err := ttlEnabled(ctx, api, config)
	if err == nil && !enabled {
		_, err = api.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName: aws.String(config.Table),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{
				AttributeName: aws.String(config.Attributes.ExpireAt),
				Enabled:       aws.Bool(true),
			},
		})
		if err != nil {
			// Somebody else may have been quicker.
			if enabled, again := ttlEnabled(ctx, api, config); again == nil && enabled {
				return nil
			}
		}
	}
	if err != nil {
		return fmt.Errorf("dynamostore: TTL of table %s: %w", config.Table, err)
	}
	return nil
}

func ttlEnabled(ctx context.Context, api TableAPI, config Config) (bool, error) {
	current, err := api.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(config.Table)})
	if err != nil {
		return false, err
	}
	ttl := current.TimeToLiveDescription
	return ttl != nil && aws.ToString(ttl.AttributeName) == config.Attributes.ExpireAt, nil
}
