package storetest

import "github.com/ikkai-go/idempotency/persistence"

// A zombie is an owner that goes on after its lease has ended and the record has
// passed to somebody else.
func zombieRules() []Rule {
	return []Rule{
		rule("zombie/complete", NeedsNothing,
			"Who has lost a record can't complete it, before or after the new owner finishes: ErrLeaseLost, and the new owner's record and result stay.",
			func(s *stage) {
				s.outlived(func(s *stage, zombie persistence.Lease) error {
					return s.store.Complete(s.ctx, zombie, success("by the zombie"))
				})
			}),
		rule("zombie/complete-after-release", NeedsNothing,
			"Who has lost a record can't complete it after the new owner has released it either.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.releases(s.takesOver("second", first))
				s.lost("complete", s.store.Complete(s.ctx, first.Lease(), success("by the zombie")))
				s.isVacant(start)
			}),
		rule("zombie/release", NeedsNothing,
			"Who has lost a record can't release it, before or after the new owner finishes: ErrLeaseLost, and the new owner's record and result stay.",
			func(s *stage) {
				s.outlived(func(s *stage, zombie persistence.Lease) error {
					return s.store.Release(s.ctx, zombie)
				})
			}),
		rule("zombie/checkpoint", NeedsCheckpointer,
			"Who has lost a record can't add steps to it, before or after the new owner finishes: ErrLeaseLost, and the record is unchanged.",
			func(s *stage) {
				s.outlived(func(s *stage, zombie persistence.Lease) error {
					return s.checkpoint(zombie, "reserve", []byte("by the zombie"))
				})
			}),
	}
}

// outlived plays a zombie's act against a record that was taken over, and
// against one that expired and was replaced.
func (s *stage) outlived(act func(s *stage, zombie persistence.Lease) error) {
	loses := func(s *stage, first, second persistence.Record, o persistence.Outcome) {
		now := second.LeaseUntil.Add(-leaseLength / 2)
		s.lost("the zombie, while the new owner runs", act(s, first.Lease()))
		s.sees(now, second)
		o.ExpiresAt = second.ExpiresAt
		done := s.completes(second, o)
		s.lost("the zombie, after the new owner has finished", act(s, first.Lease()))
		s.sees(now, done)
	}
	s.scene("taken over", func(s *stage) {
		first := s.acquires("first", start)
		loses(s, first, s.takesOver("second", first), success("paid"))
	})
	s.scene("taken over, then failed", func(s *stage) {
		first := s.acquires("first", start)
		loses(s, first, s.takesOver("second", first), failure("declined"))
	})
	s.scene("expired and replaced", func(s *stage) {
		first := s.acquires("first", start)
		loses(s, first, s.acquires("second", expired(first)), success("paid"))
	})
}
