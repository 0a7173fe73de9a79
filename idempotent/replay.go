package idempotent

import (
	"context"
	"fmt"

	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Replay is a stored result about to be answered.
type Replay struct {
	Operation string             // the guard's
	Record    persistence.Record // with the result, and when it expires
}

// replay answers from a finished record, to an execution where the call is one's.
func (g *Guard) replay(ctx context.Context, r persistence.Record, of *execution) (*replayed, error) {
	result, err := g.storedAnswer(ctx, r, of)
	g.report(ctx, Event{Kind: EventReplayed, Key: r.Key, Attempt: r.Attempt, ExpiresAt: r.ExpiresAt, Err: err})
	if err != nil {
		return nil, err
	}
	return &replayed{key: r.Key, result: of.answerWith(result)}, nil
}

func (g *Guard) storedAnswer(ctx context.Context, r persistence.Record, of *execution) ([]byte, error) {
	form, _, enveloped := storekit.OpenEnvelope(r.Result)
	switch {
	case r.Status == persistence.StatusFailed:
		return nil, replayFailure(r)
	case r.ResultOmitted:
		return nil, &ResultNotStoredError{Key: r.Key}
	case of == nil && r.Execution() != "":
		return nil, &ReplayError{Key: r.Key, Result: r.Result, Err: errOfExecution}
	case enveloped:
		return nil, &ReplayError{Key: r.Key, Result: r.Result, Err: &unreadForm{form}}
	case g.config.OnReplay == nil:
		return r.Result, nil
	default:
		answer, err := g.config.OnReplay(ctx, Replay{Operation: g.config.Operation, Record: r})
		return answer, origin.PassOn(err, r.Key)
	}
}

// unreadForm says that a stored result is in a form that only a store in front can
// read.
type unreadForm struct{ form string }

func (e *unreadForm) Error() string {
	return fmt.Sprintf("it has the form %q, and no store in front has read it", e.form)
}
