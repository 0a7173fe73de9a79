package saga

import (
	"github.com/ikkai-go/idempotency/idempotent/internal/result"
	"github.com/ikkai-go/idempotency/internal/stepentry"
)

// The names that this package has for what is recorded, and that operators read as well: see
// package stepentry.
const (
	startedSuffix     = stepentry.Started
	declinedSuffix    = stepentry.Declined
	compensatedSuffix = stepentry.Compensated
	unwindingEntry    = stepentry.Unwinding
	compensationEntry = stepentry.Compensation
)

type (
	entry               = stepentry.Entry
	decision            = stepentry.Decision
	compensationFailure = stepentry.CompensationFailure
)

// mustEncodeEntry encodes an entry of text and numbers, which always encodes.
func mustEncodeEntry(e any) []byte {
	stored, err := result.JSON(e)
	if err != nil {
		panic(err)
	}
	return stored
}
