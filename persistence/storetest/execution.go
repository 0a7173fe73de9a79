package storetest

import (
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// executionRules are about executions that are made of invocations.
func executionRules() []Rule {
	return []Rule{
		rule("execution/goes-on", NeedsNothing,
			"A claim takes the record of another claim of its execution over, whatever its lease says.",
			func(s *stage) {
				s.wins(invocation(s.claim("first", start), "execution#"))
				next := invocation(s.claim("second", start.Add(time.Millisecond)), "execution#")
				s.wins(next)
			}),
		rule("execution/dead", NeedsNothing,
			"It does so also where the lease is over, and no other claim may.",
			func(s *stage) {
				first := s.wins(invocation(s.claim("first", start), "execution#"))
				next := invocation(s.claim("second", stale(first)), "execution#")
				next.RefuseUnknown = true
				s.wins(next)
			}),
		rule("execution/others-wait", NeedsNothing,
			"A record of an execution is left alone by the claims of others, also where the execution's name begins like theirs.",
			func(s *stage) {
				first := s.wins(invocation(s.claim("first", start), "execution#"))
				s.gets(s.claim("second", start), first)
				s.gets(invocation(s.claim("third", start), "exec#"), first)
				s.gets(invocation(s.claim("fourth", start), "execution#2#"), first)
			}),
	}
}

// invocation is the claim as one of an execution.
func invocation(c persistence.Claim, execution string) persistence.Claim {
	c.Execution, c.Owner = execution, execution+c.Owner
	return c
}
