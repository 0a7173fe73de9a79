package idempotent

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

const (
	firstPoll   = 50 * time.Millisecond
	longestPoll = time.Second
	askAgain    = time.Second
)

// wait is a duplicate's patience with the run it duplicates.
type wait struct {
	started time.Time
	left    time.Duration
	pause   time.Duration
}

func (g *Guard) newWait() *wait {
	return &wait{started: time.Now(), left: g.config.Wait, pause: firstPoll}
}

// polling tells whether there has been a pause already.
func (w *wait) polling() bool { return w.pause > firstPoll }

// next pauses before the next look. It returns false at once where there is no
// patience left, and early where the context ends.
func (w *wait) next(ctx context.Context) bool {
	if w.left <= 0 {
		return false
	}
	// Jitter keeps callers that were turned away together from coming back
	// together.
	pause := min(w.pause/2+rand.N(w.pause/2), w.left)
	w.left -= pause
	w.pause = min(2*w.pause, longestPoll)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// report tells about the waiting, if there was any.
func (w *wait) report(ctx context.Context, g *Guard, r persistence.Record) {
	if w.polling() {
		g.report(ctx, Event{Kind: Waited, Key: r.Key, Attempt: r.Attempt, Elapsed: time.Since(w.started)})
	}
}

// retryAfter suggests when a duplicate that does not wait should come back.
func retryAfter(c persistence.Claim, r persistence.Record) time.Duration {
	if r.LeaseUntil.IsZero() {
		return askAgain
	}
	return min(askAgain, max(r.LeaseUntil.Sub(c.Now), time.Millisecond))
}
