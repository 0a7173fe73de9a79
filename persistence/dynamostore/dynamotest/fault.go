package dynamotest

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Fault is one rule of the fault plan: which requests it touches, and what it does to them. The zero value of every
// field but Do means "any".
type Fault struct {
	Operation string // only this operation, e.g. "PutItem"
	Table     string // only requests that name this table
	Request   int    // only the request with this Index in the log
	Match     int    // of the requests that fit, the first one touched, counted from 1; 0 is 1
	Times     int    // how many requests are touched, from Match on; 0 is 1, Always has no end
	Do        Effect
}

// Always is Fault.Times without end.
const Always = -1

// Effect is what a Fault does to a request. Several faults may touch one request: their effects come in the order of
// Inject, until one decides the request's fate before it is applied.
type Effect struct {
	name   string
	before func(context.Context, *exchange)
	after  func(context.Context, *exchange)
}

// String names the effect, as the log does.
func (e Effect) String() string { return e.name }

// rule is a fault and how often it has fitted so far.
type rule struct {
	Fault
	fitted int
}

// Inject adds faults to the plan.
func (db *DB) Inject(faults ...Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, f := range faults {
		db.faults = append(db.faults, &rule{Fault: f})
	}
}

// ClearFaults empties the plan.
func (db *DB) ClearFaults() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults = nil
}

// matching counts the request for every rule it fits and gives the effects of those whose turn it is.
func (db *DB) matching(r *Request) []Effect {
	var effects []Effect
	for _, f := range db.faults {
		if f.fits(r) {
			f.fitted++
			if f.isTurn() {
				effects = append(effects, f.Do)
			}
		}
	}
	return effects
}

func (f *rule) fits(r *Request) bool {
	return (f.Operation == "" || f.Operation == r.Operation) &&
		(f.Table == "" || slices.Contains(r.Tables, f.Table)) &&
		(f.Request == 0 || f.Request == r.Index)
}

// isTurn reports whether the request counted last is one to touch.
func (f *rule) isTurn() bool {
	first, times := max(f.Match, 1), f.Times
	if times == 0 {
		times = 1
	}
	return f.fitted >= first && (times < 0 || f.fitted < first+times)
}

// settle decides the request's fate before it is applied.
func (x *exchange) settle(failure *apiError, broken error) {
	x.settled, x.failure, x.broken = true, failure, broken
}

// errConnectionReset is how a broken connection looks to a client of the net package.
func errConnectionReset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

// DropRequest breaks the connection before the request is applied.
func DropRequest() Effect {
	return Effect{name: "request dropped", before: func(_ context.Context, x *exchange) {
		x.settle(nil, errConnectionReset())
	}}
}

// DropReply applies the request and breaks the connection instead of answering.
func DropReply() Effect {
	return Effect{name: "reply dropped", after: func(_ context.Context, x *exchange) {
		x.broken = errConnectionReset()
	}}
}

// FailBefore answers 500 InternalServerError and does not apply the request.
func FailBefore() Effect {
	return Effect{name: "500 before applying", before: func(_ context.Context, x *exchange) {
		x.settle(internalFailure(), nil)
	}}
}

// FailAfter applies the request and answers 500 InternalServerError all the same.
func FailAfter() Effect {
	return Effect{name: "500 after applying", after: func(_ context.Context, x *exchange) {
		x.failure = internalFailure()
	}}
}

// Fail answers the given error, e.g. "ThrottlingException", with that HTTP status and does not apply the request.
func Fail(code, message string, status int) Effect {
	return Effect{name: code, before: func(_ context.Context, x *exchange) {
		e := failure(code, "%s", message)
		e.status = status
		x.settle(e, nil)
	}}
}

// Throttle answers ProvisionedThroughputExceededException.
func Throttle() Effect {
	return Fail("ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded. "+
		"Consider increasing your provisioning level with the UpdateTable API.", http.StatusBadRequest)
}

