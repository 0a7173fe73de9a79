package idempotenttest

import "fmt"

// hint says what a breach may come from.
func (d *director) hint(p promise) string {
	switch p {
	case noExcess:
		return d.excessHint()
	case noClaim:
		return "an error of the guard, such as *idempotent.InProgressError, was taken for a success, or the effect comes after the answer"
	case noDenial:
		return "something is done before the guard, or outside of it"
	case sameAnswer:
		return "the answer is made outside of the guard, or the result is not stored"
	case notLocked:
		return "the lease is longer than Function.Lease, or an error is recorded for good"
	case notTaken:
		return "the key is the same for both, the guard's or the one that the service is given: too little of the event is in it"
	default:
		return ""
	}
}

// excessHint looks at what the services were given.
func (d *director) excessHint() string {
	first := make(map[string]Effect) // by service
	for _, e := range d.Effects() {
		where := e.Service
		if e.step != "" {
			where = fmt.Sprintf("%s in the step %q", e.Service, e.step)
		}
		f, again := first[where]
		first[where] = e
		switch {
		case e.unguarded:
			return e.Service + " was called without a record: before the guard, or because it fails open; move the call into the guarded function"
		case !again:
		case e.Key == "" && e.step != "":
			return where + " was given no key: hand it the Token of its saga.Call"
		case e.Key == "":
			return where + " was given no key: hand it idempotent.DownstreamKey"
		case e.Key == f.Key:
			return e.Service + " ignores the key that it is given: make the call a step that is AtMostOnce with a Reconcile that asks, or accept it in Function.Repeatable"
		case e.What == f.What:
			return where + " was given another key in each try: hand it idempotent.DownstreamKey, or in a step the Token of its saga.Call"
		}
	}
	return "what is written must be found again by a second try: name it after idempotent.DownstreamKey and write it on the condition that it is not there, or enlist it (dynamostore.Enlist)"
}
