package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"

	external "github.com/ikkai-go/idempotency/internal/endpoint"
)

// behaviour is one thing DynamoDB does. It is asserted against a client and nothing else, so that every endpoint can
// be asked: the embedded database in-process and over HTTP, and the one in DYNAMODB_ENDPOINT.
type behaviour struct {
	name string
	run  func(ctx context.Context, at *endpoint) error // nil: as expected
}

// behaviours is the whole suite.
var behaviours = slices.Concat(
	conditionBehaviours, updateBehaviours, valueBehaviours, keyBehaviours, itemBehaviours,
	queryBehaviours, batchBehaviours, transactionBehaviours, tableBehaviours, capacityBehaviours,
	definitionBehaviours, updateTableBehaviours, indexBehaviours, legacyBehaviours, streamBehaviours,
)

// endpoint is a database under test with a table of each kind, shared by all behaviours: each keeps to its own keys.
type endpoint struct {
	*dynamodb.Client
	streams  *dynamodbstreams.Client
	hashed   string // partition key id (S)
	sorted   string // partition key id (S), sort key sk (N)
	wordings *[]string
}

func TestTheEmbeddedDatabaseBehavesInProcess(t *testing.T) {
	runSuite(t, New(t).Client(), behaviours)
}

func TestTheEmbeddedDatabaseBehavesOverHTTP(t *testing.T) {
	url, err := New(t).Serve()
	if err != nil {
		t.Fatal(err)
	}
	runSuite(t, clientOf(url), behaviours)
}

func TestTheEndpointBehavesLikeTheEmbeddedDatabase(t *testing.T) {
	client, set := external.Client()
	if !set {
		t.Skipf("%s names no other database to compare with", external.Variable)
	}
	at := newEndpoint(t, client)
	at.wordings = new([]string)
	differs := 0
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			err := b.run(t.Context(), at)
			reason, known := knownDifferences[b.name]
			switch {
			case err != nil && known:
				differs++
				t.Logf("KNOWN DIFFERENCE: %v\n\tlisted because: %s", err, reason)
			case err != nil:
				t.Error(err)
			}
		})
	}
	t.Logf("%d behaviours, %d known differences, %d errors worded differently", len(behaviours), differs, len(*at.wordings))
	for _, wording := range *at.wordings {
		t.Log(wording)
	}
}

func TestEveryKnownDifferenceIsABehaviour(t *testing.T) {
	for name := range knownDifferences {
		if !slices.ContainsFunc(behaviours, func(b behaviour) bool { return b.name == name }) {
			t.Errorf("%q is no behaviour of the suite", name)
		}
	}
	names := make(map[string]bool)
	for _, b := range behaviours {
		if names[b.name] {
			t.Errorf("%q is there twice", b.name)
		}
		names[b.name] = true
	}
}

func runSuite(t *testing.T, client *dynamodb.Client, suite []behaviour) {
	at := newEndpoint(t, client)
	for _, b := range suite {
		t.Run(b.name, func(t *testing.T) {
			if err := b.run(t.Context(), at); err != nil {
				t.Error(err)
			}
		})
	}
}

func clientOf(url string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: Region, BaseEndpoint: &url, Credentials: anyCredentials})
}

var runs atomic.Int64

func newEndpoint(t *testing.T, client *dynamodb.Client) *endpoint {
	t.Helper()
	run := fmt.Sprintf("%d-%d", os.Getpid(), runs.Add(1))
	given := client.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{
		Region: given.Region, BaseEndpoint: given.BaseEndpoint, HTTPClient: given.HTTPClient, Credentials: given.Credentials,
	})
	at := &endpoint{Client: client, streams: streams, hashed: "hashed-" + run, sorted: "sorted-" + run}
	for name, sortKey := range map[string]string{at.hashed: "", at.sorted: "sk"} {
		if err := at.createTable(t.Context(), name, sortKey); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		})
	}
	return at
}

// createTable makes a table with the partition key id and, unless it is "", a numeric sort key, and waits for it.
func (at *endpoint) createTable(ctx context.Context, name, sortKey string) error {
	in := &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: "HASH"}},
	}
	if sortKey != "" {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &sortKey, AttributeType: "N"})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &sortKey, KeyType: "RANGE"})
	}
	return at.create(ctx, in)
}

// create makes a table and waits for it.
func (at *endpoint) create(ctx context.Context, in *dynamodb.CreateTableInput) error {
	if _, err := at.CreateTable(ctx, in); err != nil {
		return err
	}
	for {
		described, err := at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: in.TableName})
		if err != nil || described.Table.TableStatus == types.TableStatusActive {
			return err
		}
	}
}

// put stores an item in the table with the partition key only.
func (at *endpoint) put(ctx context.Context, item attrs) error {
	_, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.hashed, Item: item})
	return err
}

// get reads an item of the table with the partition key only.
func (at *endpoint) get(ctx context.Context, id string) (attrs, error) {
	out, err := at.GetItem(ctx, &dynamodb.GetItemInput{TableName: &at.hashed, Key: attrs{"id": S(id)}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// expectItem compares the stored item with what it should be; nil for none.
func (at *endpoint) expectItem(ctx context.Context, id string, want attrs) error {
	got, err := at.get(ctx, id)
	if err != nil {
		return err
	}
	if !same(got, want) {
		return fmt.Errorf("stored: %s\n  want: %s", show(got), show(want))
	}
	return nil
}

// refusal compares an error with the code and, unless it is "", the message that DynamoDB gives. Another endpoint's
// other words are noted, not failed.
func (at *endpoint) refusal(err error, code, message string) error {
	if code == "" {
		return err
	}
	failed, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return fmt.Errorf("got error %v, want %s: %s", err, code, message)
	}
	if failed.ErrorCode() != code {
		return fmt.Errorf("got %s: %s\nwant %s: %s", failed.ErrorCode(), failed.ErrorMessage(), code, message)
	}
	// Since 2026 some of DynamoDB's hosts, and dynoxide, put this before messages that do not otherwise have it.
	got := strings.TrimPrefix(failed.ErrorMessage(), "1 validation error detected: ")
	if message == "" || got == strings.TrimPrefix(message, "1 validation error detected: ") {
		return nil
	}
	if at.wordings != nil {
		*at.wordings = append(*at.wordings, "ours:   "+message+"\n\ttheirs: "+failed.ErrorMessage())
		return nil
	}
	return fmt.Errorf("got  %s\nwant %s", failed.ErrorMessage(), message)
}

const invalidRequest = "ValidationException"

// used are the placeholders that occur in the expressions.
func used[V any](all map[string]V, expressions ...string) map[string]V {
	found := make(map[string]V)
	for _, t := range tokenize(strings.Join(expressions, " ")) {
		if v, ok := all[t.text]; ok {
			found[t.text] = v
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// with is the item with more attributes.
func with(item attrs, more attrs) attrs {
	both := maps.Clone(item)
	maps.Copy(both, more)
	return both
}
