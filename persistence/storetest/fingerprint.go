package storetest

import (
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

func fingerprintRules() []Rule {
	return []Rule{
		rule("mismatch/answer", NeedsNothing,
			"A claim with another fingerprint is answered with the record and the fingerprint in it, running or finished, so that the caller can tell.",
			func(s *stage) {
				first := s.acquires("first", start)
				first.Fingerprint = s.claim("first", start).Fingerprint
				s.gets(s.other("second", start), first)
				done := s.completes(first, success("paid"))
				s.gets(s.other("third", start), done)
			}),
		rule("mismatch/stale", NeedsNothing,
			"A claim with another fingerprint never takes a stale record over; one with the same fingerprint still can.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.gets(s.other("second", stale(first)), first)
				s.takesOver("third", first)
			}),
		rule("mismatch/partial", NeedsCheckpointer,
			"A claim with another fingerprint never resumes a PARTIAL_SUCCESS record; one with the same fingerprint still can.",
			func(s *stage) {
				left := s.givesUp(s.acquires("first", start))
				s.gets(s.other("second", start), left)
				s.wins(s.claim("third", start))
			}),
		rule("mismatch/one-sided", NeedsNothing,
			"Where the claim or the record has no fingerprint there is nothing to compare, and nothing mismatches.",
			func(s *stage) {
				s.scene("none in the claim", func(s *stage) {
					first := s.acquires("first", start)
					c := s.claim("second", stale(first))
					c.Fingerprint = ""
					s.wins(c)
				})
				s.scene("none in the record", func(s *stage) {
					c := s.claim("first", start)
					c.Fingerprint = ""
					s.takesOver("second", s.wins(c))
				})
			}),
	}
}

// other is how owner asks who comes with another payload.
func (s *stage) other(owner string, now time.Time) persistence.Claim {
	c := s.claim(owner, now)
	c.Fingerprint = "of another payload"
	return c
}
