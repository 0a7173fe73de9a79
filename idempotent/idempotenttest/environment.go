package idempotenttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Environment is a Lambda environment of the function: a process with connections of its
// own, that can be killed, frozen and cut off. What is said of a request is also true of
// the call of a service. Requests are counted from 1, from now on, of this environment.
type Environment struct {
	*World

	name string

	mu      sync.Mutex
	process *process
}

// Restart replaces the process by a new one, made by Function.New. The old one is dead.
func (e *Environment) Restart() {
	e.t.Helper()
	p := &process{world: e.World, name: e.name, died: make(chan struct{})}
	e.mu.Lock()
	old := e.process
	e.process = p
	e.mu.Unlock()
	if old != nil {
		old.kill()
		e.Tell("%s starts again", e.name)
	}
	handler, err := e.function.New(e)
	if err != nil {
		e.t.Fatalf("the function can't be made: %v", err)
	}
	p.handler = lambda.NewHandler(handler)
}

func (e *Environment) current() *process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.process
}

// Client is the client of DynamoDB of the process that is there now: the SDK's own.
func (e *Environment) Client() *dynamodb.Client {
	p := e.current()
	return e.db.Client(func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: p}
	})
}

// Name is the environment's name in the story.
func (e *Environment) Name() string { return e.name }

// Kill kills the process: it stops where it is, and nothing of it is done any more, not
// even what it has deferred. Invocations under way answer [ErrKilled]. Restart comes next.
func (e *Environment) Kill() {
	if e.current().kill() {
		e.Tell("%s is killed", e.name)
	}
}

// KillBefore kills the process when its nth request is about to be sent.
func (e *Environment) KillBefore(nth int) { e.current().strike(nth, diesBefore()) }

// KillAfter kills the process when its nth request is carried out, and the reply is not
// there yet.
func (e *Environment) KillAfter(nth int) { e.current().strike(nth, diesAfter()) }

// LoseRequest breaks the connection before its nth request is carried out.
func (e *Environment) LoseRequest(nth int) { e.current().strike(nth, requestLost()) }

// LoseReply carries its nth request out and breaks the connection instead of answering.
func (e *Environment) LoseReply(nth int) { e.current().strike(nth, replyLost()) }

// Freeze stops the process for a while, wherever it is about to send a request or to get
// a reply. Time goes on: an invocation under way answers [ErrTimedOut] when its
// time is over, and the process goes on afterwards, unlike one that Lambda has killed.
func (e *Environment) Freeze(d time.Duration) { e.current().freezeFor(d) }

// FreezeBefore freezes it when its nth request is about to be sent.
func (e *Environment) FreezeBefore(nth int, d time.Duration) {
	e.current().strike(nth, fault{before: func(p *process) { p.freezeFor(d) }})
}

// FreezeAfter freezes it when its nth request is carried out, and the reply is not there
// yet.
func (e *Environment) FreezeAfter(nth int, d time.Duration) {
	e.current().strike(nth, fault{after: func(p *process) { p.freezeFor(d) }})
}

// Invocation is an invocation under way.
type Invocation struct {
	done   chan struct{}
	answer Answer

	mu       sync.Mutex
	ended    bool
	acquired bool // a write to the records' table was carried out
}

type invocationKey struct{}

// Wait waits for the answer.
func (i *Invocation) Wait() Answer {
	<-i.done
	return i.answer
}

func (i *Invocation) acquires() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.acquired = true
}

func (i *Invocation) hasAcquired() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.acquired
}

// end answers, unless there is an answer. What is told of it is told before anybody hears
// it.
func (i *Invocation) end(a Answer, tell func()) {
	i.mu.Lock()
	late := i.ended
	i.ended = true
	i.mu.Unlock()
	if late {
		return
	}
	i.answer = a
	tell()
	close(i.done)
}

// Invoke sends an event and waits for the answer, as Lambda does: until the time-out,
// when the process is killed. The event is as in [Function].
func (e *Environment) Invoke(event any) Answer {
	e.t.Helper()
	return e.Begin(event).Wait()
}

// Begin sends an event and does not wait.
func (e *Environment) Begin(event any) *Invocation {
	e.t.Helper()
	return e.begin("an event", event)
}

func (e *Environment) begin(what string, event any) *Invocation {
	e.t.Helper()
	content, err := payload(event)
	if err != nil {
		e.t.Fatalf("the event has no JSON form: %v", err)
	}
	p := e.current()
	if p.isDead() {
		e.t.Fatalf("%s is dead; Restart it", e.name)
	}
	i := &Invocation{done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), invocationKey{}, i), e.function.Timeout)
	e.World.mu.Lock()
	e.invocations++
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", e.invocations)
	e.cancels = append(e.cancels, cancel)
	e.World.mu.Unlock()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: id})
	e.Tell("%s arrives at %s", what, e.name)
	e.running.Go(func() { p.run(ctx, i, content) })
	e.running.Go(func() { p.watch(ctx, i) })
	return i
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// run runs the handler. One that does not return has panicked, or ended its goroutine.
func (p *process) run(ctx context.Context, i *Invocation, content []byte) {
	a := Answer{Err: ErrPanicked}
	defer func() {
		if reason := recover(); reason != nil {
			a.Err = fmt.Errorf("%w: %v", ErrPanicked, reason)
		}
		i.end(a, func() {
			p.world.Tell("%s %v", p.name, a)
			if errors.Is(a.Err, ErrPanicked) { // Lambda ends the process
				p.kill()
			}
		})
	}()
	answer, err := p.handler.Invoke(ctx, content)
	a = Answer{Payload: bytes.Clone(answer), Err: err}
}

// watch ends the invocation when the process dies, or the time is over.
func (p *process) watch(ctx context.Context, i *Invocation) {
	select {
	case <-i.done:
	case <-p.world.over:
	case <-p.died:
		i.end(Answer{Err: ErrKilled}, func() {})
	case <-ctx.Done():
		i.end(Answer{Err: ErrTimedOut}, func() {
			p.world.Tell("%s has not answered in time", p.name)
			if !p.isFrozen() {
				p.kill()
			}
		})
	}
}
