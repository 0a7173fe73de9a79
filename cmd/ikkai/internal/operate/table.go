package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// Table is where the records are: the flags that all commands share, named as those of the AWS
// command line.
type Table struct {
	Name, Endpoint, Region, Profile string
	// Attributes is a file of the names of a record's attributes, as JSON of
	// dynamostore.Attributes, and PartitionValue that of a table with a sort key.
	Attributes, PartitionValue string
}

// Flags declares the flags.
func (t *Table) Flags(flags *flag.FlagSet) {
	flags.StringVar(&t.Name, "table-name", os.Getenv("IDEMPOTENCY_TABLE"), "the table of the records; also by IDEMPOTENCY_TABLE")
	flags.StringVar(&t.Endpoint, "endpoint-url", "", "where DynamoDB is, such as http://localhost:8000 for the embedded one")
	flags.StringVar(&t.Region, "region", "", "the AWS Region (default that of the profile, or of AWS_REGION)")
	flags.StringVar(&t.Profile, "profile", "", "the profile of the AWS configuration")
	flags.StringVar(&t.Attributes, "attributes", "", `a JSON file of renamed attributes, such as {"Key": "pk", "SortKey": "sk"}`)
	flags.StringVar(&t.PartitionValue, "partition-value", "", "the partition key's value, for a table with a sort key")
}

// Opened is a table that can be asked.
type Opened struct {
	Name    string
	Region  string
	Client  *dynamodb.Client
	Store   *dynamostore.Store
	Desk    *records.Desk
	Config  dynamostore.Config
	AWS     aws.Config
	Special bool // an endpoint of its own: not AWS

	skew   skew
	margin time.Duration
}

// Open makes clients. It sends no request.
func (t *Table) Open(ctx context.Context, desk records.Config) (*Opened, error) {
	if t.Name == "" {
		return nil, &UsageError{"which table? Name it with --table-name, or in IDEMPOTENCY_TABLE"}
	}
	// The flags have the defaults: a zero was typed, and is meant.
	desk.Margin, desk.PartialAfter = max(desk.Margin, 1), max(desk.PartialAfter, 1)
	awsConfig, err := t.load(ctx)
	if err != nil {
		return nil, err
	}
	o := &Opened{Name: t.Name, Region: awsConfig.Region, AWS: awsConfig, Special: t.Endpoint != "",
		Config: dynamostore.Config{Table: t.Name, PartitionValue: t.PartitionValue}, margin: desk.Margin}
	if t.Attributes != "" {
		if o.Config.Attributes, err = readAttributes(t.Attributes); err != nil {
			return nil, err
		}
	}
	o.Client = dynamodb.NewFromConfig(awsConfig, func(options *dynamodb.Options) {
		if t.Endpoint != "" {
			options.BaseEndpoint = aws.String(t.Endpoint)
		}
		options.APIOptions = append(options.APIOptions, o.skew.watch)
	})
	if o.Store, err = dynamostore.New(o.Client, o.Config); err != nil {
		return nil, err
	}
	o.Desk, err = records.New(o.Store, desk)
	return o, err
}

// load reads the configuration of the AWS SDK. An endpoint of one's own asks for no real
// credentials, so it is given some where there are none.
func (t *Table) load(ctx context.Context) (aws.Config, error) {
	var options []func(*config.LoadOptions) error
	if t.Region != "" {
		options = append(options, config.WithRegion(t.Region))
	}
	if t.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(t.Profile))
	}
	if t.Endpoint != "" && os.Getenv("AWS_ACCESS_KEY_ID") == "" && t.Profile == "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("local", "local", "")))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return loaded, fmt.Errorf("the AWS configuration: %w", err)
	}
	if loaded.Region == "" && t.Endpoint != "" {
		loaded.Region = "us-east-1"
	}
	if loaded.Region == "" {
		return loaded, &UsageError{"which Region? Name it with --region, or in AWS_REGION"}
	}
	return loaded, nil
}

func readAttributes(file string) (names dynamostore.Attributes, err error) {
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &names)
	}
	if err != nil {
		return names, &UsageError{fmt.Sprintf("--attributes: %v", err)}
	}
	return names, nil
}

// where says which table it is, for people.
func (o *Opened) where() string {
	if o.Special {
		return o.Name + " (local)"
	}
	return o.Name + ", " + o.Region
}

// key is the name of the partition key's attribute, and the sort key's where there is one.
func (o *Opened) key() (partition, sort string) {
	return cmp.Or(o.Config.Attributes.Key, "idempotency_key"), o.Config.Attributes.SortKey
}

// one returns the record of a key, with the sizes of its contents.
func (o *Opened) one(ctx context.Context, key string) (records.Record, error) {
	record, err := o.Desk.Show(ctx, key)
	if _, gone := errors.AsType[*records.NotFoundError](err); gone {
		return record, fmt.Errorf("%w in %s. Keys are found by: ikkai records key --help", err, o.where())
	}
	return record, err
}
