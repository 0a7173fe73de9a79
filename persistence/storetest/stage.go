package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// All rules play on one day in the year 2100. A quarter of a second past the
// whole one, so that a store which confuses seconds and milliseconds is seen.
var start = time.Date(2100, time.January, 1, 0, 0, 0, 250e6, time.UTC)

const (
	leaseLength  = 30*time.Second + 500*time.Millisecond
	recordLength = time.Hour
)

// stale is a moment at which the lease of r has long ended, and r has not expired.
func stale(r persistence.Record) time.Time { return r.LeaseUntil.Add(10 * time.Second) }

// expired is a moment at which r has long expired.
func expired(r persistence.Record) time.Time { return r.ExpiresAt.Add(10 * time.Second) }

// stage is where a rule plays: a store, a key that nobody else uses, and the
// first thing that went wrong. After that nothing counts any more, so that a
// story can be told without an if after every sentence.
type stage struct {
	ctx   context.Context
	store persistence.Store
	rule  string
	key   string
	nonce string
	looks int
	err   error
}

func newStage(ctx context.Context, store persistence.Store, rule string) *stage {
	nonce := rand.Text()[:12]
	return &stage{ctx: ctx, store: store, rule: rule, key: "storetest/" + rule + "/" + nonce, nonce: nonce}
}

// scene plays a part of the story under a key of its own. Its name says in the
// error which part it was.
func (s *stage) scene(name string, play func(s *stage)) {
	if s.err != nil {
		return
	}
	part := newStage(s.ctx, s.store, s.rule)
	play(part)
	if part.err != nil {
		s.fail("%s: %w", name, part.err)
	}
}

func (s *stage) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// claim is how owner asks for the key at now.
func (s *stage) claim(owner string, now time.Time) persistence.Claim {
	return persistence.Claim{
		Key:         s.key,
		Owner:       s.owner(owner),
		Fingerprint: "of the payload",
		Now:         now,
		LeaseUntil:  now.Add(leaseLength).Truncate(time.Millisecond),
		ExpiresAt:   now.Add(recordLength).Truncate(time.Second),
	}
}

// owner makes a name a token that no other key has seen.
func (s *stage) owner(name string) string { return name + "-" + s.nonce }

// strangersLease is what somebody would show who never acquired the key.
func (s *stage) strangersLease() persistence.Lease {
	return persistence.Lease{Key: s.key, Owner: s.owner("stranger"), Fingerprint: "of the payload"}
}

// gets demands that the claim is answered with a record, and returns the answer.
func (s *stage) gets(c persistence.Claim, want persistence.Record) persistence.Record {
	got, err := s.store.Acquire(s.ctx, c)
	if err != nil {
		s.fail("the claim of %s at %s: %w", c.Owner, clock(c.Now), err)
		return got
	}
	got = s.revealed(c, want, got)
	if diff := differences(want, got); diff != "" {
		s.fail("the claim of %s at %s is answered with another record:\n%s", c.Owner, clock(c.Now), diff)
	}
	return got
}

// revealed returns what a claim was answered with, and with the steps that a store does not
// show to others: it shows them to their owner, who asks again.
func (s *stage) revealed(c persistence.Claim, want, got persistence.Record) persistence.Record {
	if len(want.Steps) == 0 || len(got.Steps) > 0 || got.Status.Finished() || got.Owner == c.Owner || got.Owner != want.Owner {
		return got
	}
	c.Owner = got.Owner
	r, err := s.store.Acquire(s.ctx, c)
	if err == nil && r.Owner == got.Owner {
		got.Steps = r.Steps
	}
	return got
}

// wins demands that the claim gets the record, and returns it as it was seen.
// What else is in it is for the rules that are about that, so that one fault is
// not reported by all of them.
func (s *stage) wins(c persistence.Claim) persistence.Record {
	got, err := s.store.Acquire(s.ctx, c)
	switch {
	case err != nil:
		s.fail("the claim of %s at %s: %w", c.Owner, clock(c.Now), err)
	case got.Owner != c.Owner || got.Status != persistence.StatusProcessing:
		s.fail("the claim of %s at %s: want to own the record, got one that is %s of %q", c.Owner, clock(c.Now), got.Status, got.Owner)
	}
	return got
}

