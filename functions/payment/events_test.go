package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// A misspelled member would make a sample that Lambda never delivers, and a test
// on it worthless.
func TestTheSampleEventsHaveTheMembersOfTheirTypes(t *testing.T) {
	newEvent := map[string]func() any{
		"alb":          func() any { return new(events.ALBTargetGroupRequest) },
		"dynamodb":     func() any { return new(events.DynamoDBEvent) },
		"eventbridge":  func() any { return new(events.EventBridgeEvent) },
		"function-url": func() any { return new(events.LambdaFunctionURLRequest) },
		"httpapi":      func() any { return new(events.APIGatewayV2HTTPRequest) },
		"kinesis":      func() any { return new(events.KinesisEvent) },
		"restapi":      func() any { return new(events.APIGatewayProxyRequest) },
		"sns":          func() any { return new(events.SNSEvent) },
		"sqs":          func() any { return new(events.SQSEvent) },
	}
	beyond := map[string]string{
		"httpapi-payment-extras": "is there for its unknown members",
		"function-url-payment":   "has a routeKey, which aws-lambda-go leaves out",
		"restapi-payment":        "has a principalOrgId, which aws-lambda-go leaves out",
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "events", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, file := range files {
		sample := strings.TrimSuffix(filepath.Base(file), ".json")
		for source, target := range newEvent {
			if !strings.HasPrefix(sample, source+"-") {
				continue
			}
			seen[source] = true
			decoder := json.NewDecoder(bytes.NewReader(event(t, sample)))
			if beyond[sample] == "" {
				decoder.DisallowUnknownFields()
			}
			if err := decoder.Decode(target()); err != nil {
				t.Errorf("%s: %v", sample, err)
			}
		}
	}
	for source := range newEvent {
		if !seen[source] {
			t.Errorf("there is no sample of %s", source)
		}
	}
}
