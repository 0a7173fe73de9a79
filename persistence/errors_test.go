package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
)

func TestAnErrorTellsWhetherTheSameCallMaySucceedLater(t *testing.T) {
	refused := &persistence.Fault{Op: "acquire", Err: errors.New("access denied")}
	throttled := &persistence.Fault{Op: "acquire", Retryable: true, Err: errors.New("throttled")}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{throttled, true},
		{fmt.Errorf("payment: %w", throttled), true},
		{refused, false},
		{fmt.Errorf("payment: %w", refused), false},
		{&persistence.Fault{Op: "read", Err: persistence.ErrUnreadable}, false},
		{persistence.ErrInvalid, false},
		{fmt.Errorf("%w: claim without a key", persistence.ErrInvalid), false},
		{persistence.ErrLeaseLost, false},
		{persistence.ErrTooLarge, false},
		{fmt.Errorf("%w: 450000 bytes", persistence.ErrTooLarge), false},
		{context.DeadlineExceeded, true},
		{errors.New("of a store that says nothing"), true},
	} {
		if got := persistence.Retryable(tt.err); got != tt.want {
			t.Errorf("%v: want retryable %v, got %v", tt.err, tt.want, got)
		}
	}
}

func TestAFaultNamesTheCallAndWrapsItsCause(t *testing.T) {
	var err error = &persistence.Fault{Op: "complete", Retryable: true, Err: context.DeadlineExceeded}
	if want := "persistence: complete: context deadline exceeded"; err.Error() != want {
		t.Errorf("want %q, got %q", want, err)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error("the cause can't be found in the fault")
	}
}
