package emf

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/measure"
)

const (
	// maxValues is how many values a metric may have in a line.
	maxValues = 100
	// maxAge is for how long a run that goes on keeps what it has collected to itself.
	maxAge = time.Minute
)

type collectorKey struct{ metrics *Metrics }

// Collect returns a context in which everything is collected until flush is called, which
// prints it. For functions that make many guarded calls in one invocation by themselves:
//
//	ctx, flush := metrics.Collect(ctx)
//	defer flush()
//
// Without it each call would print a line; the records of an event, and the items of a
// batch, are collected anyway.
func (m *Metrics) Collect(ctx context.Context) (collecting context.Context, flush func()) {
	if m.collector(ctx) != nil {
		return ctx, func() {}
	}
	c := &collector{metrics: m, began: time.Now()}
	if caller, ok := lambdacontext.FromContext(ctx); ok {
		c.request = caller.AwsRequestID
	}
	return context.WithValue(ctx, collectorKey{m}, c), c.close
}

func (m *Metrics) collector(ctx context.Context) *collector {
	c, _ := ctx.Value(collectorKey{m}).(*collector)
	return c
}

// observe counts an event.
func (m *Metrics) observe(ctx context.Context, e idempotent.Event) {
	metric, counts := measure.OfEvent(e)
	if !counts {
		return
	}
	ctx, flush := m.Collect(ctx)
	defer flush()
	m.collector(ctx).add(e.Operation, func(s *sums) { s.counts[metric]++ })
}

// trace collects what happens in the outermost part, and measures those within.
func (m *Metrics) trace(ctx context.Context, _ idempotent.Event) (context.Context, func(idempotent.Event)) {
	ctx, flush := m.Collect(ctx)
	return ctx, func(e idempotent.Event) {
		defer flush()
		m.collector(ctx).ended(e)
	}
}

// collector is what happens in an invocation. Safe for concurrent use.
type collector struct {
	metrics *Metrics
	request string // id of the invocation; empty outside of Lambda

	mu     sync.Mutex
	began  time.Time
	closed bool
	sums   []*sums
}

// sums is what has happened of one operation.
type sums struct {
	operation string
	counts    [measure.Metrics]float64
	values    [measure.Metrics][]float64 // of what is timed, in milliseconds
	calls     []calls
}

// calls are those that have ended with a code.
type calls struct {
	code  idempotent.Code
	count int
}

// ended measures a part.
func (c *collector) ended(e idempotent.Event) {
	took := float64(e.Elapsed) / float64(time.Millisecond)
	switch e.Kind {
	case idempotent.EventCall:
		code := e.Code()
		c.add(e.Operation, func(s *sums) { s.called(code) })
	case idempotent.EventRun:
		c.add(e.Operation, func(s *sums) {
			s.counts[measure.Runs]++
			s.values[measure.RunDuration] = append(s.values[measure.RunDuration], took)
		})
	case idempotent.EventRequest:
		c.add(e.Operation, func(s *sums) {
			s.values[measure.RequestDuration] = append(s.values[measure.RequestDuration], took)
			if e.Units > 0 && !math.IsInf(e.Units, 0) { // a number that is none would spoil the line
				s.counts[measure.Units] += e.Units
			}
		})
	}
}

func (s *sums) called(code idempotent.Code) {
	i := slices.IndexFunc(s.calls, func(c calls) bool { return c.code == code })
	if i < 0 {
		s.calls = append(s.calls, calls{code, 1})
		return
	}
	s.calls[i].count++
}

// full tells whether a line can't take another value.
func (s *sums) full() bool {
	return slices.ContainsFunc(s.values[:], func(values []float64) bool { return len(values) >= maxValues })
}

// add adds to the sums of an operation, and prints them where they can't wait.
func (c *collector) add(operation string, to func(*sums)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.sums, func(s *sums) bool { return s.operation == operation })
	if i < 0 {
		i = len(c.sums)
		c.sums = append(c.sums, &sums{operation: operation})
	}
	to(c.sums[i])
	if c.closed || c.sums[i].full() || time.Since(c.began) >= maxAge {
		c.flush()
	}
}

// close prints what is left. What comes later, from a goroutine that outlives its
// invocation, is printed when it comes.
func (c *collector) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.flush()
}

func (c *collector) flush() {
	now := time.Now()
	for _, s := range c.sums {
		c.metrics.print(now, c.request, s)
	}
	c.sums, c.began = nil, now
}
