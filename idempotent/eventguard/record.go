package eventguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/ikkai-go/idempotency/idempotent"
)

// record is one record of an event, of whatever source.
type record struct {
	id       string // by which the source is told that it failed
	identity idempotent.Identity
	run      func(context.Context) error
	err      error // why it can't be run, if it can't
}

// processor runs records under a guard.
type processor struct {
	guard  *idempotent.Guard
	config Config
}

// newProcessor checks what a constructor was given.
func newProcessor(guard *idempotent.Guard, config Config, s source, missing bool) (processor, error) {
	var faults []error
	if guard == nil {
		faults = append(faults, fmt.Errorf("%w: no guard", idempotent.ErrConfig))
	}
	if missing {
		faults = append(faults, fmt.Errorf("%w: no function", idempotent.ErrConfig))
	}
	if err := errors.Join(append(faults, config.check(s))...); err != nil {
		return processor{}, fmt.Errorf("eventguard: %w", err)
	}
	return processor{guard: guard, config: config.withDefaults()}, nil
}

// attempt runs a record of a batch, unless it is too late or was done before.
// It returns nil where the source need not deliver the record again.
func (p processor) attempt(ctx context.Context, w window, r record) error {
	if err := w.late(ctx); err != nil {
		return err
	}
	return contain(func() error {
		return p.settle(ctx, r, func(ctx context.Context) error {
			// Acquiring takes its time, and waiting for another run more.
			if err := w.late(ctx); err != nil {
				return err // which releases the record
			}
			ctx, cancel := w.bound(ctx)
			defer cancel()
			return r.run(ctx)
		})
	})
}

// settle takes a record through the guard's protocol and decides, in this one
// place, which outcomes count as done.
func (p processor) settle(ctx context.Context, r record, run func(context.Context) error) error {
	if r.err != nil {
		return r.err
	}
	var last idempotent.EventKind
	observed := idempotent.WithObserver(ctx, func(_ context.Context, e idempotent.Event) { last = e.Kind })
	// Whatever result an operation has stored, a raw message can hold it.
	_, err := idempotent.DoAs(observed, p.guard, r.identity, func(ctx context.Context) (json.RawMessage, error) {
		return nil, run(ctx)
	})
	switch {
	case last == idempotent.EventReplayed && errors.Is(err, idempotent.ErrResultNotStored):
		return nil
	case p.config.OnPermanent == AcknowledgePermanent && permanent(err) && final(last):
		p.config.Logger.LogAttrs(ctx, slog.LevelWarn, "idempotency: acknowledged a permanent failure",
			slog.String("record", r.id), slog.Any("error", err))
		return nil
	default:
		return err
	}
}

// permanent tells whether the engine takes an error for a permanent failure: not one
// that still has to be undone.
func permanent(err error) bool {
	failure, ok := errors.AsType[*idempotent.PermanentError](err)
	return ok && failure != nil && !errors.Is(err, idempotent.ErrCompensation)
}

// final tells whether nothing but what is recorded can become of a call whose last
// event that is; or whether there is to be no record. A failure whose record was
// lost or not written comes back: somebody else may be running it.
func final(last idempotent.EventKind) bool {
	return last == idempotent.EventExecuted || last == idempotent.EventReplayed || last == idempotent.EventUnprotected
}

// contain runs fn so that neither its panic nor the end of its goroutine takes
// the other records of the batch along.
func contain(fn func() error) error {
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		returned := false
		defer func() {
			if !returned {
				err = &PanicError{Value: recover(), Stack: debug.Stack()}
			}
		}()
		err = fn()
		returned = true
	}()
	<-ended
	return err
}
