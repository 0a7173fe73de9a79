package idempotent

import (
	"context"
	"log/slog"
	"time"
)

// Event is something that happened to a guarded call, for metrics and tests.
type Event struct {
	Kind      EventKind
	Operation string
	// Key is the record's key; empty where there is none.
	Key string
	// Step is the step that it happened to, if it was one.
	Step string
	// Attempt counts the acquisitions of the record; 0 where it is not known.
	Attempt int
	// Elapsed is how long the function ran (Executed, Released, LeaseLost,
	// NotStored) or how long the call waited (Waited).
	Elapsed time.Duration
	// ExpiresAt is until when the outcome answers duplicates (Executed, Replayed, and
	// NotStored where the outcome is recorded without its result); zero elsewhere.
	ExpiresAt time.Time
	// Err is what went wrong, if anything did.
	Err error
}

// EventKind says what happened.
type EventKind string

const (
	// Executed says that the function ran, and its outcome is recorded.
	Executed EventKind = "executed"
	// Replayed says that a recorded outcome was the answer.
	Replayed EventKind = "replayed"
	// Waited says that a duplicate waited for the run it duplicates. What came of it is
	// the next event.
	Waited EventKind = "waited"
	// InProgress says that a duplicate was turned away because the first still runs.
	InProgress EventKind = "in progress"
	// Mismatch says that a duplicate with another payload was turned away.
	Mismatch EventKind = "mismatch"
	// TakenOver says that an earlier run did not finish; this call runs again or resumes.
	TakenOver EventKind = "taken over"
	// Released says that the function ran and did not finish, or could not start; a retry
	// may run at once.
	Released EventKind = "released"
	// LeaseLost says that the function ran, but somebody else owns the record by now.
	LeaseLost EventKind = "lease lost"
	// NotStored says that the function ran, but its result could not be stored.
	NotStored EventKind = "not stored"
	// Unprotected says that the function ran without a record.
	Unprotected EventKind = "unprotected"
	// OutcomeUnknown says that a call was refused because an earlier run did not finish.
	OutcomeUnknown EventKind = "outcome unknown"
	// StoreFailed says that a call of the store failed.
	StoreFailed EventKind = "store failed"
	// PartialSuccess is Released where finished steps are kept: a retry resumes them.
	PartialSuccess EventKind = "partial success"
	// StepExecuted says that a step ran, and that its output is recorded.
	StepExecuted EventKind = "step executed"
	// StepReplayed says that a step was finished before, and its output returned.
	StepReplayed EventKind = "step replayed"
	// Compensated says that a step was undone.
	Compensated EventKind = "compensated"
	// CompensationFailed says that a step could not be undone yet.
	CompensationFailed EventKind = "compensation failed"
)

// level is how loud an event is logged.
func (k EventKind) level() slog.Level {
	switch k {
	case LeaseLost, StoreFailed, CompensationFailed:
		return slog.LevelError
	case Mismatch, TakenOver, NotStored, Unprotected, OutcomeUnknown, PartialSuccess, Compensated:
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

type observerKey struct{}

// WithObserver returns a context in which one guarded call tells observe its events,
// on the goroutine of the call and after Config.Observe. Calls that the guarded
// function makes in turn are not among them, nor are those of its steps.
//
// It is for adapters: the function's own error comes out unchanged, and only the
// events tell what became of its record. A permanent failure is recorded if the last
// event is Executed or Replayed.
func WithObserver(ctx context.Context, observe func(context.Context, Event)) context.Context {
	return context.WithValue(ctx, observerKey{}, observe)
}

// withoutObserver is for the guarded function, whose own calls are not the observed one.
func withoutObserver(ctx context.Context) context.Context {
	if ctx.Value(observerKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, observerKey{}, nil)
}

// report tells the observers and the logger.
func (g *Guard) report(ctx context.Context, e Event) {
	e.Operation = g.config.Operation
	if level := e.Kind.level(); g.config.Logger.Enabled(ctx, level) {
		attrs := []slog.Attr{slog.String("operation", e.Operation), slog.String("key", e.Key)}
		if e.Step != "" {
			attrs = append(attrs, slog.String("step", e.Step))
		}
		if e.Attempt > 0 {
			attrs = append(attrs, slog.Int("attempt", e.Attempt))
		}
		if e.Elapsed > 0 {
			attrs = append(attrs, slog.Duration("elapsed", e.Elapsed))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.Any("error", e.Err))
		}
		g.config.Logger.LogAttrs(ctx, level, "idempotency: "+string(e.Kind), attrs...)
	}
	if g.config.Observe != nil {
		g.config.Observe(ctx, e)
	}
	if observe, ok := ctx.Value(observerKey{}).(func(context.Context, Event)); ok && observe != nil {
		observe(ctx, e)
	}
}
