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
			func(s *stage) { s.race(start) }),
		rule("race/expired", NeedsNothing,
			"Of many claims that meet an expired record, exactly one replaces it, and all others see that one's.",
			func(s *stage) {
				done := s.completes(s.acquires("first", start), success("old"))
				s.race(expired(done))
			}),
		rule("race/stale", NeedsNothing,
			"Of many claims that meet a stale record, exactly one takes it over, and all others see that one's.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.race(stale(first))
			}),
		rule("race/partial", NeedsCheckpointer,
			"Of many claims that meet a PARTIAL_SUCCESS record, exactly one resumes it, and all others see that one's.",
			func(s *stage) {
				s.givesUp(s.acquires("first", start))
				s.race(start)
			}),
		rule("race/complete", NeedsNothing,
			"A late owner that completes while another claim takes over: exactly one of them succeeds.",
			func(s *stage) { s.meetings(completeWhileTakenOver) }),
		rule("race/release", NeedsNothing,
			"A late owner that releases while another claim takes over never removes the new owner's record.",
			func(s *stage) { s.meetings(releaseWhileTakenOver) }),
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

// race demands that one of many claims owns the record, and that all others were
// answered with it.
func (s *stage) race(now time.Time) {
	claims := make([]persistence.Claim, racers)
	answers := make([]persistence.Record, racers)
	errs := make([]error, racers)
	for i := range claims {
		claims[i] = s.claim(fmt.Sprint("racer", i), now)
	}
	together(racers, func(i int) { answers[i], errs[i] = s.store.Acquire(s.ctx, claims[i]) })

	var owned []persistence.Record
	for i, c := range claims {
		s.ok("the claim of "+c.Owner, errs[i])
		if answers[i].Owner == c.Owner {
			owned = append(owned, answers[i])
		}
	}
	if len(owned) != 1 {
		s.fail("want 1 owner of %d claims, got %d", racers, len(owned))
		return
	}
	for i, answer := range answers {
		if diff := differences(owned[0], s.revealed(claims[i], owned[0], answer)); diff != "" {
			s.fail("the claim of %s is answered with another record than the winner's:\n%s", claims[i].Owner, diff)
		}
	}
	s.sees(now, owned[0])
}

// meetings plays the meeting of two calls in either order, and then at once,
// several times, because two calls seldom overlap by themselves.
func (s *stage) meetings(play func(s *stage, meet func(a, b func()))) {
	s.scene("the late owner is first", func(s *stage) {
		play(s, func(a, b func()) { a(); b() })
	})
	s.scene("the take-over is first", func(s *stage) {
		play(s, func(a, b func()) { b(); a() })
	})
	for round := range 8 {
		s.scene("both at once", func(s *stage) {
			play(s, func(a, b func()) {
				together(2, func(i int) { []func(){a, b}[(i+round)%2]() }) // who starts last tends to be first
			})
		})
	}
}

func completeWhileTakenOver(s *stage, meet func(owner, other func())) {
	first := s.acquires("first", start)
	c := s.claim("second", stale(first))
	var (
		answer                persistence.Record
		acquiring, completing error
	)
	meet(
		func() { completing = s.store.Complete(s.ctx, first.Lease(), success("late")) },
		func() { answer, acquiring = s.store.Acquire(s.ctx, c) },
	)
	s.ok("the claim of "+c.Owner, acquiring)
	if answer.Owner == c.Owner {
		s.lost("complete, although the record was taken over", completing)
		s.sees(c.Now, answer)
	} else {
		s.ok("complete, and nobody has taken the record over", completing)
		s.sees(c.Now, completed(first, success("late")))
	}
}

func releaseWhileTakenOver(s *stage, meet func(owner, other func())) {
	first := s.acquires("first", start)
	c := s.claim("second", stale(first))
	var (
		second    persistence.Record
		releasing error
	)
	meet(
		func() { releasing = s.store.Release(s.ctx, first.Lease()) },
		func() { second = s.wins(c) },
	)
	if second.Attempt == 1 {
		s.ok("release, and then a new record", releasing)
	} else {
		s.lost("release, although the record was taken over", releasing)
	}
	s.sees(c.Now, second)
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
