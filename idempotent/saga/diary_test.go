package saga_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
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

// wants compares the diary since the last call.
func (d *diary) wants(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.entries, want) {
		t.Errorf("done: %q, want %q", d.entries, want)
	}
	d.entries = nil
}

// step is a step that writes its name into a diary and returns it in upper case.
func (d *diary) step(ctx context.Context, name string) (string, error) {
	return lab.Named[string](name).Run(ctx, func(context.Context, saga.Call) (string, error) {
		d.note("%s", name)
		return strings.ToUpper(name), nil
	})
}

// failing is a step that fails.
func (d *diary) failing(ctx context.Context, name string, err error) (string, error) {
	return lab.Named[string](name).Run(ctx, func(context.Context, saga.Call) (string, error) {
		d.note("%s fails", name)
		return "", err
	})
}

// elsewhere is the store as another environment has it.
func elsewhere(store persistence.Store) persistence.Store {
	front := storekit.NewFront(store)
	return &front
}

// wantKinds compares what was reported since the last call.
func wantKinds(t *testing.T, log *lab.EventLog, want ...idempotent.EventKind) {
	t.Helper()
	if got := log.Kinds(); !slices.Equal(got, want) {
		t.Errorf("events: %v, want %v", got, want)
	}
}
