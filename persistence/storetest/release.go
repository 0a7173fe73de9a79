package storetest

import "github.com/ikkai-go/idempotency/persistence"

func releaseRules() []Rule {
	return []Rule{
		rule("release/at-once", NeedsNothing,
			"After a release nothing is left, and the next claim gets a new record at once.",
			func(s *stage) {
				s.releases(s.acquires("first", start))
				s.isVacant(start)
			}),
		rule("release/again", NeedsNothing,
			"Releasing again is done, with a nil error, while nobody else has acquired.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.releases(first)
				s.releases(first)
				s.isVacant(start)
			}),
		rule("release/absent", NeedsNothing,
			"Where there is no record, release is done, with a nil error, and makes none.",
			func(s *stage) {
				s.ok("release", s.store.Release(s.ctx, s.strangersLease()))
				s.isVacant(start)
			}),
		rule("release/owner-only", NeedsNothing,
			"Nobody but the owner can release: ErrLeaseLost, and the record is unchanged.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.lost("release by a stranger", s.store.Release(s.ctx, s.strangersLease()))
				s.sees(start, first)
			}),
		rule("release/finished", NeedsNothing,
			"A finished record can't be released: its owner is told what is there by a SettledError, a stranger gets ErrLeaseLost, and it is unchanged.",
			func(s *stage) {
				for name, o := range map[string]persistence.Outcome{"completed": success("paid"), "failed": failure("declined")} {
					s.scene(name, func(s *stage) {
						first := s.acquires("first", start)
						done := s.completes(first, o)
						s.settled("release by the owner", s.store.Release(s.ctx, first.Lease()), done)
						s.lost("release by a stranger", s.store.Release(s.ctx, s.strangersLease()))
						s.gets(s.claim("second", start), done)
					})
				}
			}),
		rule("release/steps", NeedsCheckpointer,
			"Releasing a record with steps leaves it as PARTIAL_SUCCESS with all of them, whether the lease mentions them or not.",
			func(s *stage) {
				s.scene("not mentioned in the lease", func(s *stage) {
					s.sees(start, s.givesUp(s.acquires("first", start)))
				})
				s.scene("mentioned in the lease", func(s *stage) {
					first := s.acquires("first", start)
					s.ok("checkpoint", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
					first = with(first, "reserve", "box 7")
					s.releases(first)
					s.sees(start, partial(first))
				})
			}),
		rule("release/resumable", NeedsCheckpointer,
			"A PARTIAL_SUCCESS record is resumed by the next claim at once, with its steps and one more attempt.",
			func(s *stage) {
				left := s.givesUp(s.acquires("first", start))
				second := s.wins(s.claim("second", start))
				second.Steps, second.Attempt = left.Steps, left.Attempt+1
				s.sees(start, second)
				s.completes(second, success("paid"))
			}),
		rule("release/steps-again", NeedsCheckpointer,
			"Releasing a PARTIAL_SUCCESS record again is done, with a nil error, and its steps stay.",
			func(s *stage) {
				first := s.acquires("first", start)
				left := s.givesUp(first)
				s.releases(first)
				s.lost("release by a stranger", s.store.Release(s.ctx, s.strangersLease()))
				s.sees(start, left)
			}),
	}
}
