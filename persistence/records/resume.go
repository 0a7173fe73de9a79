package records

import "context"

// Resumption is how a request is run again.
type Resumption struct {
	// Invoke sends an event to the guarded function, and returns its answer. Required. It is
	// the function's guard that keeps the request from running twice, beside a client's own
	// retry too.
	Invoke func(ctx context.Context, event []byte) ([]byte, error)
	// Event to send. Defaults to the one that the record keeps.
	Event []byte
	// RecordKey, if set, tells the key of the record that an event has, such as a guard's
	// RecordKey: one that is another request's is refused before anything is sent.
	RecordKey func(ctx context.Context, event []byte) (string, error)
}

// Resume plans to send a request again that was given up, or whose run has died, with the event
// that its record keeps or with a given one. [*RefusedError] where it is finished or has no event,
// [*RunningError] while a lease is live.
func (d *Desk) Resume(ctx context.Context, shown Record, r Resumption) (*Plan, error) {
	return d.resume(ctx, shown, r)
}
