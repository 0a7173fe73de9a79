package idempotent_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
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
