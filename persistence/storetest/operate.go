package storetest

import (
	"bytes"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// operateRules are about what operators need.
func operateRules() []Rule {
	return []Rule{
		rule("from/only-its-owner", NeedsNothing,
			"A claim that names the owner whose record it takes over takes over no other one's.",
			func(s *stage) {
				first := s.acquires("first", start)
				other := s.claim("second", stale(first))
				other.From = s.owner("somebody else")
				s.gets(other, first)
				s.sees(stale(first), first)
				named := s.claim("third", stale(first))
				named.From = first.Owner
				s.gets(named, named.TakeOver(first))
			}),
		rule("run/recorded", NeedsRun,
			"A record says which run has acquired it, to everybody, and still when it is finished.",
			func(s *stage) {
				c := s.claim("first", start)
				c.Run = persistence.Run{StartedAt: start, Function: "payment:7", RequestID: "a request"}
				first := s.wins(c)
				s.ranBy(start, c.Run)
				s.completes(first, success("paid"))
				s.ranBy(start, c.Run)
			}),
		rule("run/taken-over", NeedsRun,
			"A record that is taken over says who has done so, and nothing of the run before; where the claim does not say, it stays as it was.",
			func(s *stage) {
				c := s.claim("first", start)
				c.Run = persistence.Run{StartedAt: start, Function: "payment:7", RequestID: "a request"}
				first := s.wins(c)
				second := s.wins(s.claim("second", stale(first)))
				s.ranBy(stale(first), c.Run)
				c = s.claim("third", stale(second))
				c.Run = persistence.Run{StartedAt: stale(second), Function: "payment:8"}
				s.wins(c)
				s.ranBy(stale(second), c.Run)
			}),
		rule("event/kept", NeedsRun,
			"A record keeps the event of its claim, byte for byte or in an envelope, also when it is taken over by a claim without one.",
			func(s *stage) {
				c := s.claim("first", start)
				c.Event = []byte("an event\x00\xff")
				first := s.wins(c)
				if _, _, wrapped := storekit.OpenEnvelope(first.Event); !wrapped && !bytes.Equal(first.Event, c.Event) {
					s.fail("the claim is answered with the event %q", first.Event)
				}
				if second := s.wins(s.claim("second", stale(first))); !bytes.Equal(second.Event, first.Event) {
					s.fail("who takes the record over is answered with the event %q", second.Event)
				}
			}),
		rule("event/dropped", NeedsRun,
			"A finished record has no event: there is nothing to resume.",
			func(s *stage) {
				c := s.claim("first", start)
				c.Event = []byte("an event")
				s.completes(s.wins(c), success("paid"))
				if r, err := s.store.Acquire(s.ctx, s.other("onlooker", start)); err != nil || len(r.Event) > 0 {
					s.fail("the finished record has the event %q (%v)", r.Event, err)
				}
			}),
		rule("forget/as-seen", NeedsForgetter,
			"A record that is as it was seen can be forgotten; the next claim gets a new one.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.ok("forget", s.forget(first))
				s.isVacant(start)
			}),
		rule("forget/again", NeedsForgetter,
			"To forget a record that is gone is done, with a nil error.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.ok("forget", s.forget(first))
				s.ok("forget again", s.forget(first))
			}),
		rule("forget/changed", NeedsForgetter,
			"A record whose owner, status or lease is another than what was seen is not forgotten: ErrLeaseLost.",
			func(s *stage) {
				first := s.acquires("first", start)
				second := s.takesOver("second", first)
				s.lost("forgetting what was taken over", s.forget(first))
				s.sees(stale(first), second)
				earlier := second
				earlier.LeaseUntil = second.LeaseUntil.Add(-time.Second)
				s.lost("forgetting what was renewed", s.forget(earlier))
				s.sees(stale(first), second)
				finished := s.completes(second, success("paid"))
				s.lost("forgetting what was finished", s.forget(second))
				s.sees(stale(first), finished)
			}),
		rule("list/shows", NeedsLister,
			"A list shows the record with all that says where it stands, and neither its result nor its event.",
			func(s *stage) {
				c := s.claim("first", start)
				c.Event = []byte("an event")
				first := s.wins(c)
				s.lists(first, persistence.StatusProcessing)
				finished := s.completes(first, success("paid"))
				finished.Result = nil
				s.lists(finished, persistence.StatusCompleted)
			}),
		rule("list/status", NeedsLister,
			"A list of other statuses does not show the record.",
			func(s *stage) {
				s.acquires("first", start)
				if found := s.listed(persistence.StatusFailed, persistence.StatusPartial); len(found) > 0 {
					s.fail("the list shows %+v", found)
				}
			}),
	}
}

// ranBy demands that the record is said to be of a run.
func (s *stage) ranBy(now time.Time, want persistence.Run) {
	r, err := s.store.Acquire(s.ctx, s.other("onlooker", now))
	if got := r.Run; err != nil || got.StartedAt.UnixMilli() != want.StartedAt.UnixMilli() || got.Function != want.Function || got.RequestID != want.RequestID {
		s.fail("the record is said to be of the run %+v, want %+v (%v)", got, want, err)
	}
}

func (s *stage) forget(seen persistence.Record) error {
	if store, ok := s.store.(storekit.Forgetter); ok {
		return store.Forget(s.ctx, seen)
	}
	return nil // the rule is not applicable
}

// listed goes through all pages of a list for the record of the stage.
func (s *stage) listed(statuses ...persistence.Status) (found []persistence.Record) {
	store, ok := s.store.(storekit.Lister)
	if !ok {
		return nil
	}
	q := storekit.Query{Statuses: statuses, Prefix: s.key[:len(s.key)-1], Limit: 3}
	for {
		page, err := store.List(s.ctx, q)
		if err != nil {
			s.fail("list: %w", err)
			return nil
		}
		for _, r := range page.Records {
			if r.Key == s.key && !slices.ContainsFunc(found, func(f persistence.Record) bool { return f.Owner == r.Owner }) {
				found = append(found, r)
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return found
		}
	}
}

// lists demands that a list of a status has the record, and nothing that may be large.
func (s *stage) lists(want persistence.Record, status persistence.Status) {
	found := s.listed(status)
	if s.err != nil {
		return
	}
	if len(found) != 1 {
		s.fail("the list has %d records of the key", len(found))
		return
	}
	if diff := differences(want, found[0]); diff != "" || len(found[0].Event) > 0 {
		s.fail("the list shows another record, with an event of %d bytes:\n%s", len(found[0].Event), diff)
	}
}
