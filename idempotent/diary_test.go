package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

var errBroken = errors.New("broken")

// diary is what the steps of a test have done, in order.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, fmt.Sprintf(format, args...))
}

// wantKinds compares what was reported since the last call.
func wantKinds(t *testing.T, log *lab.EventLog, want ...idempotent.EventKind) {
	t.Helper()
	if got := log.Kinds(); !slices.Equal(got, want) {
		t.Errorf("events: %v, want %v", got, want)
	}
}

// unreachable is a store that can't be reached.
type unreachable struct{ persistence.Store }

func (unreachable) Acquire(context.Context, persistence.Claim) (persistence.Record, error) {
	return persistence.Record{}, &persistence.Fault{Op: "acquire", Retryable: true, Err: errBroken}
}

func (unreachable) Complete(context.Context, persistence.Lease, persistence.Outcome) error {
	return &persistence.Fault{Op: "complete", Retryable: true, Err: errBroken}
}

func (unreachable) Release(context.Context, persistence.Lease) error {
	return &persistence.Fault{Op: "release", Retryable: true, Err: errBroken}
}
