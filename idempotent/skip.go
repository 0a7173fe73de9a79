package idempotent

import "errors"

// ErrSkip says that there is nothing to do for a request: an event that is not for its
// consumer. A function that returns it has done nothing: its record is released, and
// the event is EventSkipped. Package eventguard acknowledges such records; elsewhere it
// is an error like others.
var ErrSkip = errors.New("idempotent: nothing to do")

// EventSkipped says that there was nothing to do ([ErrSkip]), and that nothing is
// recorded.
const EventSkipped EventKind = "skipped"

// released is what is reported of a call that leaves no record behind.
func released(cause error) EventKind {
	if errors.Is(cause, ErrSkip) {
		return EventSkipped
	}
	return EventReleased
}