// acquires demands that owner gets a new record.
func (s *stage) acquires(owner string, now time.Time) persistence.Record {
	r := s.wins(s.claim(owner, now))
	if r.Attempt != 1 {
		s.fail("the claim of %s at %s: want a new record, got attempt %d", r.Owner, clock(now), r.Attempt)
	}
	return r
}

// takesOver demands that owner gets a record whose lease has ended.
func (s *stage) takesOver(owner string, r persistence.Record) persistence.Record {
	return s.wins(s.claim(owner, stale(r)))
}

// sees demands that the store holds a record at now, before it expires. The
// claim that asks can get no record that exists: it comes with another
// fingerprint. So the look stays one where a lease is misjudged.
func (s *stage) sees(now time.Time, want persistence.Record) {
	if s.err != nil {
		return
	}
	s.looks++
	s.gets(s.other(fmt.Sprint("onlooker", s.looks), now), want)
}

// isVacant demands that the store holds no record, by making one.
func (s *stage) isVacant(now time.Time) { s.acquires("newcomer", now) }

// completes demands that the owner of r can end the operation, and returns what
// the record then is.
func (s *stage) completes(r persistence.Record, o persistence.Outcome) persistence.Record {
	s.ok("complete by "+r.Owner, s.store.Complete(s.ctx, r.Lease(), o))
	return completed(r, o)
}

// completed is what an outcome makes of a record.
func completed(r persistence.Record, o persistence.Outcome) persistence.Record {
	done := o.Of(r.Lease())
	done.Attempt = r.Attempt
	return done
}

// releases demands that the owner of r can give it up.
func (s *stage) releases(r persistence.Record) {
	s.ok("release by "+r.Owner, s.store.Release(s.ctx, r.Lease()))
}

// givesUp makes r partial: the owner finishes a step and releases.
func (s *stage) givesUp(r persistence.Record) persistence.Record {
	s.ok("checkpoint by "+r.Owner, s.checkpoint(r.Lease(), "reserve", []byte("box 7")))
	s.releases(r)
	return partial(with(r, "reserve", "box 7"))
}

// partial is what Release makes of a record with steps.
func partial(r persistence.Record) persistence.Record {
	r.Status = persistence.StatusPartial
	r.LeaseUntil = time.Time{}
	return r
}

// with returns r with one more step.
func with(r persistence.Record, step, output string) persistence.Record {
	r = r.Clone()
	if r.Steps == nil {
		r.Steps = make(map[string][]byte)
	}
	r.Steps[step] = []byte(output)
	return r
}

func (s *stage) checkpoint(l persistence.Lease, step string, output []byte) error {
	return s.store.(persistence.Checkpointer).Checkpoint(s.ctx, l, step, output)
}

func (s *stage) plants(r persistence.Record) {
	s.ok("plant", s.store.(Planter).Plant(s.ctx, r))
}

// ok demands success.
func (s *stage) ok(what string, err error) {
	if err != nil {
		s.fail("%s: want no error, got: %w", what, err)
	}
}

// refused demands an error.
func (s *stage) refused(what string, got, want error) {
	if !errors.Is(got, want) {
		s.fail("%s: want the error %q, got: %w", what, want, orNone(got))
	}
}

// lost demands ErrLeaseLost.
func (s *stage) lost(what string, err error) { s.refused(what, err, persistence.ErrLeaseLost) }

// settled demands a SettledError with the record that is there.
func (s *stage) settled(what string, err error, want persistence.Record) {
	settled, ok := errors.AsType[*persistence.SettledError](err)
	switch {
	case !ok:
		s.fail("%s: want a persistence.SettledError, got: %w", what, orNone(err))
	case errors.Is(err, persistence.ErrLeaseLost) != want.Status.Finished():
		s.fail("%s: the record is %s, and the error matches ErrLeaseLost or does not: %w", what, want.Status, err)
	case differences(want, settled.Record) != "":
		s.fail("%s: the error shows another record:\n%s", what, differences(want, settled.Record))
	}
}

var errNone = errors.New("no error")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}
