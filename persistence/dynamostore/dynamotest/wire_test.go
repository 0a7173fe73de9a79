package dynamotest

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// send posts a raw body to the database, in-process.
func send(t *testing.T, db *DB, target, body string) (status int, reply map[string]any) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	request.Header.Set("X-Amz-Target", target)
	response, err := db.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := response.Header.Get("X-Amz-Crc32"), strconv.FormatUint(uint64(crc32.ChecksumIEEE(raw)), 10); got != want {
		t.Errorf("checksum header %q, want %q", got, want)
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		t.Fatalf("reply %q: %v", raw, err)
	}
	return response.StatusCode, reply
}

func TestBadRequestsGetDynamoDBsErrors(t *testing.T) {
	db := New(t)
	newEndpoint(t, db.Client())
	for _, c := range []struct{ name, target, body, wantType string }{
		{"no target", "", "{}", "com.amazon.coral.service#UnknownOperationException"},
		{"another service", "Kinesis_20131202.PutRecord", "{}", "com.amazon.coral.service#UnknownOperationException"},
		{"no such operation", "DynamoDB_20120810.Nothing", "{}", "com.amazon.coral.service#UnknownOperationException"},
		{"an operation not served", "DynamoDB_20120810.ExecuteStatement", "{}", "com.amazon.coral.service#UnknownOperationException"},
		{"no body", "DynamoDB_20120810.PutItem", "", "com.amazon.coral.service#SerializationException"},
		{"not JSON", "DynamoDB_20120810.PutItem", "{", "com.amazon.coral.service#SerializationException"},
		{"trailing garbage", "DynamoDB_20120810.PutItem", "{}{}", "com.amazon.coral.service#SerializationException"},
		{"a list", "DynamoDB_20120810.PutItem", "[]", "com.amazon.coral.service#SerializationException"},
		{"a number for a name", "DynamoDB_20120810.PutItem", `{"TableName":1}`, "com.amazon.coral.service#SerializationException"},
		{"an object for a name", "DynamoDB_20120810.PutItem", `{"TableName":{}}`, "com.amazon.coral.service#SerializationException"},
		{"a number for N", "DynamoDB_20120810.PutItem", `{"Item":{"n":{"N":1}}}`, "com.amazon.coral.service#SerializationException"},
		{"bad base64", "DynamoDB_20120810.PutItem", `{"Item":{"b":{"B":"@@"}}}`, "com.amazon.coral.service#SerializationException"},
		{"a member twice", "DynamoDB_20120810.PutItem", `{"TableName":"tab","TableName":"tab"}`, "com.amazon.coral.service#SerializationException"},
		{"bytes that are not UTF-8", "DynamoDB_20120810.PutItem", "{\"TableName\":\"\xff\"}", "com.amazon.coral.service#SerializationException"},
		{"no such operation of streams", "DynamoDBStreams_20120810.PutItem", "{}", "com.amazon.coral.service#UnknownOperationException"},
		{"an operation of streams at the tables' service", "DynamoDB_20120810.ListStreams", "{}", "com.amazon.coral.service#UnknownOperationException"},
		{"nothing", "DynamoDB_20120810.PutItem", "{}", "com.amazon.coral.validate#ValidationException"},
		{"null", "DynamoDB_20120810.PutItem", "null", "com.amazon.coral.validate#ValidationException"},
		{"no table", "DynamoDB_20120810.GetItem", `{"TableName":"not-there","Key":{"id":{"S":"a"}}}`, "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"},
		{"a value without type", "DynamoDB_20120810.PutItem", `{"TableName":"tab","Item":{"id":{}}}`, "com.amazon.coral.validate#ValidationException"},
		{"a value with two types", "DynamoDB_20120810.PutItem", `{"TableName":"tab","Item":{"id":{"S":"a","N":"1"}}}`, "com.amazon.coral.validate#ValidationException"},
		{"a value of no known type", "DynamoDB_20120810.PutItem", `{"TableName":"tab","Item":{"id":{"X":"a"}}}`, "com.amazon.coral.validate#ValidationException"},
		{"a null value", "DynamoDB_20120810.PutItem", `{"TableName":"tab","Item":{"id":null}}`, "com.amazon.coral.validate#ValidationException"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, reply := send(t, db, c.target, c.body)
			if status != http.StatusBadRequest || reply["__type"] != c.wantType {
				t.Errorf("got %d %v, want %s", status, reply, c.wantType)
			}
		})
	}
}