// TransactionConflict answers as if a transaction held the item: TransactionConflictException, or for a transaction
// TransactionCanceledException with that reason for its first action.
func TransactionConflict() Effect {
	return Effect{name: "transaction conflict", before: func(_ context.Context, x *exchange) {
		if t, ok := x.input.(transaction); ok {
			reasons := make([]cancellationReason, t.actions())
			for i := range reasons {
				reasons[i] = noReason
			}
			if len(reasons) > 0 {
				reasons[0] = cancellationReason{Code: "TransactionConflict", Message: "Transaction is ongoing for the item"}
			}
			x.settle(cancelled(reasons), nil)
			return
		}
		x.settle(failure("TransactionConflictException", "Transaction is ongoing for the item"), nil)
	}}
}

// Cancel answers a transaction as if it had been cancelled for these reasons, one code for each action, "None" for those
// that did not stop it; without any, for no reason that is told.
func Cancel(codes ...string) Effect {
	return Effect{name: "transaction cancelled", before: func(_ context.Context, x *exchange) {
		reasons := make([]cancellationReason, len(codes))
		for i, code := range codes {
			reasons[i] = cancellationReason{Code: code}
		}
		x.settle(cancelled(reasons), nil)
	}}
}

// OmitReasons leaves the reasons out of the errors of cancelled transactions, as DAX and older endpoints do.
func OmitReasons() Effect {
	return Effect{name: "reasons omitted", after: func(_ context.Context, x *exchange) {
		if x.failure == nil {
			return
		}
		bare := *x.failure
		bare.reasons = nil
		x.failure = &bare
	}}
}

// OmitItem leaves the item out of the errors of failed conditions, as DAX and older endpoints do.
func OmitItem() Effect {
	return Effect{name: "item omitted", after: func(_ context.Context, x *exchange) {
		if x.failure == nil {
			return
		}
		bare := *x.failure
		bare.item = nil
		bare.reasons = slices.Clone(bare.reasons)
		for i := range bare.reasons {
			bare.reasons[i].Item = nil
		}
		x.failure = &bare
	}}
}

// DelayBefore waits before the request is applied. If the caller's context ends first, it never is.
func DelayBefore(d time.Duration) Effect {
	return Effect{name: "delayed before applying", before: func(ctx context.Context, x *exchange) {
		if err := wait(ctx, d); err != nil {
			x.settle(nil, err)
		}
	}}
}

// DelayAfter applies the request and waits before answering. If the caller's context ends first, there is no answer.
func DelayAfter(d time.Duration) Effect {
	return Effect{name: "delayed after applying", after: func(ctx context.Context, x *exchange) {
		if err := wait(ctx, d); err != nil {
			x.broken = err
		}
	}}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Before calls the hook when the request has arrived and is not yet applied. The hook may use the database itself.
func Before(hook func(Request)) Effect {
	return Effect{name: "hook before", before: func(_ context.Context, x *exchange) { hook(x.snapshot()) }}
}

// After calls the hook when the request is applied and not yet answered. The hook may use the database itself.
func After(hook func(Request)) Effect {
	return Effect{name: "hook after", after: func(_ context.Context, x *exchange) { hook(x.snapshot()) }}
}

// snapshot is the log entry as it is now.
func (x *exchange) snapshot() Request {
	x.db.mu.Lock()
	defer x.db.mu.Unlock()
	return x.logged.copied()
}

// Held keeps requests that ApplyLater has taken off the wire. The zero value is ready; it is safe for concurrent use.
type Held struct {
	mu      sync.Mutex
	waiting []*exchange
}

// ApplyLater breaks the connection and keeps the request, to be applied when the test calls Release: a duplicate that
// was stuck in the network, or a server that finishes what its client has given up.
func ApplyLater(held *Held) Effect {
	return Effect{name: "held back", before: func(_ context.Context, x *exchange) {
		held.mu.Lock()
		defer held.mu.Unlock()
		held.waiting = append(held.waiting, x)
		x.settle(nil, errConnectionReset())
	}}
}

// Release applies the kept requests now, in the order they arrived, and returns their log entries: Applied tells
// whether the database took them. Nobody hears their replies.
func (h *Held) Release() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	var late []Request
	for _, x := range h.waiting {
		if x.input != nil {
			x.apply()
		}
		late = append(late, x.snapshot())
	}
	h.waiting = nil
	return late
}
