package idempotent_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// Crash matrix: the process dies before and after each of its store calls, and
// then a retry comes, at once and after the lease.
func TestTheProcessMayDieAtAnyStoreCall(t *testing.T) {
	type outcome struct {
		atOnce     error  // of a retry at once; nil: it gets atOnceRun
		atOnceRun  string // "" where atOnce is an error
		afterLease string
	}
	tests := map[string]struct {
		fails bool // the first run's handler fails, so that it releases
		call  string
		after bool
		want  outcome
	}{
		"before acquiring":  {call: "acquire", want: outcome{nil, "second", "second"}},
		"after acquiring":   {call: "acquire", after: true, want: outcome{idempotent.ErrInProgress, "", "third"}},
		"before completing": {call: "complete", want: outcome{idempotent.ErrInProgress, "", "third"}},
		"after completing":  {call: "complete", after: true, want: outcome{nil, "first", "first"}},
		"before releasing":  {fails: true, call: "release", want: outcome{idempotent.ErrInProgress, "", "third"}},
		"after releasing":   {fails: true, call: "release", after: true, want: outcome{nil, "second", "second"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
				dying := lab.NewKeylessGuard(t, &mortal{Store: store, call: test.call, after: test.after}, idempotent.Config{})
				died := make(chan struct{})
				go func() {
					defer close(died)
					_, _ = idempotent.Do(within(t, 2*time.Second), dying, "k", func(context.Context) (string, error) {
						if test.fails {
							return "", errTryAgain
						}
						return "first", nil
					})
					t.Error("the process survived")
				}()
				<-died
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
				retry := func(name string) (string, error) {
					return idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) { return name, nil })
				}
				got, err := retry("second")
				if !errors.Is(err, test.want.atOnce) || got != test.want.atOnceRun {
					t.Errorf("at once: %q, %v, want %q, %v", got, err, test.want.atOnceRun, test.want.atOnce)
				}
				time.Sleep(4 * time.Second) // virtual
				if got, err := retry("third"); err != nil || got != test.want.afterLease {
					t.Errorf("after the lease: %q, %v, want %q", got, err, test.want.afterLease)
				}
			})
		})
	}
}

// mortal is a store of a process that dies at one of its calls: the goroutine
// ends there, and whatever its defers still ask of the store never gets out.
type mortal struct {
	persistence.Store
	call  string
	after bool
	dead  bool
}

func (m *mortal) die(call string, do func()) {
	if m.dead {
		runtime.Goexit()
	}
	if m.dead = call == m.call; m.dead && !m.after {
		runtime.Goexit()
	}
	do()
	if m.dead {
		runtime.Goexit()
	}
}

func (m *mortal) Acquire(ctx context.Context, c persistence.Claim) (r persistence.Record, err error) {
	m.die("acquire", func() { r, err = m.Store.Acquire(ctx, c) })
	return r, err
}

func (m *mortal) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) (err error) {
	m.die("complete", func() { err = m.Store.Complete(ctx, l, o) })
	return err
}

func (m *mortal) Release(ctx context.Context, l persistence.Lease) (err error) {
	m.die("release", func() { err = m.Store.Release(ctx, l) })
	return err
}
