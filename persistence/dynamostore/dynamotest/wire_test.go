package dynamotest

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
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

func TestEmptyRequestsPanicNowhere(t *testing.T) {
	db := New(t)
	for operation := range operations {
		for _, body := range []string{"{}", "null", `{"TableName":null}`, `{"RequestItems":{"tab":null}}`, `{"RequestItems":{"tab":[{}]}}`, `{"TransactItems":[{}]}`, `{"TransactItems":[{"Put":{}}]}`, `{"TransactItems":[{"Get":{}}]}`} {
			send(t, db, targetPrefix+operation, body)
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
