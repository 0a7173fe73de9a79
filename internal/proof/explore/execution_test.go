package explore_test

import (
	"testing"

	. "github.com/ikkai-go/idempotency/internal/proof/explore"
)

// A lease that ends with the invocation lets another execution begin beside one that is
// suspended: the lock of the four Powertools is no longer than that.
func TestAnExecutionWhoseLeaseEndsWithItsInvocationDoesNotKeepOthersOut(t *testing.T) {
	const how = "leases end with the invocation"
	mustBreak(t, spoiled{hurries: true}.in(OnMemory(plain).Executions(), how), Bounds{Callers: 2, Passes: 1}, Beside)
}

// A record that its execution has not given up locks its key for as long as that might have lived.
func TestAnExecutionThatFailsBeforeItsRecordIsGivenUpLeavesItLocked(t *testing.T) {
	const how = "releases are not carried out"
	mustBreak(t, spoiled{keeps: true}.in(OnMemory(plain).Executions(), how), Bounds{Callers: 1}, Freed)
}
