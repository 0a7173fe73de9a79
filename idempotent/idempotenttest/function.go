package idempotenttest

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Function is a function to be proved: how it is made, what is sent to it, and what its
// books say. New and Request are required.
type Function struct {
	// New makes the function as its main does, for an environment: with the
	// environment's client of DynamoDB, and its services. It is called once for each
	// process. What it returns is anything that [lambda.Start] accepts: a guarded
	// handler, a func with or without a context, event and result, or a [lambda.Handler].
	//
	// What lies outside of the function must be reached through the environment (Client,
	// Service, Outside), or Prove can neither interrupt nor see it.
	New func(e *Environment) (handler any, err error)

	// Request is the event of a request. A []byte or json.RawMessage is sent as it is,
	// anything else as its JSON form.
	Request any
	// Duplicate is the event of the same request when it arrives again. Defaults to
	// Request.
	Duplicate any
	// Other is the event of another request, which must not be taken for a duplicate of
	// the first one. Defaults to none, and then that is not proved.
	Other any

	// Records describes the table of the records, which is created for each story. Its
	// Table defaults to "idempotency".
	Records dynamostore.Config
	// Setup creates the other tables, and what is in them before the first request.
	// Defaults to nothing.
	Setup func(t testing.TB, db *dynamotest.DB)

	// Books says what counts as an effect. Defaults to the effects of each service, and
	// the items of each table but that of the records.
	Books func(w *World) Books
	// Repeatable are the names in the books that may come twice: effects that the
	// function only promises at least once. Defaults to none.
	Repeatable []string
	// Holds, if set, is asked after every answer, and says what is wrong with the world.
	Holds func(w *World) error

	// Settled tells an answer after which nobody sends the request again. It claims that
	// the effects have happened. Defaults to no error and, by the form of the answer: a
	// status below 500 other than 409, 425 and 429; no batchItemFailures.
	Settled func(a Answer) bool
	// Same tells whether an answer says the same as the first one. Defaults to the same
	// bytes, and of HTTP responses to the same status, body and content type.
	Same func(first, again Answer) bool

	// Timeout is the function's time-out in Lambda, after which its process is killed.
	// Defaults to 10 seconds.
	Timeout time.Duration
	// Lease is for how long a run that has died may lock its request. Defaults to what
	// [idempotent.Config] makes of the time-out, a minute at most, with two seconds for
	// clocks.
	Lease time.Duration
}

// withDefaults returns the function with all fields set, or what is wrong with it.
func (f Function) withDefaults() (Function, error) {
	if f.New == nil || f.Request == nil {
		return f, errors.New("idempotenttest: a Function needs New and Request")
	}
	if f.Duplicate == nil {
		f.Duplicate = f.Request
	}
	f.Records.Table = cmp.Or(f.Records.Table, "idempotency")
	f.Timeout = cmp.Or(f.Timeout, 10*time.Second)
	f.Lease = cmp.Or(f.Lease, min(f.Timeout, time.Minute)+2*time.Second)
	if f.Books == nil {
		f.Books = (*World).everything
	}
	if f.Settled == nil {
		f.Settled = Answer.settled
	}
	if f.Same == nil {
		f.Same = Answer.same
	}
	return f, nil
}
