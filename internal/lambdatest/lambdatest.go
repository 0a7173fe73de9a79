// Package lambdatest runs the sample functions in their tests as Lambda does: from
// event to answer, with a deadline, in environments that can be killed, on the
// embedded DynamoDB.
package lambdatest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// IdempotencyTable is the name of the table that all functions share.
const IdempotencyTable = "idempotency"

// NewDatabase returns a database with the idempotency table and a ledger's table,
// as in template.yaml.
func NewDatabase(t *testing.T, ledger string) *dynamotest.DB {
	t.Helper()
	db := dynamotest.New(t)
	client := db.Client()
	if err := dynamostore.CreateTable(t.Context(), client, dynamostore.Config{Table: IdempotencyTable}); err != nil {
		t.Fatal(err)
	}
	db.MustCreateTable(ledger, "pk")
	db.ResetLog()
	return db
}

// Rows counts the rows of a ledger's table, by their kind.
func Rows(db *dynamotest.DB, ledger string) map[string]int {
	rows := make(map[string]int)
	for _, row := range db.Items(ledger) {
		kind, _, _ := strings.Cut(text(row["pk"]), "#")
		rows[kind]++
	}
	return rows
}

// Records counts the records of the idempotency table, by their status.
func Records(db *dynamotest.DB) map[string]int {
	records := make(map[string]int)
	for _, record := range db.Items(IdempotencyTable) {
		records[text(record["status"])]++
	}
	return records
}

func text(v types.AttributeValue) string {
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// Environment is one Lambda environment of a function, with a connection to the
// database of its own.
type Environment struct {
	t       *testing.T
	handler lambda.Handler
	timeout time.Duration
	cable   *cable
}

// Start starts an environment of the function that wire makes: anything that
// lambda.Start accepts.
func Start(t *testing.T, db *dynamotest.DB, timeout time.Duration, wire func(*dynamodb.Client) (any, error)) *Environment {
	t.Helper()
	c := &cable{db: db}
	function, err := wire(db.Client(func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: c} }))
	if err != nil {
		t.Fatal(err)
	}
	return &Environment{t: t, handler: lambda.NewHandler(function), timeout: timeout, cable: c}
}

// Invoke sends an event, as Lambda does: with a deadline.
func (e *Environment) Invoke(event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(e.t.Context(), e.timeout)
	defer cancel()
	answer, err := e.handler.Invoke(ctx, event)
	return bytes.Clone(answer), err // the next one gets the same buffer
}

// Respond sends an HTTP event of whatever source and wants a response with this
// status. All sources take responses of one form.
func (e *Environment) Respond(event []byte, status int) events.APIGatewayV2HTTPResponse {
	e.t.Helper()
	return e.Begin(event)(status)
}

// Begin sends such an event and returns what waits for the response.
func (e *Environment) Begin(event []byte) (respond func(status int) events.APIGatewayV2HTTPResponse) {
	type end struct {
		answer []byte
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		answer, err := e.Invoke(event)
		ended <- end{answer, err}
	}()
	return func(status int) events.APIGatewayV2HTTPResponse {
		e.t.Helper()
		end := <-ended
		if end.err != nil {
			e.t.Fatalf("the function failed: %v", end.err)
		}
		var response events.APIGatewayV2HTTPResponse
		if err := json.Unmarshal(end.answer, &response); err != nil {
			e.t.Fatal(err)
		}
		if response.StatusCode != status {
			e.t.Fatalf("status %d, want %d: %s", response.StatusCode, status, end.answer)
		}
		return response
	}
}

// Kill cuts the environment off: what it does after that reaches nobody, as if
// its process had been killed.
func (e *Environment) Kill() { e.cable.cut.Store(true) }

// Killed tells whether it is.
func (e *Environment) Killed() bool { return e.cable.cut.Load() }

// cable connects an environment with the database until it is cut.
type cable struct {
	db  *dynamotest.DB
	cut atomic.Bool
}

// RoundTrip implements [http.RoundTripper].
func (c *cable) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, syscall.ECONNREFUSED
	}
	return c.db.RoundTrip(r)
}

// Event reads a file of testdata/events, for the test of a package in
// functions/<name>.
func Event(t *testing.T, name string) []byte {
	t.Helper()
	event, err := os.ReadFile(filepath.Join("..", "..", "testdata", "events", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return event
}

// With is an event with another value of one of its members.
func With(t *testing.T, event []byte, value any, member ...string) []byte {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(event, &whole); err != nil {
		t.Fatal(err)
	}
	inner := whole
	for _, name := range member[:len(member)-1] {
		inner = inner[name].(map[string]any)
	}
	inner[member[len(member)-1]] = value
	changed, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// Answer is what functions/README.md says that a function of an HTTP API answers.
type Answer struct {
	Event  string // a file of testdata/events, without its ending
	Status int
}

// Answers reads that table, for the test of a package in functions/<name>.
func Answers(t *testing.T, function string) []Answer {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var answers []Answer
	of := ""
	row := regexp.MustCompile("^\\| (\\w*) ?\\| (`httpapi-.+`) \\| (\\d{3})")
	for line := range strings.Lines(string(readme)) {
		cells := row.FindStringSubmatch(line)
		if cells == nil {
			continue
		}
		of = cmp.Or(cells[1], of)
		if of != function {
			continue
		}
		status, err := strconv.Atoi(cells[3])
		if err != nil {
			t.Fatal(err)
		}
		for event := range strings.SplitSeq(cells[2], ", ") {
			answers = append(answers, Answer{Event: strings.Trim(event, "`"), Status: status})
		}
	}
	if len(answers) == 0 {
		t.Fatalf("functions/README.md tells no answers of %s", function)
	}
	return answers
}
