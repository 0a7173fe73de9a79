package batch

import (
	"context"
	"errors"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/relay"
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

// attempt runs an item.
func (s *start) attempt(ctx context.Context, a *itemCall) {
	guard := s.ahead(a.item).Observing(func(_ context.Context, e idempotent.Event) { a.event = e })
	a.err = guard.DoAs(ctx, s.identity(a.item), func(ctx context.Context) error {
		a.ran = true
		return s.run(ctx, a.item)
	})
}

// ended notes how an attempt has ended. A panic stops here, after the guard has released the
// record: it goes on when the others are settled.
func (s *start) ended(a *itemCall, e relay.Ending) {
	a.returned = e.Returned()
	if e.Panicked {
		a.panicked = &ItemPanic{ID: s.ids[a.item], Value: e.Value, Stack: e.Stack}
	}
}

// identity is what an item is recognised by.
func (s *start) identity(item int) idempotent.Identity {
	return s.guard.IdentifyItem(s.name, s.ids[item], s.content(item))
}

// identityAhead is what an item is recognised by, for a call of any other. One that panics, or ends
// its goroutine, has none yet: it does so in its own.
func (s *start) identityAhead(item int) (id idempotent.Identity) {
	_ = relay.Run(func() { id = s.identity(item) })
	return id
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
