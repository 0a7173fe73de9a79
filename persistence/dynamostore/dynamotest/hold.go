package dynamotest

import (
	"context"
	"sync"
)

// Held keeps requests that Hold or ApplyLater has taken off the wire. The zero value is ready; it is safe for concurrent
// use.
type Held struct {
	mu      sync.Mutex
	arrival *sync.Cond // made when it is needed
	waiting []heldRequest
}

type heldRequest struct {
	exchange *exchange
	applied  chan struct{} // closed when it is
}

// keep takes the request off the wire.
func (h *Held) keep(x *exchange) heldRequest {
	held := heldRequest{x, make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, held)
	h.arrivals().Broadcast()
	return held
}

// Hold keeps the request on its way, to be applied when the test calls Release, and has its caller wait for the answer. A
// caller that gives up first gets no answer; the request is applied at the Release all the same.
func Hold(held *Held) Effect {
	return Effect{name: "held", before: func(ctx context.Context, x *exchange) {
		request := held.keep(&exchange{db: x.db, logged: x.logged, input: x.input, failure: x.failure})
		select {
		case <-request.applied:
			x.held, x.reply, x.failure = true, request.exchange.reply, request.exchange.failure
		case <-ctx.Done():
			x.settle(nil, context.Cause(ctx))
		}
	}}
}

// ApplyLater breaks the connection and keeps the request, to be applied when the test calls Release: a duplicate that
// was stuck in the network, or a server that finishes what its client has given up.
func ApplyLater(held *Held) Effect {
	return Effect{name: "held back", before: func(_ context.Context, x *exchange) {
		held.keep(x)
		x.settle(nil, errConnectionReset())
	}}
}

// arrivals is told of every request that is kept. The lock is held.
func (h *Held) arrivals() *sync.Cond {
	if h.arrival == nil {
		h.arrival = sync.NewCond(&h.mu)
	}
	return h.arrival
}

// Await returns when that many requests are kept.
func (h *Held) Await(requests int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.waiting) < requests {
		h.arrivals().Wait()
	}
}

// Waiting is how many requests are kept.
func (h *Held) Waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waiting)
}

// Release applies the kept requests now, in the order they arrived, and returns their log entries: Applied tells
// whether the database took them. Callers that still wait get their answers.
func (h *Held) Release() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	var late []Request
	for _, held := range h.waiting {
		if held.exchange.input != nil {
			held.exchange.apply()
		}
		late = append(late, held.exchange.snapshot())
		close(held.applied)
	}
	h.waiting = nil
	return late
}
