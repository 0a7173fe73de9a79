package idempotenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// process is a process of the function. It goes out into the world by crossings, each of
// which is a request to DynamoDB or a call of a service. There it stops when it is dead
// or frozen: a dead one never goes on.
type process struct {
	world *World
	name  string
	died  chan struct{} // closed when it dies

	handler lambda.Handler

	mu      sync.Mutex
	dead    bool
	gate    chan struct{} // while it is frozen; closed when it thaws
	crossed int           // since the plan was made
	plan    map[int]fault
	always  *fault // from a crossing on
	from    int
	seen    []crossing
}

// crossing is a request to DynamoDB or a call of a service.
type crossing struct {
	what    string // as stories tell it
	write   bool   // to DynamoDB
	service bool
}

// fault is what happens to a crossing. The zero fault is none.
type fault struct {
	name   string // as stories tell it: what happens to the request
	before func(*process)
	after  func(*process)           // it is carried out, and the reply not there yet
	effect func() dynamotest.Effect // on a request to DynamoDB
	// Of a call of a service:
	lose      bool // it is not carried out
	loseReply bool
}

// errGone ends what a dead process does when the story is over.
var errGone = errors.New("idempotenttest: the story is over")

// pass lets the process go on when it is neither frozen nor dead.
func (p *process) pass() error {
	for {
		p.mu.Lock()
		dead, gate := p.dead, p.gate
		p.mu.Unlock()
		switch {
		case p.world.isOver():
			return errGone
		case dead:
			<-p.world.over
		case gate != nil:
			select {
			case <-gate:
			case <-p.world.over:
			}
		default:
			return nil
		}
	}
}

// kill ends the process where it is, and reports whether it was alive.
func (p *process) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return false
	}
	p.dead = true
	close(p.died)
	return true
}

// freeze stops the process until the function that is returned is called.
func (p *process) freeze() (thaw func()) {
	gate := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = gate
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.gate == gate {
			p.gate = nil
		}
		close(gate)
	}
}

// freezeFor stops it for a while.
func (p *process) freezeFor(d time.Duration) {
	thaw := p.freeze()
	p.world.Tell("%s freezes, for %v", p.name, d)
	p.world.running.Go(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			p.world.Tell("%s thaws", p.name)
			thaw()
		case <-p.world.over:
		}
	})
}

func (p *process) isFrozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gate != nil
}

// strike has the nth crossing from now on suffer.
func (p *process) strike(nth int, f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plan == nil {
		p.plan = make(map[int]fault)
	}
	p.plan[p.crossed+nth] = f
}

// strikeAll has all crossings suffer from the nth from now on.
func (p *process) strikeAll(nth int, f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.always, p.from = &f, p.crossed+nth
}

// heal takes back what was planned.
func (p *process) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.always = nil, nil
}

// arrive is the process's arrival at a crossing.
func (p *process) arrive(c crossing) (fault, error) {
	if err := p.pass(); err != nil {
		return fault{}, err
	}
	p.mu.Lock()
	p.crossed++
	p.seen = append(p.seen, c)
	f := p.plan[p.crossed]
	if p.always != nil && p.crossed >= p.from {
		f = *p.always
	}
	p.mu.Unlock()
	if f.before != nil {
		f.before(p)
	}
	return f, p.pass()
}

// leave is its way on.
func (p *process) leave(f fault) error {
	if f.after != nil {
		f.after(p)
	}
	return p.pass()
}

// RoundTrip implements [http.RoundTripper]: the process's connection to DynamoDB.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	c, tables, err := describe(r)
	if err != nil {
		return nil, err
	}
	f, err := p.arrive(c)
	if err != nil {
		return nil, err
	}
	sent := r
	if f.effect != nil {
		sent = r.WithContext(dynamotest.WithEffects(r.Context(), f.effect()))
	}
	response, err := p.world.db.RoundTrip(sent)
	outcome, applied, readErr := outcomeOf(response, err, f)
	if readErr != nil {
		return nil, readErr
	}
	p.world.Tell("%s: %s %s", p.name, c.what, outcome)
	if i, ok := r.Context().Value(invocationKey{}).(*Invocation); ok && applied && c.write && slices.Contains(tables, p.world.function.Records.Table) {
		i.acquires()
	}
	if err := p.leave(f); err != nil {
		return nil, err
	}
	return response, err
}

// outcomeOf is what became of a request, for the story.
func outcomeOf(response *http.Response, err error, f fault) (outcome string, applied bool, readErr error) {
	switch {
	case f.name != "":
		return f.name, f.loseReply, nil
	case err != nil:
		return fmt.Sprintf("gets no answer (%v)", err), false, nil
	case response.StatusCode == http.StatusOK:
		return "is carried out", true, nil
	}
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return "", false, err
	}
	var refusal struct {
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(body, &refusal) // what has no type is told by its status
	_, name, _ := strings.Cut(refusal.Type, "#")
	return fmt.Sprintf("is refused (%d %s)", response.StatusCode, name), false, nil
}

// describe reads what a request is about, and leaves it as it was.
func describe(r *http.Request) (c crossing, tables []string, err error) {
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return c, nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	var request struct {
		TableName     string
		RequestItems  map[string]json.RawMessage
		TransactItems []map[string]struct{ TableName string }
	}
	_ = json.Unmarshal(body, &request) // DynamoDB says what is wrong with it
	if request.TableName != "" {
		tables = append(tables, request.TableName)
	}
	tables = slices.AppendSeq(tables, maps.Keys(request.RequestItems))
	for _, item := range request.TransactItems {
		for _, action := range item {
			tables = append(tables, action.TableName)
		}
	}
	slices.Sort(tables)
	tables = slices.Compact(tables)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c = crossing{what: operation, write: !slices.Contains([]string{"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"}, operation)}
	if len(tables) > 0 {
		c.what += " on " + strings.Join(tables, " and ")
	}
	return c, tables, nil
}

// outside carries out a call of something that is not DynamoDB.
func (e *Environment) outside(ctx context.Context, p *process, what string, call func() error) error {
	f, err := p.arrive(crossing{what: what, service: true})
	if err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		p.world.Tell("%s: %s is not made: %v", p.name, what, err)
		return err
	}
	if f.lose {
		p.world.Tell("%s: %s %s", p.name, what, f.name)
		return fmt.Errorf("%s: %w", what, ErrUnreachable)
	}
	err = call()
	outcome := "is carried out"
	switch {
	case err != nil:
		outcome = "fails: " + err.Error()
	case f.loseReply:
		outcome, err = f.name, fmt.Errorf("%s: %w", what, ErrUnreachable)
	}
	p.world.Tell("%s: %s %s", p.name, what, outcome)
	if err := p.leave(f); err != nil {
		return err
	}
	return err
}
