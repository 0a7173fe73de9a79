package storetest

import (
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

func leaseRules() []Rule {
	return []Rule{
		rule("lease/last-millisecond", NeedsNothing,
			"The last millisecond of a lease still belongs to its owner, whole.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.gets(s.claim("second", first.LeaseUntil), first)
				s.gets(s.claim("third", first.LeaseUntil.Add(999*time.Microsecond)), first)
				s.sees(first.LeaseUntil, first)
			}),
		rule("lease/next-millisecond", NeedsNothing,
			"One millisecond after the end of a lease the record may be taken over.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.wins(s.claim("second", first.LeaseUntil.Add(time.Millisecond)))
			}),
		rule("lease/no-end", NeedsPlanter,
			"A PROCESSING record without a lease is locked until it expires, never abandoned; without an expiry it is locked for good.",
			func(s *stage) {
				s.scene("with an expiry", func(s *stage) {
					foreign := s.foreign()
					s.gets(s.claim("second", start), foreign)
					s.gets(s.claim("third", foreign.ExpiresAt), foreign)
					s.acquires("fourth", foreign.ExpiresAt.Add(time.Second))
				})
				s.scene("without one", func(s *stage) {
					foreign := s.foreign()
					foreign.ExpiresAt = time.Time{}
					s.plants(foreign)
					s.gets(s.claim("second", start.AddDate(50, 0, 0)), foreign)
				})
			}),
		rule("lease/outlives-expiry", NeedsPlanter,
			"A record whose expiry has passed is not replaced while its lease is live.",
			func(s *stage) {
				running := s.claim("first", start).Fresh()
				running.ExpiresAt = start.Truncate(time.Second).Add(-10 * time.Second)
				s.plants(running)
				s.gets(s.claim("second", start), running)
				s.acquires("third", stale(running))
			}),
		rule("lease/nobody", NeedsPlanter,
			"A lease without an owner owns nothing, not even a record without one: ErrInvalid, and the record is unchanged.",
			func(s *stage) {
				foreign := s.foreign()
				nobody := persistence.Lease{Key: s.key}
				s.refused("complete by nobody", s.store.Complete(s.ctx, nobody, success("theft")), persistence.ErrInvalid)
				s.refused("release by nobody", s.store.Release(s.ctx, nobody), persistence.ErrInvalid)
				s.sees(start, foreign)
			}),
		rule("lease/invalid", NeedsNothing,
			"A lease that Lease.Check refuses is refused with ErrInvalid, and nothing is written.",
			func(s *stage) {
				first := s.acquires("first", start)
				for name, l := range map[string]persistence.Lease{
					"without a key":    {Owner: first.Owner},
					"without an owner": {Key: s.key},
					"not in UTF-8":     {Key: s.key, Owner: first.Owner + "\xff"},
					"with a NUL":       {Key: s.key, Owner: first.Owner + "\x00"},
				} {
					s.refused("complete "+name, s.store.Complete(s.ctx, l, success("theft")), persistence.ErrInvalid)
					s.refused("release "+name, s.store.Release(s.ctx, l), persistence.ErrInvalid)
				}
				s.sees(start, first)
			}),
	}
}

// foreign plants a record as another toolkit may have written it: PROCESSING,
// with an expiry, and neither lease nor owner.
func (s *stage) foreign() persistence.Record {
	r := persistence.Record{
		Key:       s.key,
		Status:    persistence.StatusProcessing,
		ExpiresAt: start.Truncate(time.Second).Add(10 * time.Minute),
	}
	s.plants(r)
	return r
}
