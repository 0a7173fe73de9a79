package demo

import (
	"encoding/json"
	"time"

	"github.com/ikkai-go/idempotency/internal/dynamolocal"
)

// Scene is the beginning of a chapter.
type Scene struct {
	Title string `json:"title"`
}

// Beat is one event sent and what came of it.
type Beat struct {
	At          Milliseconds `json:"at_ms"`   // of the answer, since the beginning
	Took        Milliseconds `json:"took_ms"` // from event to answer
	Environment string       `json:"environment"`
	Sent        Order        `json:"sent"`
	Answer      Answer       `json:"answer"`
	// Requests are those that the environment sent to DynamoDB meanwhile.
	Requests []Request `json:"requests"`
}

// Order is a payment that a client asks for.
type Order struct {
	Key    string `json:"key"`    // the Idempotency-Key header
	Amount int64  `json:"amount"` // cents
}

// Answer is what a client of the HTTP API gets.
type Answer struct {
	Status int `json:"status"`
	// RetryAfter is when the client is told to come back.
	RetryAfter Milliseconds `json:"retry_after_ms,omitempty"`
	Body       string       `json:"body,omitempty"`
	// Failure is what Lambda says instead of a response: the function's error, or
	// that it timed out.
	Failure string `json:"failure,omitempty"`
	// raw is Lambda's answer itself.
	raw []byte
}

// Request is one request to DynamoDB.
type Request struct {
	Table     string  `json:"table"`
	Operation string  `json:"operation"`
	Error     string  `json:"error,omitempty"` // DynamoDB's error code
	Read      float64 `json:"read_units,omitempty"`
	Write     float64 `json:"write_units,omitempty"`
}

func requestsOf(log []dynamolocal.Request) []Request {
	requests := make([]Request, 0, len(log))
	for _, logged := range log {
		for _, table := range logged.Tables {
			requests = append(requests, Request{
				Table: table, Operation: logged.Operation, Error: logged.Code,
				Read: logged.Capacity.Read, Write: logged.Capacity.Write,
			})
		}
	}
	return requests
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
