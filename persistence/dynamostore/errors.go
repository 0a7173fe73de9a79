package dynamostore

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/ikkai-go/idempotency/persistence"
)

// errContended ends an operation whose record kept changing under it.
var errContended = errors.New("the record kept changing")

// fault translates what a request came back with.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if tooLarge(err) {
		return errors.Join(persistence.ErrTooLarge, err)
	}
	return &persistence.Fault{Op: op, Retryable: retryable(err), Err: err}
}

// conditionFailed tells whether a write was refused by its condition, and
// returns the item in its way if the endpoint says so. A transaction reports the
// same thing as one of its reasons.
func conditionFailed(err error) (item, bool) {
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return failed.Item, true
	}
	for _, reason := range cancellationReasons(err) {
		if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
			return reason.Item, true
		}
	}
	return nil, false
}

func cancellationReasons(err error) []types.CancellationReason {
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return canceled.CancellationReasons
	}
	return nil
}

// busyCodes are the errors, and the cancellation reasons, of a table that would
// serve the same request a moment later. The request was not applied.
var busyCodes = []string{
	"TransactionConflict", "TransactionConflictException",
	"TransactionInProgressException",
	"ReplicatedWriteConflictException",
	"ProvisionedThroughputExceeded", "ProvisionedThroughputExceededException",
	"ThrottlingError", "ThrottlingException", "Throttling",
	"RequestLimitExceeded",
}

func busy(err error) bool {
	if _, failed := conditionFailed(err); failed {
		return false
	}
	isBusy := func(r types.CancellationReason) bool { return slices.Contains(busyCodes, aws.ToString(r.Code)) }
	if slices.ContainsFunc(cancellationReasons(err), isBusy) {
		return true
	}
	failure, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains(busyCodes, failure.ErrorCode())
}

// retryable tells whether the same request may succeed later: not where DynamoDB
// has answered with a refusal (permissions, no such table, validation).
func retryable(err error) bool {
	if errors.Is(err, persistence.ErrUnreadable) {
		return false
	}
	if busy(err) {
		return true
	}
	answer, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return true
	}
	// The fault of codes that the SDK does not model, such as
	// AccessDeniedException, is unknown to it; their HTTP status tells.
	response, ok := errors.AsType[*awshttp.ResponseError](err)
	return answer.ErrorFault() == smithy.FaultServer ||
		ok && response.HTTPStatusCode() >= http.StatusInternalServerError
}

// tooLarge recognises DynamoDB's refusal of an item over its size limit, for the
// few bytes that the reckoning before the call leaves open. There is no code of
// its own for it, only "Item size has exceeded the maximum allowed size" and, for
// updates, "Item size to update has exceeded the maximum allowed size".
func tooLarge(err error) bool {
	failure, ok := errors.AsType[smithy.APIError](err)
	return ok && failure.ErrorCode() == "ValidationException" &&
		strings.HasPrefix(strings.ToLower(failure.ErrorMessage()), "item size ")
}
