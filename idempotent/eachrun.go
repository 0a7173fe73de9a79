package idempotent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/internal/result"
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

// batchRun is one start of a batch. Its items are known by their indices. All fields
// belong to the goroutine that called Each; those that run items only read what is
// fixed.
type batchRun struct {
	guard       *Guard
	name        string
	ids         []string
	content     func(item int) any
	run         func(ctx context.Context, item int) error
	observe     func(Progress)
	concurrency int

	timing   batchTiming
	started  time.Time
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
func (r *batchRun) all(ctx context.Context) {
	items := make([]int, len(r.ids))
	for item := range items {
		items[item] = item
	}
	r.pass(ctx, items)
	patience := time.Now().Add(r.guard.config.Lease)
	for held := r.held(); len(held) > 0 && r.pause(ctx, patience); held = r.held() {
		r.pass(ctx, held)
	}
	switch {
	case r.unwound == nil:
	case r.unwound.panicked != nil:
		panic(r.unwound.panicked)
	default:
		runtime.Goexit()
	}
}

// held returns the items that another start holds.
func (r *batchRun) held() []int {
	var items []int
	for item, o := range r.outcomes {
		if o == itemHeld {
			items = append(items, item)
		}
	}
	return items
}

// pause waits until it is worth looking at held items again. It returns false where
// there is no time for it, or no patience.
func (r *batchRun) pause(ctx context.Context, patience time.Time) bool {
	again := wallClock().Add(max(r.askAgain, firstPoll))
	if last := r.timing.lastStart(); !r.mayStart(ctx) || again.After(patience) || !last.IsZero() && !again.Before(last) {
		return false
	}
	r.askAgain = 0
	return pauseUntil(ctx, again) == nil
}

// pass runs items, and returns when none is under way.
func (r *batchRun) pass(ctx context.Context, items []int) {
	settled := make(chan *itemCall, r.concurrency)
	var underWay sync.WaitGroup
	defer underWay.Wait() // also where r.observe panics
	for next, running := 0, 0; ; running-- {
		for running < r.concurrency && next < len(items) && r.mayStart(ctx) {
			a := &itemCall{item: items[next]}
			starting := StartBy(ctx, r.timing.lastStart()) // here: the timing is not the item's to read
			underWay.Go(func() { r.start(starting, a, settled) })
			next++
			running++
		}
		if running == 0 {
			break
		}
		r.settle(<-settled)
	}
}

// mayStart tells whether another item may be started. Once it says no, it always does.
func (r *batchRun) mayStart(ctx context.Context) bool {
	if r.stopped == nil {
		r.stopped = tooLate(ctx, r.timing.lastStart())
	}
	return r.stopped == nil && r.unwound == nil
}

// itemCall is the guarded call of an item, and what came of it.
type itemCall struct {
	item int

	ran      bool  // the function was called
	err      error // of the call
	event    Event // the last one: what became of the record
	elapsed  time.Duration
	panicked *ItemPanic
	returned bool // neither panicked nor ended its goroutine
}

// start makes an attempt. A panic stops here, after the guard has released the record:
// in this goroutine it would end the process before the others are settled.
func (r *batchRun) start(ctx context.Context, a *itemCall, settled chan<- *itemCall) {
	started := time.Now()
	defer func() {
		if value := recover(); value != nil {
			a.panicked = &ItemPanic{ID: r.ids[a.item], Value: value, Stack: debug.Stack()}
		}
		a.elapsed = time.Since(started)
		settled <- a
	}()
	r.call(ctx, a)
	a.returned = true
}

// call runs the item's function guarded.
func (r *batchRun) call(ctx context.Context, a *itemCall) {
	outer, _ := ctx.Value(observerKey{}).(func(context.Context, Event))
	observed := WithObserver(ctx, func(ctx context.Context, e Event) {
		a.event = e
		if outer != nil {
			outer(ctx, e)
		}
	})
	_, a.err = DoAs(observed, r.guard, r.identity(a.item), func(ctx context.Context) (json.RawMessage, error) {
		a.ran = true
		return nil, r.run(ctx, a.item)
	})
}

// identity is what an item is recognised by.
func (r *batchRun) identity(item int) Identity {
	if r.guard.config.Fingerprint == nil {
		return r.guard.IdentifyItem(r.name, r.ids[item], nil)
	}
	payload, err := result.EncodeEvent(r.content(item))
	if err != nil {
		return r.guard.identity(identity{}, err)
	}
	return r.guard.IdentifyItem(r.name, r.ids[item], payload)
}

// outcome says what an attempt has come to. The errors alone don't tell: the function
// may return any of the guard's as its own.
func (a *itemCall) outcome() itemOutcome {
	kind := a.event.Kind
	switch {
	case !a.returned:
		return itemPending
	case kind == EventReplayed && (a.err == nil || errors.Is(a.err, ErrResultNotStored)):
		return itemReplayed
	case a.err == nil:
		return itemDone
	case (kind == EventExecuted || kind == EventReplayed) && errors.Is(a.err, ErrPermanent):
		return itemPermanent
	case kind == EventInProgress:
		return itemHeld
	case !a.ran && errors.Is(a.err, ErrNotStarted):
		return itemPending
	default:
		return itemFailed
	}
}

// storeFault is why the store failed in the attempt; nil where it did not, or where it
// was this item's record that it could do nothing with.
func (a *itemCall) storeFault() error {
	switch {
	case a.event.Kind != EventStoreFailed && a.event.Kind != EventNotStored:
		return nil
	case errors.Is(a.event.Err, persistence.ErrUnreadable),
		errors.Is(a.event.Err, persistence.ErrInvalid),
		errors.Is(a.event.Err, persistence.ErrTooLarge):
		return nil
	default:
		return a.event.Err
	}
}

// settle takes an attempt into the books.
func (r *batchRun) settle(a *itemCall) {
	if !a.returned && (r.unwound == nil || r.unwound.panicked == nil) {
		r.unwound = a // a panic outdoes a goroutine that was ended
	}
	if a.ran {
		r.timing.slowest = max(r.timing.slowest, a.elapsed)
	}
	o := a.outcome()
	if o == itemPending {
		return
	}
	r.counts[r.outcomes[a.item]]--
	r.outcomes[a.item] = o
	r.counts[o]++
	if after := VerdictOf(a.err).After; o == itemHeld && (r.askAgain == 0 || after < r.askAgain) {
		r.askAgain = after
	}
	if (o == itemFailed || o == itemPermanent) && len(r.errs) < maxItemErrors {
		r.errs[a.item] = a.err
	}
	r.watchStore(a, o)
	if r.observe != nil {
		r.observe(r.progress())
	}
}

// watchStore stops the batch where the store has failed for longer than a moment: one
// fault can hit all the items that are under way, but not the next ones too. Items
// that run without a record, by the guard's config, are no reason to stop.
func (r *batchRun) watchStore(a *itemCall, o itemOutcome) {
	fault := a.storeFault()
	if o != itemFailed || fault == nil {
		r.faults = 0
		return
	}
	r.faults++
	if r.stopped == nil && (r.faults > r.concurrency || !persistence.Retryable(fault)) {
		r.stopped = &ItemError{ID: r.ids[a.item], Err: fault}
	}
}

func (r *batchRun) progress() Progress {
	return Progress{
		Total:     len(r.ids),
		Done:      r.counts[itemDone],
		Replayed:  r.counts[itemReplayed],
		Permanent: r.counts[itemPermanent],
		Failed:    r.counts[itemFailed],
		Held:      r.counts[itemHeld],
		Pending:   r.counts[itemPending],
		Elapsed:   time.Since(r.started),
	}
}

// batchTiming says until when items may be started.
type batchTiming struct {
	deadline time.Time     // zero where there is none
	reserve  time.Duration // that the config asks for; 0 where it is to be found out
	least    time.Duration // reserve as long as no item has taken longer
	slowest  time.Duration // item so far
}

func newBatchTiming(ctx context.Context, reserve time.Duration) batchTiming {
	t := batchTiming{reserve: reserve}
	if deadline, ok := ctx.Deadline(); ok {
		t.deadline = deadline
		t.least = min(time.Second, max(deadline.Sub(wallClock()), 0)/5)
	}
	return t
}

// lastStart is when an item may be started at the latest; zero if at any time.
func (t batchTiming) lastStart() time.Time {
	if t.deadline.IsZero() {
		return time.Time{}
	}
	return t.deadline.Add(-cmp.Or(t.reserve, max(t.least, 2*t.slowest)))
}

// tooLate says that it is too late to start an item, if it is.
func tooLate(ctx context.Context, lastStart time.Time) error {
	return budget{startBy: lastStart}.late(ctx, "")
}
