package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

func acquireRules() []Rule {
	return []Rule{
		rule("acquire/fresh", NeedsNothing,
			"Where there is no record, a claim makes one, and it is the record that the claim describes.",
			func(s *stage) {
				c := s.claim("first", start)
				s.gets(c, c.Fresh())
				s.sees(start, c.Fresh())
			}),
		rule("acquire/bare", NeedsNothing,
			"A claim without a fingerprint makes a record without one.",
			func(s *stage) {
				c := s.claim("first", start)
				c.Fingerprint = ""
				s.gets(c, c.Fresh())
				s.gets(s.claim("second", start), c.Fresh())
			}),
		rule("acquire/held", NeedsNothing,
			"While a lease is live, every other claim is answered with the owner's record, and changes nothing.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.gets(s.claim("second", start), first)
				s.gets(s.claim("third", start.Add(leaseLength/2)), first)
				s.sees(start, first)
			}),
		rule("acquire/invalid", NeedsNothing,
			"A claim that Claim.Check refuses is refused with ErrInvalid, and nothing is written.",
			invalidClaims),
		rule("repeat/fresh", NeedsNothing,
			"A claim that is repeated, because its reply was lost, is answered as before.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.gets(s.claim("first", start), first)
				s.sees(start, first)
			}),
		rule("repeat/take-over", NeedsNothing,
			"A take-over that is repeated is answered as before, and counted once.",
			func(s *stage) {
				first := s.acquires("first", start)
				second := s.takesOver("second", first)
				s.gets(s.claim("second", stale(first)), second)
				s.sees(stale(first), second)
			}),
		rule("repeat/resume", NeedsCheckpointer,
			"A claim that resumed a PARTIAL_SUCCESS record is, when repeated, answered as before, and counted once.",
			func(s *stage) {
				s.givesUp(s.acquires("first", start))
				c := s.claim("second", start)
				second := s.wins(c)
				s.gets(c, second)
				s.sees(start, second)
			}),
		rule("repeat/replacement", NeedsNothing,
			"A claim that replaced an expired record is, when repeated, answered as before.",
			func(s *stage) {
				first := s.acquires("first", start)
				second := s.acquires("second", expired(first))
				s.gets(s.claim("second", expired(first)), second)
				s.sees(expired(first), second)
			}),
		rule("repeat/finished", NeedsNothing,
			"A claim that is repeated after its owner has completed is answered with the finished record.",
			func(s *stage) {
				done := s.completes(s.acquires("first", start), success("paid"))
				s.gets(s.claim("first", start), done)
			}),
		rule("key/distinct", NeedsNothing,
			"Keys are byte strings: no two different ones share a record, however they are cased, composed, padded or punctuated.",
			distinctKeys),
		rule("key/long", NeedsNothing,
			"A key of 1000 bytes is kept whole, or refused with ErrInvalid; it is never cut.",
			longKeys),
		rule("time/units", NeedsNothing,
			"A lease keeps its milliseconds and an expiry its seconds, in whatever time zone they are given.",
			func(s *stage) {
				c := s.claim("first", start.In(time.FixedZone("", 9*60*60)))
				c.LeaseUntil = c.Now.Add(12*time.Second + 345*time.Millisecond)
				c.ExpiresAt = c.Now.Truncate(time.Second).Add(67 * time.Second)
				s.gets(c, c.Fresh())
				s.sees(start, c.Fresh())
			}),
		rule("time/is-data", NeedsNothing,
			"Time is what the claim says, for each claim anew: the store has no clock and remembers none.",
			func(s *stage) {
				later := start.AddDate(50, 0, 0)
				s.scene("in 2150", func(s *stage) {
					s.takesOver("second", s.acquires("first", later))
				})
				s.scene("then in 2100", func(s *stage) {
					first := s.acquires("first", start)
					s.gets(s.claim("second", start), first)
				})
			}),
	}
}

func invalidClaims(s *stage) {
	faults := []struct {
		name  string
		spoil func(c *persistence.Claim)
	}{
		{"no key", func(c *persistence.Claim) { c.Key = "" }},
		{"no owner", func(c *persistence.Claim) { c.Owner = "" }},
		{"no clock reading", func(c *persistence.Claim) { c.Now = time.Time{} }},
		{"a lease that is over", func(c *persistence.Claim) { c.LeaseUntil = c.Now }},
		{"a key with a NUL", func(c *persistence.Claim) { c.Key += "\x00" }},
		{"an owner with a NUL", func(c *persistence.Claim) { c.Owner += "\x00" }},
		{"a fingerprint with a NUL", func(c *persistence.Claim) { c.Fingerprint = "a\x00" }},
		{"a key that is not UTF-8", func(c *persistence.Claim) { c.Key += "\xff" }},
		{"an owner that is not UTF-8", func(c *persistence.Claim) { c.Owner += "\xff" }},
		{"a fingerprint that is not UTF-8", func(c *persistence.Claim) { c.Fingerprint = "\xff" }},
		{"an expiry before the end of the lease", func(c *persistence.Claim) { c.ExpiresAt = c.LeaseUntil.Add(-time.Second) }},
	}
	for _, fault := range faults {
		s.scene(fault.name, func(s *stage) {
			c := s.claim("first", start)
			fault.spoil(&c)
			_, err := s.store.Acquire(s.ctx, c)
			s.refused("the claim", err, persistence.ErrInvalid)
			s.isVacant(start)
		})
	}
}

func distinctKeys(s *stage) {
	prefix := s.key
	made := make(map[string]persistence.Record)
	for i, ending := range []string{
		"", "e", "E", "\u00e9", "e\u0301", "e ", " e", "e\t", "e\n", "e#", "e/", "e:", "e%", "e_", `e"`, "e'", `e\`, "e*", "e?", "e{}",
		"支払い", "支払", "ß", "ss", "ﬁ", "fi", "🧾", "🧾\u200d",
	} {
		s.key = prefix + ending
		made[s.key] = s.acquires(fmt.Sprint("owner", i), start)
	}
	for key, r := range made {
		s.key = key
		s.sees(start, r)
	}
}

func longKeys(s *stage) {
	long := s.key + strings.Repeat("k", 999-len(s.key))
	s.key = long + "a"
	c := s.claim("first", start)
	first, err := s.store.Acquire(s.ctx, c)
	if err != nil {
		s.refused("the claim of a key of 1000 bytes", err, persistence.ErrInvalid)
		return
	}
	s.sees(start, first)
	s.key = long + "b"
	s.sees(start, s.acquires("second", start))
}
