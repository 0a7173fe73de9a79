package idempotent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
)

const (
	// lookWindow is how many records are looked for at a time: as many as DynamoDB reads in one
	// request.
	lookWindow = 100
	// Of a hundred calls so many are looked for to find out whether the batch was started before,
	// which is 1.5 units for each 100 that the first runs of small records take.
	probedOfHundred = 6
	mostProbed      = 16
	// Looking pays where one of so many records is finished: by docs/cost.md a read unit and a
	// write unit of a record of 1 KB come out even there.
	worthwhile = 10
	// leastReplays is how many claims have to find finished records before it is worth looking.
	leastReplays = 10
	// mostFailedLooks is how many looks may fail in a row.
	mostFailedLooks = 3
)

// ahead is what the calls of one batch know of their records before they claim them. The
// calls come about in the order of the batch. A finished record that was found answers its call
// as one would that is found by reading first: by the call's own clock and fingerprint. All
// else a claim decides, so that a stale answer, or none, costs no more than a claim.
//
// Safe for concurrent use.
type ahead struct {
	guard    *Guard
	calls    int
	identify func(call int) Identity

	turn chan struct{} // of looking: who comes meanwhile wants to know, too

	mu       sync.Mutex // of what follows
	probed   bool
	on       bool
	failed   int  // looks, in a row
	over     bool // no look is worthwhile any more
	next     int  // the first call that has not been looked for, but for probes
	looked   []bool
	found    map[int]persistence.Record
	claims   int // since looking has stopped
	replayed int // of these
}

// LookingAhead returns guards of the same operation for the calls of one batch, which come
// about in its order: one for each, of the identity that identify tells of it. They look for
// finished records unless [Config].NoLookAhead says otherwise. identify may be called at any time, and on
// any goroutine, one call at a time; where it panics, each record is asked for by itself.
//
// It is for adapters that run many calls.
func (g *Guard) LookingAhead(calls int, identify func(call int) Identity) func(call int) *Guard {
	if g.many == nil || calls < 2 || g.config.NoLookAhead {
		return func(int) *Guard { return g }
	}
	a := &ahead{
		guard: g, calls: calls, identify: identify,
		turn: make(chan struct{}, 1), looked: make([]bool, calls), found: make(map[int]persistence.Record),
	}
	a.on = g.config.ReadFirst
	a.probed = a.on
	return func(call int) *Guard {
		looking := *g
		looking.ahead, looking.place = a, call
		return &looking
	}
}

// lookAhead makes sure that the record of a call has been looked for, if that is worthwhile.
func (g *Guard) lookAhead(ctx context.Context, b budget) {
	if g.ahead != nil && b.late(ctx, "") == nil {
		g.ahead.reach(ctx, b, g.place)
	}
}

// foundAhead returns the finished record that was found of a claim, and whether it was looked for.
func (g *Guard) foundAhead(c persistence.Claim) (r persistence.Record, finished, looked bool) {
	if g.ahead == nil {
		return r, false, false
	}
	r, finished, looked = g.ahead.take(g.place)
	return r, finished && !r.Expired(c.Now) && r.Key == c.Key, looked
}

// claimed takes note of what a claim has found.
func (g *Guard) claimed(c persistence.Claim, r persistence.Record) {
	if g.ahead != nil {
		g.ahead.note(r.Status.Finished() && r.Owner != c.Owner)
	}
}

// reach looks as far as the call. One that would wait too long for another's look goes on without.
func (a *ahead) reach(ctx context.Context, b budget, call int) {
	if a.knows(call) || !a.enter(ctx, b) {
		return
	}
	defer func() { <-a.turn }()
	if probes := a.probes(); len(probes) > 0 {
		finished := a.read(ctx, b, probes)
		a.goOn(finished > 0)
	}
	for calls := a.due(call); len(calls) > 0; calls = a.due(call) {
		finished := a.read(ctx, b, calls)
		a.goOn(a.guard.config.ReadFirst || finished*worthwhile >= len(calls))
	}
}

// enter waits for the turn of looking, for as long as a request to the store may take.
func (a *ahead) enter(ctx context.Context, b budget) bool {
	select {
	case a.turn <- struct{}{}:
		return true
	default:
	}
	asking, cancel := b.asking(ctx)
	defer cancel()
	select {
	case a.turn <- struct{}{}:
		return true
	case <-asking.Done():
		return false
	}
}

