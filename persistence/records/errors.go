package records

import (
	"fmt"
	"time"
)

// NotFoundError says that there is no record of a key.
type NotFoundError struct {
	Key string // that was looked for
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("records: there is no record %s", e.Key) }

// RunningError says that a run is under way, or may be: nothing is done about its record.
type RunningError struct {
	Key string // of the record
	// LeaseUntil is when its lease ends, if it is not renewed; zero where no end is known.
	LeaseUntil time.Time
}

func (e *RunningError) Error() string {
	if e.LeaseUntil.IsZero() {
		return fmt.Sprintf("records: %s is being run, with a lease that has no end", e.Key)
	}
	return fmt.Sprintf("records: %s is being run; its lease ends at %s, unless it is renewed", e.Key, e.LeaseUntil.UTC().Format(time.RFC3339))
}

// ChangedError says that a record is not what was shown any more, and that nothing was done.
// An earlier try whose answer was lost may be what has changed it.
type ChangedError struct {
	Key string // of the record
	// Now is the record as it is; nil where there is none.
	Now *Record
}

func (e *ChangedError) Error() string {
	if e.Now == nil {
		return fmt.Sprintf("records: %s is gone since it was shown; nothing was done", e.Key)
	}
	return fmt.Sprintf("records: %s has changed since it was shown: it is %s now; nothing was done", e.Key, e.Now.State)
}

// RefusedError says why something can't be done about a record in its state.
type RefusedError struct {
	Key    string // of the record
	State  State  // that it is in
	Reason string // why that is not done to it
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("records: %s is %s: %s", e.Key, e.State, e.Reason)
}
