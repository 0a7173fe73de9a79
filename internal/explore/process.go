package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
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
	ended                 // it has its answer
	dead
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
	panics                 // the function
	confirms               // that the step has happened
	denies                 // that the step has happened
	answered               // by the store, in place of all that was seen on the way to that
	dies
)

// Process is one caller of the system's protocol, in a process of its own.
type Process struct {
	// Skew is what its clock shows more than the true time.
	Skew time.Duration

	world *world
	index int
	name  string

	at      moment
	resume  chan signal
	request *request        // at asking and hearing
	ctx     context.Context // of the function that it is in, at running
	doing   string          // which function that is
	ways    []kind          // in which it may end
	asks    string          // the step of which it finds out whether it has happened
	within  context.Context // of the guarded function; nil outside of it
	entered bool            // the guarded function

	past   []event
	met    int      // who had written the record that its last request left alone
	tokens int      // how many owners it has been
	ran    string   // the result of its run; empty before
	did    []string // steps that have succeeded, or are known to have, and marks of those that it has undone
	answer string
	err    error
}

// request is one try of a process to have something done at the table.
type request struct {
	name    string
	reads   bool
	apply   func()  // for the process that waits for the reply
	again   func()  // for nobody
	applied *bool   // this try or another one of the same request
	reply   reply   // once applied
	past    []event // of the process, when it was sent
}

// Ask sends a request for a process: apply carries it out at the table. Where no
// reply comes it is sent once more, as the SDK does. It returns the context's
// error where that has ended before.
func Ask[R any](ctx context.Context, p *Process, name string, apply func() (R, error)) (R, error) {
	var none R
	applied := false
	for range tries {
		if err := ctx.Err(); err != nil {
			return none, err
		}
		var (
			reply R
			err   error
		)
		p.request = &request{
			name:    name,
			reads:   name == Read,
			apply:   func() { reply, err = apply() },
			again:   func() { _, _ = apply() },
			applied: &applied,
			past:    slices.Clip(p.past),
		}
		if p.stop(asking) == arrived {
			return reply, err
		}
	}
	return none, errNoReply
}

// Read is the name of requests that change nothing.
const Read = "GetItem"

// begin begins the process's call.
func (p *Process) begin(protocol Protocol) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		finished := false
		defer func() {
			if p.at == dead {
				return
			}
			if !finished {
				p.err = fmt.Errorf("the call panicked: %v", recover())
			}
			p.at = ended
		}()
		p.answer, p.err = protocol(ctx, p.run)
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
	if p.world.system.AtOnce {
		ways = append(ways, failsForGood)
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
	p.ctx, p.doing, p.ways = ctx, doing, ways
	switch s := p.stop(running); s {
	case fails, breaks:
		return s, errTryAgain
	case declines:
		return s, errDeclined(p.name)
	case panics:
		panic(errTryAgain)
	default:
		return s, nil
	}
}

// works tells whether the process is in the guarded function, or in one that undoes
// it, and has time left.
func (p *Process) works() bool {
	return p.at == running && p.ctx.Err() == nil || p.within != nil && !p.over() && p.within.Err() == nil
}

// stop hands control to the world. A dead process never gets it back: what its
// deferred functions still ask for is not heard either.
func (p *Process) stop(at moment) signal {
	if p.at != dead {
		p.at = at
		if s := <-p.resume; s != dies {
			return s
		}
		p.at = dead
	}
	runtime.Goexit()
	return dies
}

// over tells whether the process does nothing any more.
func (p *Process) over() bool { return p.at == ended || p.at == dead }
