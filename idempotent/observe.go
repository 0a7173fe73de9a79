package idempotent

import (
	"context"
	"log/slog"
	"strings"
)

// report tells the observers and the logger of an event of a call, on its goroutine.
func (g *Guard) report(ctx context.Context, e Event) {
	g.reportWithin(ctx, e)
	if g.observe != nil {
		e.Operation = g.config.Operation
		g.observe(ctx, e)
	}
}

// reportWithin is report for what happens while the function runs, on whatever goroutine:
// adapters observe calls only.
func (g *Guard) reportWithin(ctx context.Context, e Event) {
	e.Operation = g.config.Operation
	g.log(ctx, e)
	if g.config.Observe != nil {
		g.config.Observe(ctx, e)
	}
}

func (g *Guard) logger() *slog.Logger {
	if g.config.Logger == nil {
		return slog.Default()
	}
	return g.config.Logger
}

// log writes an event. The message is for people; filters go by the attributes "event"
// and "code". The default logger is looked up now, because a guard may have been made
// before main has set it.
func (g *Guard) log(ctx context.Context, e Event) {
	logger := g.logger()
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
