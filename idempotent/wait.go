package idempotent

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

const (
	firstPoll   = 50 * time.Millisecond
	longestPoll = time.Second
	// askAgain is how long to wait where nothing tells how long it will take, and the
	// least that is suggested; askLatest is the most.
	askAgain  = time.Second
	askLatest = 30 * time.Second
)

// wait is a duplicate's patience with the run it duplicates.
type wait struct {
	started  time.Time
	patience time.Duration
	pause    time.Duration
}

// newWait keeps half of the time until the deadline back, as every request to the
// store before the function does: a wait that ends with the context would tell
// nobody anything, and a run that takes over at the very end would only die.
func (g *Guard) newWait(ctx context.Context) wait {
	w := wait{started: time.Now(), patience: g.config.Wait, pause: firstPoll}
	if deadline, ok := ctx.Deadline(); ok {
		w.patience = min(w.patience, deadline.Sub(wallClock())/2)
	}
	return w
}

// polling tells whether there has been a pause already.
func (w *wait) polling() bool { return w.pause > firstPoll }

// elapsed is how long there has been to wait.
func (w *wait) elapsed() time.Duration {
	if !w.polling() {
		return 0
	}
	return time.Since(w.started)
}

// next pauses before the next look. It returns false at once where there is no
// patience left, and early where the context ends.
func (w *wait) next(ctx context.Context) bool {
	left := w.patience - time.Since(w.started)
	if left <= 0 {
		return false
	}
	// Jitter keeps callers that were turned away together from coming back
	// together.
	timer := time.NewTimer(min(w.pause/2+jitter(w.pause/2), left))
	defer timer.Stop()
	w.pause = min(2*w.pause, longestPoll)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter is a random time shorter than limit. It comes from the source of the
// owners' tokens, because that one can be seeded (testing/cryptotest): a simulation
// of many callers can then be replayed.
func jitter(limit time.Duration) time.Duration {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return time.Duration(binary.NativeEndian.Uint64(random[:]) % uint64(limit))
}

// retryAfter suggests when a duplicate that does not wait should come back: after as
// long again as the run has been under way by now, and not later than when its lease is
// over. So it is asked for less and less often, and a run that has died is found at once.
// A record that does not tell when the run has started is taken to have been given its lease
// as the claim's would be.
func retryAfter(c persistence.Claim, r persistence.Record) time.Duration {
	if r.LeaseUntil.IsZero() {
		return askAgain
	}
	lasted := c.LeaseUntil.Sub(r.LeaseUntil)
	if !r.StartedAt.IsZero() {
		lasted = c.Now.Sub(r.StartedAt)
	}
	// The last millisecond still belongs to the owner.
	left := max(r.LeaseUntil.Sub(c.Now), 0) + time.Millisecond
	return min(max(lasted, askAgain), askLatest, left)
}
