package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
)

// tries is how often a request is sent until its reply arrives. The SDK's own
// default is three; the third shows nothing that the second does not.
const tries = 2

// callTimeout is the time that a caller has, as Lambda's contexts say it.
const callTimeout = 10 * time.Second

var (
	// ErrFailed marks the error of a caller that has got a recorded failure.
	ErrFailed = errors.New("explore: the call has failed for good")
	// ErrRejected marks the error of a caller that was turned away because another
	// run is under way.
	ErrRejected = errors.New("explore: another run is under way")

	errNoReply  = errors.New("explore: no reply")
	errTryAgain = errors.New("explore: the function has failed")
)

// moment is where a process has stopped.
type moment uint8

const (
	idle    moment = iota // it has not started
	asking                // its request is about to be applied
	hearing               // its request was applied, and the reply is on its way
	running               // it is in the guarded function, or in one that belongs to a step of it
	gone                  // it has come to its end, or its process has
)

// signal makes a process go on, or tells what it has seen.
type signal uint8

const (
	arrived  signal = iota // the reply
	lost                   // the request, or its reply
	returns                // the function
	fails                  // the function
	declines               // the function fails for good
	breaks                 // the function fails, and has had its effect
	yields                 // the function is suspended
	panics                 // the function
	confirms               // that the step has happened
	denies                 // that the step has happened
	answered               // by the store, in place of all that was seen on the way to that
	silence                // no reply until the time of the call is over
	refused                // the request, by the table
	gaveUp                 // waiting for the reply, since its context has ended
	asks                   // at a time of its own
	dies
)

// Process is one caller of the system's protocol, in a process of its own.
type Process struct {
	// Skew is what its clock shows more than the true time.
	Skew time.Duration

	world *world
	index int
	name  string
	steps steps // of its saga, as it has declared them
	// execution is that of a durable function which it is an invocation of.
	execution *execution

	// threads are what goes on in it at the same time: the call, the renewals of its
	// lease, and steps beside others. Some of them may not have begun.
	threads []*thread
	begun   bool
	ended   bool // it has its answer
	dead    bool

	within  context.Context // of the guarded function; nil outside of it
	entered bool            // the guarded function

	past     []event
	met      int         // who had written the record that its last request left alone
	tokens   int         // how many owners it has been
	acts     atomic.Bool // something has begun whose effect commits with nothing
	failed   bool        // its execution has, or was refused
	declined bool        // one of its functions has failed for good
	refused  bool        // the table has refused what it asked for, and would again
	wrote    bool        // writes that it has enlisted were applied
	ran      string      // the result of its run; empty before
	returned []string    // steps, in the order in which their functions have returned
	did      []string    // steps that have succeeded, or are known to have, and marks of those that it has undone
	answer   string
	err      error
	broke    bool // the call has panicked
	judged   bool
	verdict  idempotent.Verdict

	mu        sync.Mutex
	abandoned []*request // that it does not wait for any more, and that may be applied yet
	leases    leases
}

// request is one try of a process to have something done at the table.
type request struct {
	name    string
	reads   bool
	commits bool    // the application's writes, too
	apply   func()  // for the process that waits for the reply
	again   func()  // for nobody
	applied *bool   // this try or another one of the same request
	reply   reply   // once applied
	past    []event // of the process, when it was sent
	limit   time.Time
}

// Ask sends a request for a process: apply carries it out at the table. Where no
// reply comes it is sent once more, as the SDK does. It returns the context's
// error where that has ended before.
func Ask[R any](ctx context.Context, p *Process, name string, apply func() (R, error)) (R, error) {
	var none R
	applied := false
	t := p.thread(ctx)
	limit, _ := ctx.Deadline()
	for range tries {
		if err := ctx.Err(); err != nil {
			return none, err
		}
		var (
			reply R
			err   error
		)
		t.request = &request{
			name:    name,
			reads:   name == Read,
			commits: name == transaction,
			apply:   func() { reply, err = apply() },
			again:   func() { _, _ = apply() },
			applied: &applied,
			past:    slices.Clip(p.past),
			limit:   limit,
		}
		switch t.stop(ctx, asking) {
		case arrived:
			return reply, err
		case silence:
			return none, context.DeadlineExceeded
		case refused:
			p.refused = true
			return none, errRefused
		case gaveUp:
			return none, ctx.Err()
		}
	}
	return none, errNoReply
}

// Requests that are of a special kind.
const (
	// Read is the name of requests that change nothing.
	Read = "GetItem"
	// transaction is the name of requests that may carry writes of the application.
	transaction = "TransactWriteItems"
)

// errRefused is DynamoDB's answer to a transaction that it has not carried out, though
// there was nothing wrong with it.
var errRefused = &types.TransactionCanceledException{
	Message:             aws.String("Transaction cancelled"),
	CancellationReasons: []types.CancellationReason{{Code: aws.String("ItemCollectionSizeLimitExceeded")}},
}

// begin begins the process's call.
func (p *Process) begin(protocol Protocol) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		finished := false
		defer func() {
			p.threads[calling].at = gone
			if p.dead {
				return
			}
			if !finished {
				p.err, p.broke = fmt.Errorf("the call panicked: %v", recover()), true
			}
			p.ended = true
		}()
		p.answer, p.err = protocol(p.on(ctx, calling), p.run)
		judge := idempotent.VerdictOf
		if p.world.system.Judge != nil {
			judge = p.world.system.Judge
		}
		p.verdict = judge(plainly(p.err))
		finished = true
	}()
}

// run is the guarded function.
func (p *Process) run(ctx context.Context) (string, error) {
	p.world.enter(ctx, p)
	p.within, p.entered = ctx, true
	defer func() { p.within = nil }()
	if saga := p.world.system.Saga; len(saga) > 0 {
		result, err := saga.run(ctx, p)
		if err != nil {
			return "", err
		}
		p.ran = result
		return result, nil
	}
	ways := []kind{returnsOK, returnsError, unwinds}
	if p.world.system.Guarded {
		ways = append(ways, failsForGood)
	}
	if p.world.system.Durable {
		ways = append(ways, suspends)
	}
	if !p.world.system.AtOnce {
		p.acts.Store(true)
	}
	if _, err := p.pause(ctx, "function", ways...); err != nil {
		return "", err
	}
	if p.world.system.AtOnce {
		enlist(ctx, completion)
	}
	p.ran = p.name + "'s result"
	return p.ran, nil
}

// pause stops in a function, until it ends in one of the ways. Its error is the
// function's.
func (p *Process) pause(ctx context.Context, doing string, ways ...kind) (signal, error) {
	t := p.thread(ctx)
	t.ctx, t.doing, t.ways = ctx, doing, ways
	switch s := t.stop(ctx, running); s {
	case fails, breaks:
		return s, errTryAgain
	case declines:
		p.declined = true
		return s, errDeclined(p.name, p.world.system.Room)
	case yields:
		return s, errSuspended
	case panics:
		panic(errTryAgain)
	default:
		return s, nil
	}
}

// works tells whether the process is in the guarded function, or in one that undoes
// it, and has time left.
func (p *Process) works() bool {
	if p.over() {
		return false
	}
	for _, t := range p.threads {
		if t.at == running && t.ctx.Err() == nil {
			return true
		}
	}
	return p.within != nil && p.within.Err() == nil
}

// over tells whether the process does nothing any more.
func (p *Process) over() bool { return p.ended || p.dead }
