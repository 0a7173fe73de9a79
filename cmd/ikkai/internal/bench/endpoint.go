package bench

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/internal/dynamolocal"
)

// connect returns a client of an emulator, which takes any credentials: the one
// at url or, without a url, the embedded one over loopback HTTP.
func connect(url string) (client *dynamodb.Client, name string, stop func() error, err error) {
	name, stop = url, func() error { return nil }
	if url == "" {
		name = "embedded DynamoDB over loopback HTTP, in the same process"
		if url, stop, err = dynamolocal.New().Listen(); err != nil {
			return nil, "", nil, fmt.Errorf("start the embedded DynamoDB: %w", err)
		}
	}
	client = dynamodb.New(dynamodb.Options{
		Region:       dynamolocal.Region,
		BaseEndpoint: aws.String(url),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	return client, name, stop, nil
}
