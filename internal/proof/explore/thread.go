package explore

import (
	"context"
	"runtime"
)

// The threads of a process. Those of steps follow, in the order of the saga.
const (
	calling = iota
	renewing
	stepping
)

// thread is something of a process that goes on by itself.
type thread struct {
	p      *Process
	number int
	name   string // after that of the process, where there are several

	at      moment
	resume  chan signal
	request *request        // at asking and hearing
	ctx     context.Context // of the function that it is in, at running
	doing   string          // which function that is
	ways    []kind          // in which it may end
	asks    string          // the step of which it finds out whether it has happened
}

type threadKey struct{}

// on returns a context in which a process goes on in a thread.
func (p *Process) on(ctx context.Context, number int) context.Context {
	return context.WithValue(ctx, threadKey{}, p.threads[number])
}

// thread returns the one that ctx belongs to.
func (p *Process) thread(ctx context.Context) *thread {
	if t, ok := ctx.Value(threadKey{}).(*thread); ok {
		return t
	}
	return p.threads[calling]
}

// stop hands control to the world. A thread of a dead process never gets it back: what
// its deferred functions still ask for is not heard either. One that renews a lease does
// so until its context ends.
func (t *thread) stop(ctx context.Context, at moment) signal {
	p := t.p
	if p.dead {
		runtime.Goexit()
	}
	t.at = at
	var (
		s     signal
		ended <-chan struct{}
	)
	if t.number == renewing {
		ended = ctx.Done()
	}
	select {
	case s = <-t.resume:
	case <-ended:
		p.meet()
		s = gaveUp
	}
	if p.dead || s == dies {
		t.at = gone
		runtime.Goexit()
	}
	if s == gaveUp {
		p.abandon(t, at)
	}
	return s
}

// meet tells the race detector that the world has stopped before time passes, and that
// whoever is woken by the time goes on after that.
func (p *Process) meet() {
	p.mu.Lock()
	p.mu.Unlock() //nolint:staticcheck // that is all
}

// abandon notes that a thread does not wait any more for what it has asked for.
func (p *Process) abandon(t *thread, at moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at == asking && !t.request.reads {
		p.abandoned = append(p.abandoned, t.request)
	}
	t.at = gone
	p.past = append(p.past, event{thread: t.number, signal: gaveUp, at: p.world.now()})
}

// pauses tells whether a thread waits for the world to decide.
func (t *thread) pauses() bool { return t.at == asking || t.at == hearing || t.at == running }