// knows tells whether there is nothing more to find out about a call.
func (a *ahead) knows(call int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.looked[call] || a.over
}

// probes are some calls from all over the batch, the first time.
func (a *ahead) probes() (calls []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.probed || a.over {
		return nil
	}
	a.probed = true
	probes := min(a.calls*probedOfHundred/100, mostProbed)
	for i := range probes {
		calls = append(calls, i*a.calls/probes)
	}
	return calls
}

// due are the next calls to look for until one is among them; none where it is, or where looking is not
// worthwhile.
func (a *ahead) due(call int) (calls []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
		return nil
	case !a.on:
		a.next = max(a.next, call+1)
	case call >= a.next+lookWindow: // those between are not coming
		a.next = call
	}
	if call < a.next {
		return nil
	}
	for ; a.next < a.calls && len(calls) < lookWindow; a.next++ {
		if !a.looked[a.next] {
			calls = append(calls, a.next)
		}
	}
	return calls
}

func (a *ahead) goOn(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.on = on
}

// read reads the records of some calls, and returns how many are finished, and not over.
func (a *ahead) read(ctx context.Context, b budget, calls []int) (finished int) {
	callsOf := make(map[string][]int, len(calls))
	var records []persistence.Record
	var err error
	// What panics here does so again in the call that it belongs to, if that comes to it.
	ended := relay.Run(func() { records, err = a.ask(ctx, b, calls, callsOf) })
	if !ended.Returned() {
		err = &unwoundLook{ended}
	}
	a.failing(ctx, err)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := wallClock()
	for _, r := range records {
		if !r.Status.Finished() || r.Expired(now) {
			continue
		}
		for _, call := range callsOf[r.Key] {
			a.found[call] = r
			finished++
		}
		delete(callsOf, r.Key)
	}
	for _, call := range calls {
		a.looked[call] = err == nil
	}
	return finished
}

// ask asks for the records of some calls, and notes whose they are.
func (a *ahead) ask(ctx context.Context, b budget, calls []int, callsOf map[string][]int) ([]persistence.Record, error) {
	keys := make([]string, 0, len(calls))
	for _, call := range calls {
		key, err := a.identify(call).RecordKey(ctx)
		if err != nil {
			continue // the call will tell
		}
		if callsOf[key] == nil {
			keys = append(keys, key)
		}
		callsOf[key] = append(callsOf[key], call)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	asking, cancel := b.asking(ctx)
	defer cancel()
	looking, cancel := firstHalf(asking)
	defer cancel()
	return a.guard.many.ReadMany(looking, keys)
}

// failing says so, once, where looking does not work, and gives it up: each record is asked for by
// itself, as without.
func (a *ahead) failing(ctx context.Context, err error) {
	unsupported := errors.Is(err, errors.ErrUnsupported)
	if a.givesUp(err) && !unsupported && ctx.Err() == nil {
		a.guard.logger().LogAttrs(ctx, slog.LevelWarn, "idempotency: looking ahead failed, each record is asked for by itself",
			slog.String("event", "look_ahead_failed"), slog.String("operation", a.guard.config.Operation), slog.Any("error", err))
	}
}

// givesUp notes what has become of a look, and tells whether it was the last one.
func (a *ahead) givesUp(err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.failed = 0
		return false
	}
	a.failed++
	_, unwound := errors.AsType[*unwoundLook](err)
	a.over = unwound || errors.Is(err, errors.ErrUnsupported) || !persistence.Retryable(err) || a.failed >= mostFailedLooks
	return a.over
}

// unwoundLook says that a look did not return: a store, or what it asks, has panicked.
type unwoundLook struct{ relay.Ending }

func (u *unwoundLook) Error() string {
	return fmt.Sprintf("%v: %v\n%s", errUnwound, u.Value, u.Stack)
}

// take returns what was found of a call. A call that is repeated is no replay of what was
// known before it.
func (a *ahead) take(call int) (r persistence.Record, finished, looked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, finished = a.found[call]
	looked = a.looked[call]
	delete(a.found, call)
	return r, finished, looked
}

// note counts what claims find. Where many are replays, looking is worthwhile after all.
func (a *ahead) note(replayed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.on || a.over {
		return
	}
	a.claims++
	if replayed {
		a.replayed++
	}
	if a.replayed >= leastReplays && a.replayed*worthwhile >= a.claims {
		a.on, a.claims, a.replayed = true, 0, 0
	}
}
