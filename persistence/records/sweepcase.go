package records

import (
	"context"
	"errors"
	"time"
)

// deal resumes a request that was found in a list, or says why it is not.
func (w *sweeping) deal(ctx context.Context, found Record) Case {
	if found.Unreadable != "" {
		return Case{Record: found, Fate: FateAbandoned, Why: WhyUnreadable}
	}
	r, err := w.desk.Show(ctx, found.Key) // with its event, which a list does not have
	switch gone := (*NotFoundError)(nil); {
	case errors.As(err, &gone):
		return Case{Record: found, Fate: FateChanged}
	case err != nil:
		return Case{Record: found, Fate: FateLeft, Err: err}
	case r.Stuck == NotStuck:
		return Case{Record: r, Fate: FateChanged}
	case w.tooSoon(r):
		return Case{Record: r, Fate: FateLeft}
	}
	if why := w.hopeless(r); why != "" {
		return Case{Record: r, Fate: FateAbandoned, Why: why}
	}
	var unsent error
	plan, err := w.desk.Resume(ctx, r, Resumption{Invoke: func(ctx context.Context, event []byte) error {
		unsent = w.send(ctx, r, event)
		return unsent
	}})
	if err != nil {
		return w.notDone(r, err)
	}
	if err := w.rest(ctx); err != nil {
		return Case{Record: r, Fate: FateLeft, Err: err}
	}
	after, err := plan.Do(ctx)
	switch {
	case after.State == StateCompleted, after.State == StateFailed:
		return Case{Record: after, Fate: FateEnded, Err: err}
	case err == nil && after.Key == "": // its guard keeps no outcome
		return Case{Record: r, Fate: FateEnded}
	case err != nil && after.Version == r.Version && unsent == nil:
		return Case{Record: after, Fate: FateAbandoned, Why: WhyRefused, Err: err}
	case err != nil && (after.Key == "" || after.Version == r.Version):
		return w.notDone(r, err)
	default: // it has run, and has not come to its end
		return Case{Record: after, Fate: FateLeft, Err: err}
	}
}

// tooSoon tells whether a request's client may yet come back by itself.
func (w *sweeping) tooSoon(r Record) bool {
	return w.desk.config.Now().Add(-w.After).Before(later(r.LeaseUntil, r.StartedAt))
}

// hopeless says why a request is not to be sent, if so.
func (w *sweeping) hopeless(r Record) string {
	now := w.desk.config.Now()
	switch {
	case r.Event == nil:
		return WhyNoEvent
	case r.Attempt >= w.MaxAttempts:
		return WhyAttempts
	case !r.StartedAt.IsZero() && now.Sub(r.StartedAt) > w.MaxAge:
		return WhyAge
	case !r.ExpiresAt.IsZero() && r.ExpiresAt.Sub(now) < w.Reserve:
		return WhyExpires
	case r.Stuck == StuckUnknown && !w.SendUnknown:
		return WhyUnknown
	default:
		return ""
	}
}

// rest is the pause after an event that was sent.
func (w *sweeping) rest(ctx context.Context) error {
	if w.swept.Sent == 0 {
		return ctx.Err()
	}
	rest := time.NewTimer(w.Pause)
	defer rest.Stop()
	select {
	case <-rest.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *sweeping) send(ctx context.Context, r Record, event []byte) error {
	err := w.Send(ctx, r, event)
	if !errors.Is(err, ErrNoFunction) {
		w.swept.Sent++
	}
	return err
}

// notDone says what an error of a plan means.
func (w *sweeping) notDone(r Record, err error) Case {
	var changed *ChangedError
	var running *RunningError
	var refused *RefusedError
	switch {
	case errors.As(err, &changed), errors.As(err, &running):
		return Case{Record: r, Fate: FateChanged, Err: err}
	case errors.Is(err, ErrNoFunction):
		return Case{Record: r, Fate: FateAbandoned, Why: WhyNoFunction, Err: err}
	case errors.As(err, &refused), errors.Is(err, ErrFunctionFailed):
		return Case{Record: r, Fate: FateAbandoned, Why: WhyRefused, Err: err}
	default:
		return Case{Record: r, Fate: FateLeft, Err: err}
	}
}
