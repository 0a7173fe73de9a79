package batch

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
)

// itemOutcome is what became of an item. The zero value is for one that is not settled.
type itemOutcome uint8

const (
	itemPending itemOutcome = iota
	itemDone
	itemReplayed
	itemPermanent
	itemFailed
	itemHeld
	itemOutcomes // how many there are
)

// left tells whether another start has to see to the item.
func (o itemOutcome) left() bool { return o == itemPending || o == itemFailed || o == itemHeld }

// start is one start of a batch. Its items are known by their indices. All fields
// belong to the goroutine that called Each; those that run items only read what is
// fixed.
type start struct {
	guard       *idempotent.Guard // whose calls share the time of the batch
	ahead       func(item int) *idempotent.Guard
	name        string
	ids         []string
	content     func(item int) any
	run         func(ctx context.Context, item int) error
	observe     func(Progress)
	concurrency int

	began    time.Time
	outcomes []itemOutcome
	counts   [itemOutcomes]int
	errs     map[int]error
	faults   int           // of the store, in a row
	askAgain time.Duration // for held items; the soonest
	stopped  error         // why no more items are started; nil while they are
	unwound  *itemCall
}

// all runs the items, and returns when none is under way. Those that another start is
// running are looked at again, for as long as a dead one could hold them: what it is
// finishing needs nobody's further attention.
func (s *start) all(ctx context.Context) {
	s.ahead = s.guard.LookingAhead(len(s.ids), s.identityAhead)
	items := make([]int, len(s.ids))
	for item := range items {
		items[item] = item
	}
	s.pass(ctx, items)
	patience := time.Now().Add(s.guard.Config().Lease)
	for held := s.held(); len(held) > 0 && s.pause(ctx, patience); held = s.held() {
		s.pass(ctx, held)
	}
	switch {
	case s.unwound == nil:
	case s.unwound.panicked != nil:
		panic(s.unwound.panicked)
	default:
		runtime.Goexit()
	}
}

// held returns the items that another start holds.
func (s *start) held() []int {
	var items []int
	for item, o := range s.outcomes {
		if o == itemHeld {
			items = append(items, item)
		}
	}
	return items
}

// pause waits until it is worth looking at held items again. It returns false where
// there is no time for it, or no patience.
func (s *start) pause(ctx context.Context, patience time.Time) bool {
	wait := max(s.askAgain, soonest)
	again := time.Now().Add(wait)
	if !s.mayStart(ctx) || again.After(patience) || s.guard.Late(ctx, again) != nil {
		return false
	}
	s.askAgain = 0
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}

// soonest is how soon a held item is looked at again.
const soonest = 50 * time.Millisecond

// pass runs items, and returns when none is under way.
func (s *start) pass(ctx context.Context, items []int) {
	settled := make(chan *itemCall, s.concurrency)
	var underWay sync.WaitGroup
	defer underWay.Wait() // also where s.observe panics
	for next, running := 0, 0; ; running-- {
		for running < s.concurrency && next < len(items) && s.mayStart(ctx) {
			a := &itemCall{item: items[next]}
			underWay.Add(1)
			relay.Go(func() { s.attempt(ctx, a) }, func(e relay.Ending) {
				defer underWay.Done()
				s.ended(a, e)
				settled <- a
			})
			next++
			running++
		}
		if running == 0 {
			break
		}
		s.settle(<-settled)
	}
}

// mayStart tells whether another item may be started. Once it says no, it always does.
func (s *start) mayStart(ctx context.Context) bool {
	if s.stopped == nil {
		s.stopped = s.guard.Late(ctx, time.Now())
	}
	return s.stopped == nil && s.unwound == nil
}

// settle takes an attempt into the books.
func (s *start) settle(a *itemCall) {
	if !a.returned && (s.unwound == nil || s.unwound.panicked == nil) {
		s.unwound = a // a panic outdoes a goroutine that was ended
	}
	o := a.outcome()
	if o == itemPending {
		return
	}
	s.counts[s.outcomes[a.item]]--
	s.outcomes[a.item] = o
	s.counts[o]++
	if after := idempotent.VerdictOf(a.err).After; o == itemHeld && (s.askAgain == 0 || after < s.askAgain) {
		s.askAgain = after
	}
	if (o == itemFailed || o == itemPermanent) && len(s.errs) < maxItemErrors {
		s.errs[a.item] = a.err
	}
	s.watchStore(a, o)
	if s.observe != nil {
		s.observe(s.progress())
	}
}

// watchStore stops the batch where the store has failed for longer than a moment: one
// fault can hit all the items that are under way, but not the next ones too. Items
// that run without a record, by the guard's config, are no reason to stop.
func (s *start) watchStore(a *itemCall, o itemOutcome) {
	fault := a.storeFault()
	if o != itemFailed || fault == nil {
		s.faults = 0
		return
	}
	s.faults++
	if s.stopped == nil && (s.faults > s.concurrency || !persistence.Retryable(fault)) {
		s.stopped = &ItemError{ID: s.ids[a.item], Err: fault}
	}
}

func (s *start) progress() Progress {
	return Progress{
		Total:     len(s.ids),
		Done:      s.counts[itemDone],
		Replayed:  s.counts[itemReplayed],
		Permanent: s.counts[itemPermanent],
		Failed:    s.counts[itemFailed],
		Held:      s.counts[itemHeld],
		Pending:   s.counts[itemPending],
		Elapsed:   time.Since(s.began),
	}
}