// Names on the wire are exact: what is spelled in another case is another, unknown member.
func TestMemberNamesAreExact(t *testing.T) {
	db := New(t)
	at := newEndpoint(t, db.Client())
	stored := `"TableName":"` + at.hashed + `"`
	for _, c := range []struct{ name, target, body, missing string }{
		{"the table", "PutItem", `{"tablename":"` + at.hashed + `","Item":{"id":{"S":"a"}}}`, "Value null at 'tableName'"},
		{"the item", "PutItem", `{` + stored + `,"item":{"id":{"S":"a"}}}`, "Value null at 'item'"},
		{"a type", "PutItem", `{` + stored + `,"Item":{"id":{"s":"a"}}}`, "Supplied AttributeValue is empty"},
		{"a type inside", "PutItem", `{` + stored + `,"Item":{"id":{"S":"a"},"m":{"M":{"x":{"n":"1"}}}}}`, "Supplied AttributeValue is empty"},
		{"an action", "TransactWriteItems", `{"TransactItems":[{"put":{}}]}`, "TransactWriteRequest should contain"},
		{"a request", "BatchWriteItem", `{"requestItems":{}}`, "The requestItems parameter is required"},
		{"a role", "CreateTable", `{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","keyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`,
			"Value null at 'keySchema.1.member.keyType'"},
		{"a stream", "ListTagsOfResource", `{"resourceArn":"x"}`, "Value null at 'resourceArn'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, reply := send(t, db, targetPrefix+c.target, c.body)
			if message, _ := reply["message"].(string); status != http.StatusBadRequest || !strings.Contains(message, c.missing) {
				t.Errorf("got %d %v, want %s", status, reply, c.missing)
			}
		})
	}
	if items := db.Items(at.hashed); len(items) != 0 {
		t.Errorf("stored %v", items)
	}
}

// A promise that is not kept is refused, and null is none.
func TestWhatIsNotServedIsRefused(t *testing.T) {
	db := New(t)
	const table = `{"TableName":"tab","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST",`
	for _, c := range []struct{ target, body, refused string }{
		{"CreateTable", table + `"ResourcePolicy":"{}"}`, "ResourcePolicy"},
		{"CreateTable", table + `"OnDemandThroughput":{"MaxReadRequestUnits":1}}`, "OnDemandThroughput"},
		{"CreateTable", table + `"WarmThroughput":{"ReadUnitsPerSecond":1}}`, "WarmThroughput"},
		{"CreateTable", table + `"GlobalSecondaryIndexes":[{"IndexName":"ids","OnDemandThroughput":{}}]}`, "GlobalSecondaryIndexes.0.OnDemandThroughput"},
		{"UpdateTable", `{"TableName":"tab","ReplicaUpdates":[]}`, "ReplicaUpdates"},
		{"UpdateTable", `{"TableName":"tab","MultiRegionConsistency":"STRONG"}`, "MultiRegionConsistency"},
	} {
		status, reply := send(t, db, targetPrefix+c.target, c.body)
		if want := badParameter + "dynamotest does not serve " + c.refused; status != http.StatusBadRequest || reply["message"] != want {
			t.Errorf("%s: got %d %v", c.refused, status, reply)
		}
	}
	if status, reply := send(t, db, targetPrefix+"CreateTable", table+`"ResourcePolicy":null}`); status != http.StatusOK {
		t.Errorf("null: got %d %v", status, reply)
	}
}

// Every operation of the SDK that is not served says so by its name.
func TestOperationsThatAreNotServedAreRefused(t *testing.T) {
	db := New(t)
	client := reflect.TypeFor[*dynamodb.Client]()
	refused := 0
	for method := range client.Methods() {
		if _, served := operations[method.Name]; served || method.Type.NumIn() != 4 {
			continue
		}
		refused++
		status, reply := send(t, db, targetPrefix+method.Name, "{}")
		if status != http.StatusBadRequest || reply["__type"] != unknownCall || reply["Message"] != "dynamotest does not serve "+method.Name {
			t.Errorf("%s: got %d %v", method.Name, status, reply)
		}
	}
	if refused < 30 { // PartiQL, backups, exports, imports, global tables, …
		t.Errorf("only %d operations were asked for", refused)
	}
}

func TestEmptyRequestsPanicNowhere(t *testing.T) {
	db := New(t)
	for operation := range operations {
		for _, body := range []string{"{}", "null", `{"TableName":null}`, `{"RequestItems":{"tab":null}}`, `{"RequestItems":{"tab":[{}]}}`, `{"TransactItems":[{}]}`, `{"TransactItems":[{"Put":{}}]}`, `{"TransactItems":[{"Get":{}}]}`} {
			send(t, db, targetPrefix+operation, body)
		}
	}
	for operation := range streamOperations {
		for _, body := range []string{"{}", "null", `{"StreamArn":"x"}`, `{"ShardIterator":"a|b|c"}`, `{"ShardIterator":"a|-1|1"}`} {
			send(t, db, streamsPrefix+operation, body)
		}
	}
}

func TestTheServerSaysItIsHealthy(t *testing.T) {
	recorder := httptest.NewRecorder()
	New(t).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if recorder.Code != http.StatusOK || !strings.HasPrefix(recorder.Body.String(), "healthy") {
		t.Errorf("got %d %q", recorder.Code, recorder.Body)
	}
}

func TestACallerWhoHasGoneIsNotServed(t *testing.T) {
	db := New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader("{}"))
	if _, err := db.RoundTrip(request); err == nil {
		t.Error("a cancelled request was answered")
	}
	if len(db.Requests()) != 0 {
		t.Error("a cancelled request was logged")
	}
}
