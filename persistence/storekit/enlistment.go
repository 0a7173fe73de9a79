package storekit

import (
	"context"
	"fmt"
	"sync"

	"github.com/ikkai-go/idempotency/persistence"
)

// Enlistment collects the writes of a run, or of one of its steps, until they are
// committed. Safe for concurrent use.
type Enlistment struct {
	mu     sync.Mutex
	writes []Write
	closed bool
}

// Close ends the enlistment and returns what was enlisted, in order. Nothing is
// enlisted with a nil Enlistment.
func (e *Enlistment) Close() []Write {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return e.writes
}

// Drop forgets what was enlisted so far: it belongs to a part of the run that was undone.
// More can be enlisted after it.
func (e *Enlistment) Drop() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writes = nil
}

type enlistmentKey struct{}

// WithEnlistment returns a context in which [Enlist] adds to e. With nil, nothing
// can be enlisted, also not with an enlistment further out.
func WithEnlistment(ctx context.Context, e *Enlistment) context.Context {
	if e == nil && ctx.Value(enlistmentKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, enlistmentKey{}, e)
}

// Enlisting returns a context in which [Enlist] adds to an Enlistment that is made with it, in
// one allocation.
func Enlisting(ctx context.Context) (context.Context, *Enlistment) {
	e := &enlisting{Context: ctx}
	return e, &e.enlistment
}

type enlisting struct {
	context.Context //nolint:containedctx // it is one
	enlistment      Enlistment
}

// Value implements [context.Context].
func (e *enlisting) Value(key any) any {
	if key == (enlistmentKey{}) {
		return &e.enlistment
	}
	return e.Context.Value(key)
}

// Enlist adds writes to those that will commit together with the record of the
// run that ctx belongs to. It is for stores, which offer it in their own terms:
// check judges all writes that would then be enlisted, and its error refuses the
// new ones. [persistence.ErrNotEnlisted] where ctx belongs to no run whose store commits
// writes, and where the run, or the step, is over.
func Enlist(ctx context.Context, check func([]Write) error, writes ...Write) error {
	e, _ := ctx.Value(enlistmentKey{}).(*Enlistment)
	if e == nil {
		return fmt.Errorf("%w: no guarded call whose store commits writes", persistence.ErrNotEnlisted)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fmt.Errorf("%w: the run or its step is over", persistence.ErrNotEnlisted)
	}
	all := append(e.writes, writes...) //nolint:gocritic // what was handed out by Close is never appended to
	if err := check(all); err != nil {
		return err
	}
	e.writes = all
	return nil
}
