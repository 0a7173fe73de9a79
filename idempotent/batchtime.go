package idempotent

import (
	"context"
	"sync/atomic"
	"time"
)

// sharedTime is the time of a batch of calls, which is divided once, when it begins. Safe
// for concurrent use.
type sharedTime struct {
	divided budget
	// slowest is about how long the slowest call takes; 0 where that is to be found out.
	slowest time.Duration
	half    time.Time    // until when any call may start
	longest atomic.Int64 // nanoseconds that a function has taken so far
}

// shareTime divides the time until the context's deadline; nil where there is none.
func (g *Guard) shareTime(ctx context.Context, slowest time.Duration) *sharedTime {
	b := g.newBudget(ctx)
	if b.deadline.IsZero() {
		return nil
	}
	half := b.deadline.Add(-max(b.deadline.Sub(wallClock()), 0) / 2)
	return &sharedTime{divided: b, slowest: slowest, half: half}
}

// budget returns the time of a call that begins now.
func (s *sharedTime) budget() budget {
	ahead := s.slowest
	if ahead <= 0 {
		reserve := s.divided.deadline.Sub(s.divided.runUntil)
		ahead = max(reserve, 2*time.Duration(s.longest.Load()))
	}
	b := s.divided
	b.startBy = later(b.runUntil.Add(-ahead), earlier(s.half, b.runUntil))
	return b
}

// took notes for how long a function has run.
func (s *sharedTime) took(elapsed time.Duration) {
	if s == nil {
		return
	}
	for {
		longest := s.longest.Load()
		if int64(elapsed) <= longest || s.longest.CompareAndSwap(longest, int64(elapsed)) {
			return
		}
	}
}
