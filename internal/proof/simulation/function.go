package simulation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

var (
	errTooLate  = errors.New("too late to have an effect")
	errTryAgain = errors.New("try again")
)

// end is how a run of the function ends.
type end int

const (
	succeeds end = iota
	fails
	failsForGood
	panics
	exits // its goroutine
	ends
)

// fulfil is the function of orders: it has its effect once, in the middle, unless its
// context is over by then. It may be slow before and after, and may end badly.
func (w *world) fulfil(ctx context.Context, _ order) (receipt, error) {
	i := invocationOf(ctx)
	limit, _ := ctx.Deadline()
	r := w.open(i, limit)
	defer w.close(r)

	how := i.fate()
	if err := w.pause(ctx, i.work()); err != nil {
		return receipt{}, err
	}
	i.point("before its effect")
	if ctx.Err() != nil || !time.Now().Before(r.until()) {
		return receipt{}, errTooLate
	}
	w.enter(r)
	i.point("after its effect")
	w.sleep(i.work()) // whatever the context says: it only has to tell of the effect

	return r.finish(how)
}

// finish ends a run that has done its work.
func (r *run) finish(how end) (receipt, error) {
	switch how {
	case fails:
		return receipt{}, errTryAgain
	case failsForGood:
		return receipt{}, r.declined()
	case panics:
		panic("in the function")
	case exits:
		runtime.Goexit()
	}
	return receipt{Run: r.id, Amount: r.amount}, nil
}

// declined is how a run fails for good.
func (r *run) declined() error { return idempotent.Permanent(fmt.Errorf(declined, r.id)) }

// fate draws how a run ends.
func (i *invocation) fate() end {
	if i.world.unlucky(i.dice, i.world.failures) {
		return end(i.dice.IntN(int(ends)))
	}
	return succeeds
}

// work draws how long a part of the work takes: now and then about as long as a lease.
func (i *invocation) work() time.Duration {
	if i.world.unlucky(i.dice, i.world.slowness) {
		return between(i.dice, time.Second, 12*time.Second)
	}
	return between(i.dice, time.Millisecond, 400*time.Millisecond)
}
