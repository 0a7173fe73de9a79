package idempotent

import (
	"context"
	"log/slog"
	"strings"
)

type observerKey struct{}

// WithObserver returns a context in which one guarded call tells observe its events,
// on the goroutine of the call and after Config.Observe. Calls that the guarded
// function makes in turn are not among them, nor are those of its steps.
//
// It is for adapters: the function's own error comes out unchanged, and only the
// events tell what became of its record. A permanent failure is recorded if the last
// event is EventExecuted or EventReplayed.
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
	g.log(ctx, e)
	if g.config.Observe != nil {
		g.config.Observe(ctx, e)
	}
	if observe, ok := ctx.Value(observerKey{}).(func(context.Context, Event)); ok && observe != nil {
		observe(ctx, e)
	}
}

// log writes an event. The message is for people; filters go by the attributes "event"
// and "code". The default logger is looked up now, because a guard may have been made
// before main has set it.
func (g *Guard) log(ctx context.Context, e Event) {
	logger := g.config.Logger
	if logger == nil {
		logger = slog.Default()
	}
	level := e.Kind.level()
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs, slog.String("event", string(e.Kind)), slog.String("operation", e.Operation), slog.String("key", e.Key))
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
		attrs = append(attrs, slog.String("code", string(e.Code())), slog.Any("error", e.Err))
	}
	logger.LogAttrs(ctx, level, "idempotency: "+strings.ReplaceAll(string(e.Kind), "_", " "), attrs...)
}
