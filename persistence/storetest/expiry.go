package storetest

import (
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

func expiryRules() []Rule {
	return []Rule{
		rule("expiry/never", NeedsNothing,
			"An outcome without an expiry is replayed for ever.",
			func(s *stage) {
				for name, o := range map[string]persistence.Outcome{"completed": success("paid"), "failed": failure("declined")} {
					s.scene(name, func(s *stage) {
						first := s.acquires("first", start)
						o.ExpiresAt = time.Time{}
						done := s.completes(first, o)
						s.gets(s.claim("second", start), done)
						s.gets(s.claim("third", start.AddDate(50, 0, 0)), done)
					})
				}
			}),
		rule("expiry/last-second", NeedsNothing,
			"The last second before the expiry still belongs to the record, whole.",
			func(s *stage) {
				done := s.completes(s.acquires("first", start), success("paid"))
				s.gets(s.claim("second", done.ExpiresAt), done)
				s.gets(s.claim("third", done.ExpiresAt.Add(999*time.Millisecond)), done)
			}),
		rule("expiry/next-second", NeedsNothing,
			"One second after the expiry the record counts as absent, whether or not the store has removed it.",
			func(s *stage) {
				done := s.completes(s.acquires("first", start), success("paid"))
				s.acquires("second", done.ExpiresAt.Add(time.Second))
			}),
		rule("expiry/of-the-outcome", NeedsNothing,
			"A finished record expires when its outcome says, not when its claim said; earlier or later.",
			func(s *stage) {
				endsAfter := func(length time.Duration) func(s *stage) {
					return func(s *stage) {
						o := success("paid")
						o.ExpiresAt = start.Add(length).Truncate(time.Second)
						done := s.completes(s.acquires("first", start), o)
						s.gets(s.claim("second", done.ExpiresAt.Add(-10*time.Second)), done)
						s.acquires("third", expired(done))
					}
				}
				s.scene("earlier", endsAfter(time.Minute))
				s.scene("later", endsAfter(5*recordLength))
			}),
		rule("expiry/processing", NeedsNothing,
			"An expired PROCESSING record whose lease is over is replaced: attempt 1, not a take-over.",
			func(s *stage) { s.replaced(s.acquires("first", start)) }),
		rule("expiry/completed", NeedsNothing,
			"An expired COMPLETED record is replaced, and neither result nor fingerprint survives.",
			func(s *stage) { s.replaced(s.completes(s.acquires("first", start), success("old"))) }),
		rule("expiry/failed", NeedsNothing,
			"An expired FAILED record is replaced, and neither failure nor fingerprint survives.",
			func(s *stage) { s.replaced(s.completes(s.acquires("first", start), failure("old"))) }),
		rule("expiry/without-result", NeedsNothing,
			"An expired record without a result is replaced, and the new one has its own result.",
			func(s *stage) { s.replaced(s.completes(s.acquires("first", start), withoutResult())) }),
		rule("expiry/partial", NeedsCheckpointer,
			"An expired PARTIAL_SUCCESS record is replaced, and none of its steps survives.",
			func(s *stage) { s.replaced(s.givesUp(s.acquires("first", start))) }),
		rule("expiry/steps", NeedsCheckpointer,
			"Steps of an expired record survive neither where it was PROCESSING nor where it was COMPLETED.",
			func(s *stage) {
				s.scene("processing", func(s *stage) {
					first := s.acquires("first", start)
					s.ok("checkpoint", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
					s.replaced(first)
				})
				s.scene("completed", func(s *stage) {
					first := s.acquires("first", start)
					s.ok("checkpoint", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
					s.replaced(s.completes(with(first, "reserve", "box 7"), success("old")))
				})
			}),
	}
}

// replaced demands that nothing of an expired record outlives it: the claim
// after it, which has no fingerprint, gets a new record, and completing that
// leaves what a first operation would leave.
func (s *stage) replaced(old persistence.Record) {
	c := s.claim("second", expired(old))
	c.Fingerprint = ""
	second := s.wins(c)
	s.sees(c.Now, persistence.Record{
		Key:        second.Key,
		Status:     second.Status,
		Owner:      second.Owner,
		LeaseUntil: second.LeaseUntil,
		ExpiresAt:  second.ExpiresAt,
		Attempt:    1,
	})
	second.Fingerprint = ""
	o := success("new")
	o.ExpiresAt = c.ExpiresAt
	s.sees(c.Now, s.completes(second, o))
}
