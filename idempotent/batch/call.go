package batch

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// itemCall is the guarded call of an item, and what came of it.
type itemCall struct {
	item int

	ran      bool             // the function was called
	err      error            // of the call
	event    idempotent.Event // the last one: what became of the record
	panicked *ItemPanic
	returned bool // neither panicked nor ended its goroutine
}

// attempt runs an item. A panic stops here, after the guard has released the record: in
// this goroutine it would end the process before the others are settled.
func (s *start) attempt(ctx context.Context, a *itemCall, settled chan<- *itemCall) {
	defer func() {
		if value := recover(); value != nil {
			a.panicked = &ItemPanic{ID: s.ids[a.item], Value: value, Stack: debug.Stack()}
		}
		settled <- a
	}()
	guard := s.ahead(a.item).Observing(func(_ context.Context, e idempotent.Event) { a.event = e })
	a.err = guard.DoAs(ctx, s.identity(a.item), func(ctx context.Context) error {
		a.ran = true
		return s.run(ctx, a.item)
	})
	a.returned = true
}

// identity is what an item is recognised by.
func (s *start) identity(item int) idempotent.Identity {
	return s.guard.IdentifyItem(s.name, s.ids[item], s.content(item))
}

// identityAhead is what an item is recognised by, for a call of any other. One that panics has
// none yet: it panics in its own.
func (s *start) identityAhead(item int) (id idempotent.Identity) {
	defer func() { _ = recover() }()
	return s.identity(item)
}

// outcome says what an attempt has come to. The errors alone don't tell: the function
// may return any of the guard's as its own.
func (a *itemCall) outcome() itemOutcome {
	kind := a.event.Kind
	switch {
	case !a.returned:
		return itemPending
	case kind == idempotent.EventReplayed && (a.err == nil || errors.Is(a.err, idempotent.ErrResultNotStored)):
		return itemReplayed
	case a.err == nil:
		return itemDone
	case (kind == idempotent.EventExecuted || kind == idempotent.EventReplayed) && errors.Is(a.err, idempotent.ErrPermanent):
		return itemPermanent
	case kind == idempotent.EventInProgress:
		return itemHeld
	case !a.ran && errors.Is(a.err, idempotent.ErrNotStarted):
		return itemPending
	default:
		return itemFailed
	}
}

// storeFault is why the store failed in the attempt; nil where it did not, or where it
// was this item's record that it could do nothing with.
func (a *itemCall) storeFault() error {
	switch {
	case a.event.Kind != idempotent.EventStoreFailed && a.event.Kind != idempotent.EventNotStored:
		return nil
	case errors.Is(a.event.Err, persistence.ErrUnreadable),
		errors.Is(a.event.Err, persistence.ErrInvalid),
		errors.Is(a.event.Err, persistence.ErrTooLarge):
		return nil
	default:
		return a.event.Err
	}
}
