package records

import (
	"context"
	"errors"
	"fmt"
)

// Resumption is how a request is run again.
type Resumption struct {
	// Invoke sends an event to the guarded function, and returns its error. Required. It is
	// the function's guard that keeps the request from running twice, beside a client's own
	// retry too.
	Invoke func(ctx context.Context, event []byte) error
	// Event to send. Defaults to the one that the record keeps.
	Event []byte
	// RecordKey, if set, tells the key of the record that an event has, such as a guard's
	// RecordKey: an event of another request is refused before anything is sent.
	RecordKey func(ctx context.Context, event []byte) (string, error)
}

// Resume plans to send a request again that was given up, or whose run has died, with the event
// that its record keeps or with a given one. [*RefusedError] where it is finished or has no event,
// [*RunningError] while a lease is live.
func (d *Desk) Resume(ctx context.Context, shown Record, r Resumption) (*Plan, error) {
	p, err := d.plan(shown)
	if err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) (*Plan, error) {
		return nil, &RefusedError{shown.Key, shown.State, fmt.Sprintf(format, args...)}
	}
	if shown.State != StateDied && shown.State != StatePartial {
		return refuse("there is nothing to resume")
	}
	if r.Invoke == nil {
		return refuse("there is no function to send it to")
	}
	event, from := r.Event, "given"
	if event == nil {
		opened, err := d.Open(ctx, shown)
		if err != nil {
			return nil, fmt.Errorf("records: %s: opening its event: %w", shown.Key, err)
		}
		if opened.Event == nil {
			return refuse("it keeps no event, and none was given; lists have none, so show it first")
		}
		event, from = opened.Event.Content, "kept"
	}
	if r.RecordKey != nil {
		key, err := r.RecordKey(ctx, event)
		if err != nil {
			return refuse("the %s event has no key: %v", from, err)
		}
		if key != shown.Key {
			return refuse("the %s event is that of another request, %s", from, key)
		}
	}
	p.does("Send the %s event of %d bytes to the function, which goes on where its record says.", from, len(event))
	if r.RecordKey == nil && r.Event != nil {
		p.note("that the given event is this request's was not checked: the function runs whatever it says.")
	}
	if open := namesIn(shown.Steps, PhaseStarted); open != "" {
		p.note("of %s it is not known whether it has happened. Unless its step has a Reconcile, the function will refuse: settle it first.", open)
	} else if shown.State == StateDied {
		p.note("a guard that refuses unknown outcomes will refuse: settle it first.")
	}
	for _, s := range shown.Steps {
		if s.Phase == PhaseFinished && s.Output != nil && s.Output.Omitted {
			p.note("the output of %s is not recorded. Unless its step has a Reconcile, the function gets no further: settle the request as a whole.", s.Name)
		}
	}
	p.do = func(ctx context.Context) (Record, error) { return d.invoke(ctx, shown, event, r.Invoke) }
	return p, nil
}

// invoke sends an event if its record is what was shown. That somebody else may do so in the same
// moment is for the function's guard to see.
func (d *Desk) invoke(ctx context.Context, shown Record, event []byte, send func(context.Context, []byte) error) (Record, error) {
	before, err := d.Show(ctx, shown.Key)
	_, gone := errors.AsType[*NotFoundError](err)
	switch {
	case gone:
		return Record{}, &ChangedError{Key: shown.Key}
	case err != nil:
		return Record{}, failed(shown.Key, "looking at it once more, before anything is sent", err)
	case before.Version != shown.Version:
		return Record{}, &ChangedError{Key: shown.Key, Now: &before}
	}
	sent := send(ctx, event)
	after, err := d.Show(ctx, shown.Key)
	_, gone = errors.AsType[*NotFoundError](err)
	switch {
	case sent != nil:
		return after, fmt.Errorf("records: %s: sending its event: %w", shown.Key, sent)
	case gone: // as guards leave it that keep no outcome
		return Record{}, nil
	case err != nil:
		return Record{}, fmt.Errorf("records: %s: it was sent; looking at what has become of it: %w", shown.Key, err)
	case after.Version == before.Version:
		// No RefusedError: it is not that nothing was done.
		return after, fmt.Errorf("records: %s: the function has run and answered, and has not touched the record: it may have another guard, or the event another key. Find out what it has done", after.Key)
	default:
		return after, nil
	}
}
