package idempotent_test

import (
	"context"
	"runtime"

	"github.com/ikkai-go/idempotency/persistence"
)

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
