package dynamostore

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
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
	if _, refused := errors.AsType[*persistence.RefusedError](err); refused || errors.Is(err, persistence.ErrInvalid) {
		return err
	}
	if tooLarge(err) {
		return errors.Join(persistence.ErrTooLarge, err)
	}
	_, unwritten := errors.AsType[*unwrittenError](err)
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		err = fmt.Errorf("a table that it names is not in this account and Region: %w", err)
	}
	return &persistence.Fault{Op: op, Retryable: retryable(err), Unwritten: unwritten, Err: err}
}

const failedCondition = "ConditionalCheckFailed" // a cancellation reason

var failedConditionCode = aws.String(failedCondition)

// conditionFailed tells whether a write was refused by its condition, and
// returns the item in its way if the endpoint says so.
func conditionFailed(err error) (item, bool) {
	_, reason, known := decisive(err)
	if known && aws.ToString(reason.Code) == failedCondition {
		return reason.Item, true
	}
	return nil, false
}

// decisive returns why a write, or a transaction, was refused: of several reasons
// the first, in the order of the writes, and its index. The record comes before the
// application's writes and decides therefore: where it is finished already, what
// they meet is perhaps their own effect, and while another transaction holds it,
// nobody knows.
func decisive(err error) (index int, reason types.CancellationReason, known bool) {
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return 0, types.CancellationReason{Code: failedConditionCode, Item: failed.Item}, true
	}
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return 0, reason, false
	}
	for i, r := range canceled.CancellationReasons {
		if code := aws.ToString(r.Code); code != "" && code != "None" {
			return i, r, true
		}
	}
	return 0, reason, false
}

// unexplained tells whether a transaction was cancelled without a reason. DAX and
// older endpoints give none.
func unexplained(err error) bool {
	_, canceled := errors.AsType[*types.TransactionCanceledException](err)
	_, _, known := decisive(err)
	return canceled && !known
}

// The errors, and the cancellation reasons, of a table that would serve the same request a
// moment later. The request was not applied.
var (
	// throttleCodes are of more than the table, or one item of it, bears.
	throttleCodes = []string{
		"ProvisionedThroughputExceeded", "ProvisionedThroughputExceededException",
		"ThrottlingError", "ThrottlingException", "Throttling",
		"RequestLimitExceeded",
	}
	// conflictCodes are of another write that was under way.
	conflictCodes = []string{
		"TransactionConflict", "TransactionConflictException",
		"TransactionInProgressException",
		"ReplicatedWriteConflictException",
	}
)

func busy(err error) bool { return throttled(err) || coded(err, conflictCodes) }

func throttled(err error) bool { return coded(err, throttleCodes) }

// coded tells whether an error, or what has decided about a transaction, is one of these.
func coded(err error, codes []string) bool {
	if _, reason, known := decisive(err); known {
		return slices.Contains(codes, aws.ToString(reason.Code))
	}
	failure, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains(codes, failure.ErrorCode())
}

// transient is what the SDK takes for errors that pass.
var transient = retry.IsErrorRetryables(retry.DefaultRetryables)

// passing tells whether the same request may be answered a moment later: the table was too
// busy, the service failed, the connection broke, or its answer did. It may have been
// applied, but for a refusal.
func passing(err error) bool {
	if _, _, refused := decisive(err); refused || busy(err) {
		return busy(err)
	}
	_, garbled := errors.AsType[*smithy.DeserializationError](err)
	return garbled || transient.IsErrorRetryable(err) == aws.TrueTernary
}

// retryable tells whether the same request may succeed later: not where DynamoDB
// has answered with a refusal (permissions, no such table, validation).
func retryable(err error) bool {
	if errors.Is(err, persistence.ErrUnreadable) {
		return false
	}
	if busy(err) || unexplained(err) {
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
	message := ""
	if _, reason, known := decisive(err); known {
		if aws.ToString(reason.Code) == "ValidationError" {
			message = aws.ToString(reason.Message)
		}
	} else if failure, ok := errors.AsType[smithy.APIError](err); ok && failure.ErrorCode() == validation {
		message = failure.ErrorMessage()
	}
	return strings.HasPrefix(strings.ToLower(message), "item size ")
}

const validation = "ValidationException"
