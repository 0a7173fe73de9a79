package dynamostore

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// Values that most requests have are made once.

// currentVersion and firstAttempt are the same in every request: the SDK only reads what it
// sends.
var currentVersion, firstAttempt = number(version), number(1)

// completed is the status of most records that are written a second time.
var completed = text(string(persistence.StatusCompleted))

func statusOf(s persistence.Status) types.AttributeValue {
	if s == persistence.StatusCompleted {
		return completed
	}
	return text(string(s))
}

// counter is the number of an attempt.
func counter(attempt int) types.AttributeValue {
	if attempt == 1 {
		return firstAttempt
	}
	return number(int64(attempt))
}
