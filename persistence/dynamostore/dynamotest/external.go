package dynamotest

import (
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// EndpointEnv names an endpoint that tests are to run against as well: DynamoDB Local, or any other.
const EndpointEnv = "DYNAMODB_ENDPOINT"

// External returns a client of the endpoint in EndpointEnv; false if none is set.
func External() (*dynamodb.Client, bool) {
	endpoint := os.Getenv(EndpointEnv)
	if endpoint == "" {
		return nil, false
	}
	return dynamodb.New(dynamodb.Options{
		Region:       Region,
		BaseEndpoint: aws.String(endpoint),
		Credentials:  anyCredentials,
	}), true
}
