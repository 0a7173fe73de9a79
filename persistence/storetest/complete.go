package storetest

import "github.com/ikkai-go/idempotency/persistence"

func completeRules() []Rule {
	return []Rule{
		rule("complete/replayed", NeedsNothing,
			"A completed record answers every claim until it expires, also when the lease would be over.",
			func(s *stage) {
				first := s.acquires("first", start)
				done := s.completes(first, success("paid"))
				s.gets(s.claim("second", start), done)
				s.gets(s.claim("third", stale(first)), done)
			}),
		rule("complete/failed", NeedsNothing,
			"A failed record answers every claim as a failure, with its result.",
			func(s *stage) {
				first := s.acquires("first", start)
				done := s.completes(first, failure(`{"errorType":"CardDeclined"}`))
				s.gets(s.claim("second", start), done)
				s.gets(s.claim("third", stale(first)), done)
			}),
		rule("complete/again", NeedsNothing,
			"Completing again with the same outcome is done, with a nil error.",
			func(s *stage) {
				first := s.acquires("first", start)
				done := s.completes(first, success("paid"))
				s.completes(first, success("paid"))
				s.gets(s.claim("second", start), done)
			}),
		rule("complete/first-outcome", NeedsNothing,
			"Of two outcomes that one owner reports, the first stays; the second is told what is there by a SettledError, which matches ErrLeaseLost.",
			func(s *stage) {
				for name, second := range map[string]persistence.Outcome{
					"another result": success("paid twice"),
					"a failure":      failure("declined"),
					"no result":      withoutResult(),
				} {
					s.scene("then "+name, func(s *stage) {
						first := s.acquires("first", start)
						done := s.completes(first, success("paid"))
						s.settled("complete again", s.store.Complete(s.ctx, first.Lease(), second), done)
						s.gets(s.claim("second", start), done)
					})
				}
			}),
		rule("complete/owner-only", NeedsNothing,
			"Nobody but the owner can complete: ErrLeaseLost, and the record is unchanged, running or finished.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.lost("complete by a stranger", s.store.Complete(s.ctx, s.strangersLease(), success("theft")))
				s.sees(start, first)
				done := s.completes(first, success("paid"))
				s.lost("complete by a stranger, afterwards", s.store.Complete(s.ctx, s.strangersLease(), success("theft")))
				s.sees(start, done)
			}),
		rule("complete/absent", NeedsNothing,
			"Where there is no record, complete gives ErrLeaseLost and makes none.",
			func(s *stage) {
				s.lost("complete", s.store.Complete(s.ctx, s.strangersLease(), success("from nowhere")))
				s.isVacant(start)
			}),
		rule("complete/released", NeedsNothing,
			"Who has released can't complete any more: ErrLeaseLost, and no record appears.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.releases(first)
				s.lost("complete", s.store.Complete(s.ctx, first.Lease(), success("too late")))
				s.isVacant(start)
			}),
		rule("complete/given-up", NeedsCheckpointer,
			"Who has released a record with steps can't complete any more: ErrLeaseLost, and the record stays PARTIAL_SUCCESS.",
			func(s *stage) {
				first := s.acquires("first", start)
				left := s.givesUp(first)
				s.lost("complete", s.store.Complete(s.ctx, first.Lease(), success("too late")))
				s.sees(start, left)
			}),
		rule("complete/large-steps", NeedsNothing,
			"A lease with steps of 5 MB is completed, or refused with ErrTooLarge by every store that can't hold them; then nothing has changed.",
			func(s *stage) {
				first := s.acquires("first", start)
				l := first.Lease()
				l.Steps = map[string][]byte{"huge": noise(tooLarge)}
				if err := s.store.Complete(s.ctx, l, success("paid")); err != nil {
					s.refused("complete", err, persistence.ErrTooLarge)
					s.sees(start, first)
					s.completes(first, success("paid"))
				}
			}),
		rule("complete/invalid", NeedsNothing,
			"An outcome that is neither COMPLETED nor FAILED is refused with ErrInvalid, and nothing is written.",
			func(s *stage) {
				first := s.acquires("first", start)
				for _, status := range []persistence.Status{"", "DONE", persistence.StatusProcessing, persistence.StatusPartial} {
					o := success("paid")
					o.Status = status
					s.refused("complete as "+string(status), s.store.Complete(s.ctx, first.Lease(), o), persistence.ErrInvalid)
				}
				s.sees(start, first)
				s.completes(first, success("paid"))
			}),
	}
}
