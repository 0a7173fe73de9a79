package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/ikkai-go/idempotency/persistence"
)

// unwrittenError is the error of a request that is known not to have been applied.
type unwrittenError struct{ err error }

func (e *unwrittenError) Error() string { return e.err.Error() }

func (e *unwrittenError) Unwrap() error { return e.err }

// tries is what became of the tries of one request: the SDK's own, and those of
// persist. A client that takes no options of the SDK, such as one of DAX, does not
// show its tries.
type tries struct {
	seen int
	lost int // without an answer that refuses them: they may have been applied
	// last is the error of the last try that ended before the context, in this sending.
	last error
}

// triesKey is the context's key of the tries that a try belongs to.
type triesKey struct{}

// watched returns a context whose tries are counted.
func watched(ctx context.Context) (context.Context, *tries) {
	w := &watching{Context: ctx}
	return w, &w.tries
}

// watching is a context with the tries in it, so that both are one allocation.
type watching struct {
	context.Context //nolint:containedctx // it is one
	tries           tries
}

// Value implements [context.Context].
func (w *watching) Value(key any) any {
	if key == (triesKey{}) {
		return &w.tries
	}
	return w.Context.Value(key)
}

// note counts a try that has failed.
func (t *tries) note(err error) {
	t.seen++
	if !refusedOutright(err) {
		t.lost++
	}
}

// judge marks the error of a request if nothing was written: each of its tries was
// refused.
func (t *tries) judge(err error) error {
	if err == nil || !t.unwritten() {
		return err
	}
	return &unwrittenError{err}
}

// unwritten tells whether it is known that no try of a request which has failed was applied.
func (t *tries) unwritten() bool { return t.seen > 0 && t.lost == 0 }

// arrived tells whether no try of the request can arrive any more, as far as it shows: each
// has been answered. A token is free again after a cancellation, so that a try which is stuck
// in the network may still be applied, while its conditions hold.
func (t *tries) arrived() bool { return t.lost == 0 }

// believe returns the refusal of a request, or the error of one whose refusal says too little:
// an earlier try of it can still arrive. What can never be carried out can't arrive either.
func (t *tries) believe(refusal error) error {
	if _, refused := errors.AsType[*persistence.RefusedError](refusal); !refused || t.arrived() {
		return refusal
	}
	return &doubtfulError{refusal}
}

// doubtfulError is that of a request that was refused after a try without an answer. It does
// not wrap the refusal: nobody may take it for one.
type doubtfulError struct{ refusal error }

func (e *doubtfulError) Error() string {
	return fmt.Sprintf("%v; but an earlier try got no answer, and may be applied yet", e.refusal)
}

// refusedOutright tells whether DynamoDB has answered a try by refusing it, which it
// does with status 400 (its developer guide, "Error handling with DynamoDB"). Of a
// transaction that is in progress one of the tries may be applied yet.
func refusedOutright(err error) bool {
	response, answered := errors.AsType[*awshttp.ResponseError](err)
	failure, coded := errors.AsType[smithy.APIError](err)
	return answered && coded && response.HTTPStatusCode() == http.StatusBadRequest &&
		failure.ErrorCode() != "TransactionInProgressException"
}
