package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Scene is the beginning of a chapter.
type Scene struct {
	Title string `json:"title"`
}

// Work is an event handled by an environment.
type Work struct {
	At          Milliseconds `json:"at_ms"`   // of the answer, since the beginning
	Took        Milliseconds `json:"took_ms"` // from event to answer
	Environment string       `json:"environment"`
	// Requests are those that the environment sent to DynamoDB meanwhile.
	Requests []Request `json:"requests"`
}

// Beat is a request of an HTTP API's client and what came of it.
type Beat struct {
	Work
	Sent   Sent   `json:"sent"`
	Answer Answer `json:"answer"`
}

// Sent is what a client sends to an HTTP API: an [Order], a [Registration] or a
// [Basket].
type Sent interface {
	wish
	fmt.Stringer
	// header is the Idempotency-Key.
	header() string
	body() any
	function() function
}

// Answer is what a client of the HTTP API gets.
type Answer struct {
	Status int `json:"status"`
	// RetryAfter is when the client is told to come back.
	RetryAfter Milliseconds `json:"retry_after_ms,omitempty"`
	// Replayed is whether the answer says that it is an earlier one.
	Replayed bool   `json:"replayed,omitempty"`
	Body     string `json:"body,omitempty"`
	// Failure is what Lambda says instead of a response: the function's error, or
	// that it timed out.
	Failure string `json:"failure,omitempty"`
}

// Batch is what a queue delivers at once, and what came of it.
type Batch struct {
	Work
	Messages []Message `json:"messages"`
	// Failure is what Lambda says instead of an answer. All messages come back.
	Failure string `json:"failure,omitempty"`
	// answered is when the function has answered, or was killed.
	answered time.Time
}

// Message is one delivery of a message.
type Message struct {
	ID string `json:"id"`
	// Text is what it asks for, in a word.
	Text string `json:"text"`
	// Receives counts the deliveries, with this one.
	Receives int `json:"receives"`
	// Failed is whether it stays in the queue and comes back.
	Failed bool `json:"failed"`
}

// Start is a start of the payroll, and what came of it.
type Start struct {
	Work
	Month string `json:"month"`
	// Paid, Before and Left count the employees who were paid by this start, by
	// another one before, and not yet.
	Paid   int `json:"paid"`
	Before int `json:"paid_before"`
	Left   int `json:"left"`
	// Failure is what Lambda says instead of an answer.
	Failure string `json:"failure,omitempty"`
}

// Look is a look into a table, past the functions.
type Look struct {
	At   string `json:"at"`
	Rows []Row  `json:"rows"`
}

// Row is a line of what is there.
type Row struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Request is one request to DynamoDB.
type Request struct {
	// Table that it is on; of a transaction all tables, the first write's first.
	Table     string  `json:"table"`
	Operation string  `json:"operation"`
	Error     string  `json:"error,omitempty"` // DynamoDB's error code
	Read      float64 `json:"read_units,omitempty"`
	Write     float64 `json:"write_units,omitempty"`
}

func requestsOf(log []dynamotest.Request) []Request {
	requests := make([]Request, 0, len(log))
	for _, logged := range log {
		requests = append(requests, Request{
			Table: strings.Join(logged.Tables, tables), Operation: logged.Operation, Error: logged.Code,
			Read: logged.Capacity.Read, Write: logged.Capacity.Write,
		})
	}
	return requests
}

// tables separates the tables of a transaction.
const tables = ", "

// ofRecords tells whether the request is the guard's: on a record, perhaps together
// with rows of the function's.
func (r Request) ofRecords() bool {
	first, _, _ := strings.Cut(r.Table, tables)
	return first == idempotencyTable
}

// Promise is one thing the toolkit promises, looked at in one scene.
type Promise struct {
	Text string `json:"text"`
	// Broken says what was not as promised; empty if it was kept.
	Broken []string `json:"broken,omitempty"`
}

// Milliseconds is a duration whose JSON form is a number of milliseconds.
type Milliseconds time.Duration

// MarshalJSON implements [json.Marshaler].
func (m Milliseconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(time.Duration(m).Microseconds()) / 1000)
}
