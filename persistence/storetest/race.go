package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// racers is how many callers meet. More of them find no more, and a store far
// away has to answer all of them.
const racers = 16

func raceRules() []Rule {
	return []Rule{
		rule("race/fresh", NeedsNothing,
			"Of many claims that meet where there is no record, exactly one gets it, and all others see that one's.",
			func(s *stage) { s.race(start, persistence.Claim.Fresh) }),
		rule("race/expired", NeedsNothing,
			"Of many claims that meet an expired record, exactly one replaces it, and all others see that one's.",
			func(s *stage) {
				done := s.completes(s.acquires("first", start), success("old"))
				s.race(expired(done), persistence.Claim.Fresh)
			}),
		rule("race/stale", NeedsNothing,
			"Of many claims that meet a stale record, exactly one takes it over, and all others see that one's.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.race(leaseOver(first), takeOverOf(first))
			}),
		rule("race/partial", NeedsCheckpointer,
			"Of many claims that meet a PARTIAL_SUCCESS record, exactly one resumes it, and all others see that one's.",
			func(s *stage) {
				left := s.givesUp(s.acquires("first", start))
				s.race(start, takeOverOf(left))
			}),
		rule("race/complete", NeedsNothing,
			"A late owner that completes while another claim takes over: exactly one of them succeeds.",
			func(s *stage) { s.rounds(completeWhileTakenOver) }),
		rule("race/release", NeedsNothing,
			"A late owner that releases while another claim takes over never removes the new owner's record.",
			func(s *stage) { s.rounds(releaseWhileTakenOver) }),
		rule("race/steps", NeedsCheckpointer,
			"Steps that finish at the same time are all kept.",
			func(s *stage) {
				r := s.acquires("first", start)
				errs := make([]error, racers)
				together(racers, func(i int) {
					errs[i] = s.checkpoint(r.Lease(), fmt.Sprint("step ", i), []byte("done"))
				})
				for i, err := range errs {
					s.ok(fmt.Sprint("checkpoint of step ", i), err)
					r = with(r, fmt.Sprint("step ", i), "done")
				}
				s.sees(start, r)
			}),
	}
}

func takeOverOf(stale persistence.Record) func(persistence.Claim) persistence.Record {
	return func(c persistence.Claim) persistence.Record { return c.TakeOver(stale) }
}

// race demands that one of many claims owns the record, as won makes it of the
// claim, and that all others were answered with it.
func (s *stage) race(now time.Time, won func(persistence.Claim) persistence.Record) {
	claims := make([]persistence.Claim, racers)
	answers := make([]persistence.Record, racers)
	errs := make([]error, racers)
	for i := range claims {
		claims[i] = s.claim(fmt.Sprint("racer", i), now)
	}
	together(racers, func(i int) { answers[i], errs[i] = s.store.Acquire(s.ctx, claims[i]) })

	var winners []persistence.Record
	for i, c := range claims {
		s.ok("the claim of "+c.Owner, errs[i])
		if answers[i].Owner == c.Owner {
			winners = append(winners, won(c))
		}
	}
	if len(winners) != 1 {
		s.fail("want 1 owner of %d claims, got %d", racers, len(winners))
		return
	}
	for i, answer := range answers {
		if diff := differences(winners[0], answer); diff != "" {
			s.fail("the claim of %s is answered with another record than the winner's:\n%s", claims[i].Owner, diff)
		}
	}
	s.sees(now, winners[0])
}

// rounds plays a scene several times, because one alone seldom overlaps.
func (s *stage) rounds(play func(s *stage)) {
	for i := range 8 {
		s.scene(fmt.Sprint("round ", i+1), play)
	}
}

func completeWhileTakenOver(s *stage) {
	first := s.acquires("first", start)
	done := completed(first, success("late"))
	c := s.claim("second", leaseOver(first))
	second := c.TakeOver(first)
	var (
		answer                persistence.Record
		acquiring, completing error
	)
	together(2, func(i int) {
		if i == 0 {
			completing = s.store.Complete(s.ctx, first.Lease(), success("late"))
		} else {
			answer, acquiring = s.store.Acquire(s.ctx, c)
		}
	})
	s.ok("the claim of "+c.Owner, acquiring)
	want := done
	if answer.Owner == c.Owner {
		s.lost("complete, although the record was taken over", completing)
		want = second
	} else {
		s.ok("complete, and nobody has taken the record over", completing)
	}
	if diff := differences(want, answer); diff != "" {
		s.fail("the claim of %s is answered with another record:\n%s", c.Owner, diff)
	}
	s.sees(c.Now, want)
}

func releaseWhileTakenOver(s *stage) {
	first := s.acquires("first", start)
	c := s.claim("second", leaseOver(first))
	var (
		answer               persistence.Record
		acquiring, releasing error
	)
	together(2, func(i int) {
		if i == 0 {
			releasing = s.store.Release(s.ctx, first.Lease())
		} else {
			answer, acquiring = s.store.Acquire(s.ctx, c)
		}
	})
	s.ok("the claim of "+c.Owner, acquiring)
	want := c.Fresh()
	if answer.Attempt > 1 {
		s.lost("release, although the record was taken over", releasing)
		want = c.TakeOver(first)
	} else {
		s.ok("release, and then a new record", releasing)
	}
	if diff := differences(want, answer); diff != "" {
		s.fail("the claim of %s is answered with another record:\n%s", c.Owner, diff)
	}
	s.sees(c.Now, want)
}

// together runs a function n times at once, each in a goroutine of its own.
func together(n int, run func(i int)) {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-gate
			run(i)
		})
	}
	close(gate)
	all.Wait()
}
