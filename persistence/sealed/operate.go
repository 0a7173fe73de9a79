package sealed

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

var _ storekit.Opener = (*Store)(nil)

// Open implements [storekit.Opener]: it opens the result, all steps and the event, as far as the
// record of the store behind has them.
func (s *Store) Open(ctx context.Context, r persistence.Record) (persistence.Record, error) {
	steps, event := r.Steps, r.Event
	r.Steps = nil
	r, err := s.record(ctx, "open", r)
	if err != nil {
		return r, err
	}
	if len(steps) > 0 {
		all := r
		all.Steps = steps
		if r.Steps, err = s.steps(ctx, "open", all); err != nil {
			return r, err
		}
	}
	if len(event) > 0 {
		r.Event, err = s.open(ctx, "open", event, eventOf(r.Key))
	}
	return r, err
}

// withEvent returns a claim with its event sealed. One that can't be sealed is not kept: nothing
// depends on it but whether somebody can resume the record without its client. A record's event
// stays sealed in all answers, since no run needs it.
func (s *Store) withEvent(ctx context.Context, c persistence.Claim) persistence.Claim {
	if len(c.Event) == 0 {
		return c
	}
	sealed, err := s.seal(ctx, c.Event, eventOf(c.Key))
	if err != nil {
		sealed = nil
	}
	c.Event = sealed
	return c
}

// eventOf is the place of a kept event, which stays while owners change. No step has a name
// with a colon.
func eventOf(key string) Place { return Place{Key: key, Step: ":event"} }
