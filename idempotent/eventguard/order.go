package eventguard

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// process runs the records of a batch, as many at a time as the config says, and
// returns what became of each: nil where it is done.
func (p processor) process(ctx context.Context, records []record) (errs []error) {
	ctx, end := p.guard.Begin(ctx, idempotent.Event{Kind: idempotent.EventBatch})
	defer func() { end(firstOf(errs)) }()
	p.guard = p.guard.Batch(ctx, p.config.Slowest)
	p.identifyAll(ctx, records)
	ahead := p.guard.LookingAhead(len(records), func(i int) idempotent.Identity { return records[i].identity })
	errs = make([]error, len(records))
	o := newOrder(records)
	var workers sync.WaitGroup
	for range min(p.config.Concurrency, len(records)) {
		workers.Go(func() {
			for i := o.next(); i >= 0; i = o.next() {
				if before := o.behind[i]; before >= 0 && errs[before] != nil {
					errs[i] = ErrHeldBack
				} else {
					of := p
					of.guard = ahead(i)
					errs[i] = of.attempt(ctx, records[i])
				}
				o.done(i)
			}
		})
	}
	workers.Wait()
	return errs
}

// firstOf returns the error of the first record that has one.
func firstOf(errs []error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// identifyAll finds what the records of a batch are about. Those that it does not come to
// while there is time to start them are not started.
func (p processor) identifyAll(ctx context.Context, records []record) {
	for i := 0; i < len(records); i++ { // one goroutine for as many as go well
		err := contain(func() error {
			for ; i < len(records); i++ {
				r := &records[i]
				if r.err == nil {
					r.err = p.guard.Late(ctx, time.Now())
				}
				p.identify(r)
			}
			return nil
		})
		if err != nil {
			records[i].err = err
		}
	}
}

// order is what the records of a batch wait for: those of one group for each other,
// and those of one request, so that one is run and the others are replays. Both keep
// the order of the batch. So the first record that is not done never waits, and which
// of two contents of a key wins is no chance. A record is known by its index.
type order struct {
	behind []int // the record before it in its group; -1 for none

	mu      sync.Mutex
	changed *sync.Cond
	waits   []int   // for how many others it waits
	then    [][]int // which others wait for it
	ready   []int   // wait for nothing, in ascending order
	left    int     // are not done
}

func newOrder(records []record) *order {
	n := len(records)
	o := &order{behind: make([]int, n), waits: make([]int, n), then: make([][]int, n), left: n}
	o.changed = sync.NewCond(&o.mu)
	last := make(map[any]int) // record of a group or request
	wait := func(i int, name any) int {
		before, known := last[name]
		last[name] = i
		if !known {
			return -1
		}
		if !slices.Contains(o.then[before], i) {
			o.then[before] = append(o.then[before], i)
			o.waits[i]++
		}
		return before
	}
	for i, r := range records {
		o.behind[i] = -1
		if r.group != nil {
			o.behind[i] = wait(i, r.group)
		}
		if r.request != "" {
			wait(i, r.request)
		}
		if o.waits[i] == 0 {
			o.ready = append(o.ready, i)
		}
	}
	return o
}

// next returns the lowest record that waits for nothing, once there is one, or -1 when
// all are done.
func (o *order) next() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.ready) == 0 {
		if o.left == 0 {
			return -1
		}
		o.changed.Wait()
	}
	i := o.ready[0]
	o.ready = o.ready[1:]
	return i
}

// done lets those go on that have waited for a record.
func (o *order) done(i int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left--
	for _, other := range o.then[i] {
		if o.waits[other]--; o.waits[other] == 0 {
			at, _ := slices.BinarySearch(o.ready, other)
			o.ready = slices.Insert(o.ready, at, other)
		}
	}
	o.changed.Broadcast()
}
