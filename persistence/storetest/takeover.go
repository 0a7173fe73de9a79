package storetest

import (
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

func takeOverRules() []Rule {
	return []Rule{
		rule("take-over/record", NeedsNothing,
			"Who takes a record over gets the one that the claim makes of it: its own lease and expiry, one more attempt.",
			func(s *stage) {
				first := s.acquires("first", start)
				c := s.claim("second", stale(first))
				s.gets(c, c.TakeOver(first))
				s.sees(c.Now, c.TakeOver(first))
			}),
		rule("take-over/told", NeedsNothing,
			"Who takes over from a run that died is told so (Record.TookOver); who makes a new record has taken nothing over.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.tookOver(first, "")
				s.tookOver(s.takesOver("second", first), persistence.StatusProcessing)
			}),
		rule("resume/told", NeedsCheckpointer,
			"Who resumes a PARTIAL_SUCCESS record is told so (Record.TookOver).",
			func(s *stage) {
				s.givesUp(s.acquires("first", start))
				s.tookOver(s.wins(s.claim("second", start)), persistence.StatusPartial)
			}),
		rule("take-over/owner", NeedsNothing,
			"Who takes a record over is its only owner from then on.",
			func(s *stage) {
				second := s.takesOver("second", s.acquires("first", start))
				s.gets(s.claim("third", second.LeaseUntil.Add(-leaseLength/2)), second)
				s.completes(second, success("paid"))
			}),
		rule("take-over/attempt", NeedsNothing,
			"Every take-over counts one more attempt.",
			func(s *stage) {
				second := s.takesOver("second", s.acquires("first", start))
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
				second := s.takesOver("second", first)
				second.Steps = map[string][]byte{"reserve": []byte("box 7")}
				s.sees(second.LeaseUntil, second)
				s.ok("checkpoint", s.checkpoint(second.Lease(), "charge", []byte("12.50")))
				third := s.takesOver("third", second)
				third.Steps = map[string][]byte{"reserve": []byte("box 7"), "charge": []byte("12.50")}
				s.sees(third.LeaseUntil, third)
			}),
		rule("take-over/fingerprint", NeedsNothing,
			"A take-over records the fingerprint of the claim; a claim without one keeps that of the record.",
			func(s *stage) {
				s.scene("a claim without a fingerprint", func(s *stage) {
					c := s.claim("second", stale(s.acquires("first", start)))
					fingerprint := c.Fingerprint
					c.Fingerprint = ""
					second := s.wins(c)
					second.Fingerprint = fingerprint
					s.sees(c.Now, second)
				})
				s.scene("a record without a fingerprint", func(s *stage) {
					bare := s.claim("first", start)
					bare.Fingerprint = ""
					c := s.claim("second", stale(s.wins(bare)))
					second := s.wins(c)
					second.Fingerprint = c.Fingerprint
					s.sees(c.Now, second)
				})
			}),
		rule("refuse-unknown/stale", NeedsNothing,
			"A claim with RefuseUnknown leaves a record whose lease has ended as it is. Its late owner can still complete it.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.gets(s.cautious("second", stale(first)), first)
				s.sees(stale(first), first)
				done := s.completes(first, success("late"))
				s.gets(s.cautious("third", stale(first)), done)
			}),
		rule("refuse-unknown/partial", NeedsCheckpointer,
			"A claim with RefuseUnknown resumes a PARTIAL_SUCCESS record: it was given up, so nothing about it is unknown.",
			func(s *stage) {
				s.givesUp(s.acquires("first", start))
				s.wins(s.cautious("second", start))
			}),
		rule("refuse-unknown/expired", NeedsNothing,
			"A claim with RefuseUnknown replaces an expired record.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.wins(s.cautious("second", expired(first)))
			}),
	}
}

// tookOver demands what the answer to a claim says that it has found.
func (s *stage) tookOver(r persistence.Record, want persistence.Status) {
	if r.TookOver != want {
		s.fail("the claim of %s: want to be told that it took over %q, got %q", r.Owner, want, r.TookOver)
	}
}

// cautious is how owner asks who does not want to run twice.
func (s *stage) cautious(owner string, now time.Time) persistence.Claim {
	c := s.claim(owner, now)
	c.RefuseUnknown = true
	return c
}
