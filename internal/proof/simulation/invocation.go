package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

// invocation is one call of an operation in one process.
type invocation struct {
	world     *world
	process   *process
	operation operation
	order     order
	key       string
	name      string
	dice      *rand.Rand
	called    time.Time
	owner     string               // of its claim, once it has made one
	leased    bool                 // it has claimed a lease: when it runs, it has got it
	met       string               // the owner of the record that the store has shown it last
	event     idempotent.EventKind // the last that the engine has reported
	id        uint64
	renewal   *invocation // the same, where it renews its lease beside the function; nil there
	books     *books
}

// books are what is known of an invocation, by whatever part of it.
type books struct {
	mu      sync.Mutex
	held    time.Time // the end of its lease, as the store has confirmed it last
	acts    bool      // it has had an effect
	nothing bool      // its answer says that it has had none
}

// holds notes that the invocation's lease ends no earlier than that.
func (i *invocation) holds(until time.Time) {
	i.books.mu.Lock()
	defer i.books.mu.Unlock()
	if until.After(i.books.held) {
		i.books.held = until
	}
}

// until is when the right of the invocation to run ends, as far as its lease goes.
func (i *invocation) until() time.Time {
	i.books.mu.Lock()
	defer i.books.mu.Unlock()
	return i.books.held.Add(-clockSkew)
}

// act notes that the invocation has had an effect.
func (i *invocation) act() {
	i.books.mu.Lock()
	told := i.books.nothing
	i.books.acts = true
	i.books.mu.Unlock()
	if told {
		i.world.broken(Claimed, "%s has had an effect, and its answer said that nothing was done", i.name)
	}
}

type invocationKey struct{}

func invocationOf(ctx context.Context) *invocation {
	return ctx.Value(invocationKey{}).(*invocation)
}

// answer is what comes of an invocation.
type answer struct {
	receipt
	err error
}

var errDied = errors.New("the process died")

// invoke starts an invocation. There is an answer in any case.
func (p *process) invoke(at int, o order) <-chan answer {
	w, id := p.world, p.world.id()
	op := w.operations[at]
	key := w.key(at, o)
	i := &invocation{
		world: w, process: p, operation: op, order: o, key: key,
		name: fmt.Sprintf("%s#%d", p.name, id), dice: w.dice(id), called: time.Now(), id: id, books: new(books),
	}
	beside := *i
	beside.name, beside.dice, beside.leased = i.name+"'s renewal", w.dice(w.id()), true
	i.renewal = &beside
	w.count(calls)
	w.say(i.name, "is called for %s of %d", w.names[key], o.Amount)
	answers := make(chan answer, 1)
	w.ended.Go(func() {
		got := answer{err: errDied}
		defer func() {
			if thrown := recover(); thrown != nil {
				p.die(fmt.Sprint("panic: ", thrown))
			}
			answers <- got
		}()
		ctx, cancel := i.context()
		defer cancel()
		var a answer
		a.receipt, a.err = p.serve[at](ctx, o)
		i.point("before answering")
		i.check(a)
		got = a
	})
	return answers
}

// context is the invocation's, with Lambda's deadline. Where somebody kills the
// process then, that is a moment after the context ends.
func (i *invocation) context() (context.Context, context.CancelFunc) {
	w, ctx := i.world, context.WithValue(context.Background(), invocationKey{}, i)
	if i.order.tenant != "" {
		w.count(tenants)
		ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: i.order.tenant})
	}
	timeout := i.operation.timeout
	if timeout == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, w.distinct(timeout))
	if i.operation.outlives {
		return ctx, cancel
	}
	kill := time.AfterFunc(w.distinct(timeout+time.Millisecond), func() {
		w.count(killed)
		i.process.die(i.name + " timed out")
	})
	return ctx, func() { kill.Stop(); cancel() }
}

// point is a point at which the process may freeze or die. It returns only to
// those whose process is alive.
func (i *invocation) point(where string) {
	w, p := i.world, i.process
	if w.unlucky(i.dice, w.freezes) {
		d := between(i.dice, time.Second, 15*time.Second)
		w.count(freezes)
		w.say(p.name, "freezes for %v: %s %s", d, i.name, where)
		p.freeze(d)
	}
	if w.unlucky(i.dice, w.deaths) {
		p.die(i.name + " " + where)
	}
	p.thaw()
	if p.isDead() {
		runtime.Goexit()
	}
}

// check compares an answer with the books. A function's own error is none: the
// caller has to ask again. Nor is a permanent failure that the engine reports as
// lost or not stored.
func (i *invocation) check(a answer) {
	w := i.world
	if a.err != nil {
		w.say(i.name, "answers %T: %v", a.err, a.err)
	} else {
		w.say(i.name, "answers run %d", a.Run)
	}
	i.checkClaim(a)
	permanent, failed := errors.AsType[*idempotent.PermanentError](a.err)
	failed = failed && !errors.Is(a.err, saga.ErrCompensation) // that one is not over
	switch {
	case errors.Is(a.err, idempotent.ErrInProgress) && i.met == i.owner:
		w.broken(Open, "%s is turned away by its own record", i.name)
	case errors.Is(a.err, idempotent.ErrLeaseLost) && w.stands(i.key).Owner == i.owner:
		w.broken(OwnersOnly, "%s is told that it has lost its own record", i.name)
	case a.err == nil:
		w.verify(i, a.Run, persistence.StatusCompleted)
		if w.bank != nil {
			w.bank.mustBeApplied(i)
		}
	case failed && i.event != idempotent.EventNotStored:
		var id int
		_, _ = fmt.Sscanf(permanent.Message, declined, &id)
		w.verify(i, id, persistence.StatusFailed)
	}
}

// checkClaim compares what an answer claims with what has happened by now.
func (i *invocation) checkClaim(a answer) {
	if a.err == nil {
		return // that claim is the result
	}
	w, claim := i.world, i.world.verdict(a.err)
	w.count(claims(claim.Done))
	i.books.mu.Lock()
	acts := i.books.acts
	i.books.nothing = claim.Done == idempotent.DoneNothing
	i.books.mu.Unlock()
	switch claim.Done {
	case idempotent.DoneNothing:
		if acts {
			w.broken(Claimed, "%s has had an effect, and is told that nothing was done (%s)", i.name, claim.Code)
		}
	case idempotent.DoneSomething:
		if r := w.stands(i.key); r.Owner == i.owner && len(r.Steps) == 0 {
			w.broken(Claimed, "%s is told that a part is done (%s), and its record is %s", i.name, claim.Code, show(r.Record))
		}
	case idempotent.DoneAll:
		if !acts && !w.hasFinished(i.key) {
			w.broken(Claimed, "%s is told that all is done (%s), and nothing is", i.name, claim.Code)
		}
	}
}

// verdict is what the answer with an error says.
func (w *world) verdict(err error) idempotent.Verdict {
	if w.flaw.Verdict != nil {
		return w.flaw.Verdict(err)
	}
	return idempotent.VerdictOf(err)
}
