package storetest

import (
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

func takeOverRules() []Rule {
	return []Rule{
		rule("take-over/owner", NeedsNothing,
			"Who takes a record over is its only owner from then on, under the lease and the expiry of the new claim.",
			func(s *stage) {
				first := s.acquires("first", start)
				second := s.takesOver("second", first)
				s.gets(s.claim("third", leaseOver(first)), second)
				s.gets(s.claim("fourth", second.LeaseUntil), second)
				s.sees(leaseOver(first), second)
				s.completes(second, success("paid"))
			}),
		rule("take-over/attempt", NeedsNothing,
			"Every take-over counts one more attempt.",
			func(s *stage) {
				first := s.acquires("first", start)
				second := s.takesOver("second", first)
				third := s.takesOver("third", second)
				if third.Attempt != 3 {
					s.fail("the attempt of the third owner: want 3, got %d", third.Attempt)
				}
			}),
		rule("take-over/steps", NeedsCheckpointer,
			"Steps survive a take-over, and the take-over after it.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.ok("checkpoint", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
				second := s.takesOver("second", with(first, "reserve", "box 7"))
				s.ok("checkpoint", s.checkpoint(second.Lease(), "charge", []byte("12.50")))
				third := s.takesOver("third", with(second, "charge", "12.50"))
				s.sees(third.LeaseUntil, third)
			}),
		rule("take-over/fingerprint", NeedsNothing,
			"A take-over records the fingerprint of the claim; a claim without one keeps that of the record.",
			func(s *stage) {
				s.scene("a claim without a fingerprint", func(s *stage) {
					first := s.acquires("first", start)
					c := s.claim("second", leaseOver(first))
					c.Fingerprint = ""
					s.sees(c.Now, s.gets(c, c.TakeOver(first)))
				})
				s.scene("a record without a fingerprint", func(s *stage) {
					c := s.claim("first", start)
					c.Fingerprint = ""
					first := s.gets(c, c.Fresh())
					second := s.takesOver("second", first)
					s.sees(leaseOver(first), second)
				})
			}),
		rule("refuse-unknown/stale", NeedsNothing,
			"A claim with RefuseUnknown leaves a record whose lease has ended as it is. Its late owner can still complete it.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.gets(s.cautious("second", leaseOver(first)), first)
				s.sees(leaseOver(first), first)
				done := s.completes(first, success("late"))
				s.gets(s.cautious("third", leaseOver(first)), done)
			}),
		rule("refuse-unknown/partial", NeedsCheckpointer,
			"A claim with RefuseUnknown resumes a PARTIAL_SUCCESS record: it was given up, so nothing about it is unknown.",
			func(s *stage) {
				left := s.givesUp(s.acquires("first", start))
				c := s.cautious("second", start)
				s.sees(start, s.gets(c, c.TakeOver(left)))
			}),
		rule("refuse-unknown/expired", NeedsNothing,
			"A claim with RefuseUnknown replaces an expired record.",
			func(s *stage) {
				first := s.acquires("first", start)
				c := s.cautious("second", expired(first))
				s.sees(c.Now, s.gets(c, c.Fresh()))
			}),
	}
}

// cautious is how owner asks who does not want to run twice.
func (s *stage) cautious(owner string, now time.Time) persistence.Claim {
	c := s.claim(owner, now)
	c.OnEndedLease = persistence.RefuseUnknown
	return c
}
