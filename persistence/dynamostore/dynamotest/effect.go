package dynamotest

import (
	"context"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"
)

// Effect is what a Fault does to a request: one of the functions of this package that return one.
type Effect struct {
	name   string
	before func(context.Context, *exchange)
	after  func(context.Context, *exchange)
}

// String names the effect, as the log does.
func (e Effect) String() string { return e.name }

// settle decides the request's fate before it is applied.
func (x *exchange) settle(failure *apiError, broken error) {
	x.settled, x.failure, x.broken = true, failure, broken
}

// errConnectionReset is how a broken connection looks to a client of the net package.
func errConnectionReset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

// LoseRequest breaks the connection before the request is applied.
func LoseRequest() Effect {
	return Effect{name: "request lost", before: func(_ context.Context, x *exchange) {
		x.settle(nil, errConnectionReset())
	}}
}

// LoseReply applies the request and breaks the connection instead of answering.
func LoseReply() Effect {
	return Effect{name: "reply lost", after: func(_ context.Context, x *exchange) {
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

// Deny answers AccessDeniedException, as for a function whose role lacks the permission.
func Deny() Effect {
	return Effect{name: "access denied", before: func(_ context.Context, x *exchange) {
		e := &apiError{status: http.StatusBadRequest, typ: accessDenied}
		e.message = "User: arn:aws:sts::000000000000:assumed-role/function/local is not authorized to perform: dynamodb:" + x.logged.Operation +
			" on resource: " + x.resource() + " because no identity-based policy allows the dynamodb:" + x.logged.Operation + " action"
		x.settle(e, nil)
	}}
}

// resource is the ARN of the table that the request is about, of several the first.
func (x *exchange) resource() string {
	if len(x.logged.Tables) == 0 {
		return "*"
	}
	return arnPrefix + x.logged.Tables[0]
}

// TransactionConflict answers as if a transaction held the item: TransactionConflictException, or for a transaction
// TransactionCanceledException with that reason for its first action.
func TransactionConflict() Effect {
	return Effect{name: "transaction conflict", before: func(_ context.Context, x *exchange) {
		if t, ok := x.input.(transaction); ok {
			x.settle(cancelledAtFirst(t, cancellationReason{Code: "TransactionConflict", Message: "Transaction is ongoing for the item"}), nil)
			return
		}
		x.settle(failure("TransactionConflictException", "Transaction is ongoing for the item"), nil)
	}}
}

// cancelledAtFirst is the error of a transaction that its first action stopped.
func cancelledAtFirst(t transaction, first cancellationReason) *apiError {
	reasons := make([]cancellationReason, t.actions())
	for i := range reasons {
		reasons[i] = noReason
	}
	if len(reasons) > 0 {
		reasons[0] = first
	}
	return cancelled(reasons)
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
