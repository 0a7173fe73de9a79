package lincheck

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/anishathalye/porcupine"
)

// history is what the clients of one round called and were told. Safe for
// concurrent use while it is written.
type history struct {
	// moments counts the starts and ends of calls. A call that starts after
	// another has ended has the larger number; no clock could promise that.
	moments atomic.Int64

	mu         sync.Mutex
	operations []porcupine.Operation
}

// during records a call that play makes, from before it begins to prepare its
// arguments until it has its answer.
func (h *history) during(ctx context.Context, client int, play func(ctx context.Context) (call, answer)) {
	var lost atomic.Int64
	o := porcupine.Operation{ClientId: client, Call: h.moments.Add(1)}
	c, a := play(context.WithValue(ctx, lostAnswers{}, &lost))
	o.Return = h.moments.Add(1)
	o.Input, o.Output = c, a

	h.mu.Lock()
	defer h.mu.Unlock()
	tries := lost.Load()
	if a.verdict == unanswered {
		tries = max(tries, 1)
	} else {
		h.operations = append(h.operations, o)
	}
	o.Output = answer{verdict: unanswered}
	for range tries {
		h.operations = append(h.operations, o)
	}
}

// lostAnswers is the context's key of the number of tries of a call that nobody
// has heard of again.
type lostAnswers struct{}

// Unanswered says that below the store a request, sent within a call that got
// this context, may have been carried out or not, and may be repeated. Contexts
// of other calls are ignored. What is not told here is taken for a store's fault:
// a repeated request that changes something twice is then no single step.
func Unanswered(ctx context.Context) {
	if lost, ok := ctx.Value(lostAnswers{}).(*atomic.Int64); ok {
		lost.Add(1)
	}
}
