package dynamostore

import (
	"context"
	"errors"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
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
}

// triesKey is the context's key of the tries that a try belongs to.
type triesKey struct{}

// watched returns a context whose tries are counted.
func watched(ctx context.Context) (context.Context, *tries) {
	t := new(tries)
	return context.WithValue(ctx, triesKey{}, t), t
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
	if err == nil || t.seen == 0 || t.lost > 0 {
		return err
	}
	return &unwrittenError{err}
}

// judgeOwned is judge for a transaction with a record whose owner can still write it. A
// cancellation then speaks for the lost tries as well: had one been applied, their
// common token would have made the answer a success; and one that is still under way
// the owner's next write brings to an end. Other refusals come before the token is
// looked at, and say nothing of earlier tries.
func (t *tries) judgeOwned(err error) error {
	if _, canceled := errors.AsType[*types.TransactionCanceledException](err); canceled {
		return &unwrittenError{err}
	}
	return t.judge(err)
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
