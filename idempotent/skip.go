package idempotent

import "errors"

// released is what is reported of a call that leaves no record behind.
func released(cause error) EventKind {
	if errors.Is(cause, ErrSkip) {
		return EventSkipped
	}
	return EventReleased
}
