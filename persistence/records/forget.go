package records

import (
	"context"
	"errors"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Forget plans to remove a record: the next request of its key runs, whatever has happened
// before. [*RunningError] while a lease is live.
func (d *Desk) Forget(_ context.Context, shown Record) (*Plan, error) {
	p, err := d.plan(shown)
	if err != nil {
		return nil, err
	}
	p.does("Remove the record: the next request with its key runs as if there had been none.")
	switch shown.State {
	case StateCompleted, StateFailed:
		p.note("environments that have it in their memory (package cached) replay it until it expires, or until they end.")
	case StateDied:
		p.note("whether its run has had its effect is not known; it may have it twice then.")
	}
	if done := namesIn(shown.Steps, PhaseFinished); done != "" {
		p.note("%s has happened, and will happen again.", done)
	}
	if open := namesIn(shown.Steps, PhaseStarted); open != "" {
		p.note("of %s it is not known whether it has happened; it may happen twice then.", open)
	}
	p.do = func(ctx context.Context) (Record, error) { return Record{}, d.remove(ctx, shown.stored) }
	return p, nil
}

func (d *Desk) remove(ctx context.Context, seen persistence.Record) error {
	err := d.forget.Forget(ctx, seen)
	switch {
	case errors.Is(err, persistence.ErrLeaseLost):
		return d.changed(ctx, seen.Key)
	case err != nil:
		return failed(seen.Key, "removing the record", err)
	}
	if cache, ok := d.store.(storekit.Refresher); ok {
		_, _, _ = cache.Refresh(ctx, seen.Key) // its own process is the only one that this reaches
	}
	return nil
}
