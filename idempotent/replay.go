package idempotent

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
)

// Replay is a stored result about to be answered.
type Replay struct {
	Operation string
	Record    persistence.Record
}

// replay answers from a finished record.
func (g *Guard) replay(ctx context.Context, r persistence.Record) (*replayed, error) {
	event := Event{Kind: Replayed, Key: r.Key, Attempt: r.Attempt}
	if r.ResultOmitted {
		event.Err = &ResultNotStoredError{Key: r.Key}
		g.report(ctx, event)
		return nil, event.Err
	}
	if r.Status == persistence.StatusFailed {
		event.Err = replayFailure(r.Key, r.Result)
		g.report(ctx, event)
		return nil, event.Err
	}
	result := r.Result
	if g.config.OnReplay != nil {
		var err error
		if result, err = g.config.OnReplay(ctx, Replay{Operation: g.config.Operation, Record: r}); err != nil {
			return nil, err
		}
	}
	g.report(ctx, event)
	return &replayed{key: r.Key, result: result}, nil
}
