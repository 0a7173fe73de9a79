package lincheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// call is one call of a store's method, with its arguments: the input of an
// operation in a history.
type call interface {
	// on is the sequential model: what the call makes of a record.
	on(r record) (record, Event)
	// send makes the call. The record is what the store showed, if it shows any.
	send(ctx context.Context, s persistence.Store) (record, error)
	// target is the key that the call is about.
	target() string
	fmt.Stringer
}

type (
	claim      struct{ persistence.Claim }
	completion struct {
		lease   persistence.Lease
		outcome persistence.Outcome
	}
	release    struct{ lease persistence.Lease }
	checkpoint struct {
		lease        persistence.Lease
		step, output string
	}
	reading struct{ key string }
)

func (c claim) target() string      { return c.Key }
func (c completion) target() string { return c.lease.Key }
func (c release) target() string    { return c.lease.Key }
func (c checkpoint) target() string { return c.lease.Key }
func (c reading) target() string    { return c.key }

func (c claim) send(ctx context.Context, s persistence.Store) (record, error) {
	r, err := s.Acquire(ctx, c.Claim)
	return recordOf(r), err
}

func (c completion) send(ctx context.Context, s persistence.Store) (record, error) {
	return record{}, s.Complete(ctx, c.lease, c.outcome)
}

func (c release) send(ctx context.Context, s persistence.Store) (record, error) {
	return record{}, s.Release(ctx, c.lease)
}

func (c checkpoint) send(ctx context.Context, s persistence.Store) (record, error) {
	return record{}, s.(persistence.Checkpointer).Checkpoint(ctx, c.lease, c.step, []byte(c.output))
}

func (c reading) send(ctx context.Context, s persistence.Store) (record, error) {
	r, found, err := s.(persistence.Reader).Read(ctx, c.key)
	if !found {
		return record{}, err
	}
	return recordOf(r), err
}

func recordOf(r persistence.Record) record {
	shown := record{
		key: r.Key, status: r.Status, owner: r.Owner, fingerprint: r.Fingerprint,
		result: string(r.Result), omitted: r.ResultOmitted, attempt: r.Attempt,
	}
	if !r.LeaseUntil.IsZero() {
		shown.leaseUntil = r.LeaseUntil.UnixMilli()
	}
	if !r.ExpiresAt.IsZero() {
		shown.expiresAt = r.ExpiresAt.Unix()
	}
	for name, output := range r.Steps {
		if shown.steps == nil {
			shown.steps = make(map[string]string)
		}
		shown.steps[name] = string(output)
	}
	return shown
}

// lease is what the owner of a record that was shown knows of it.
func (r record) lease() persistence.Lease {
	l := persistence.Lease{Key: r.key, Owner: r.owner, Fingerprint: r.fingerprint, Steps: make(map[string][]byte)}
	for name, output := range r.steps {
		l.Steps[name] = []byte(output)
	}
	return l
}

// answer is what a caller was told: the output of an operation in a history.
type answer struct {
	verdict verdict
	shown   record // by Acquire and Read
}

type verdict int

const (
	granted    verdict = iota // a nil error
	leaseLost                 // persistence.ErrLeaseLost
	settled                   // a *persistence.SettledError
	unanswered                // whether the call was carried out is not known
)

// answerOf sorts an answer. The error is one that the contract does not foresee
// for the calls that are made here.
func answerOf(shown record, err error) (answer, error) {
	var fault *persistence.Fault
	var otherwise *persistence.SettledError
	switch {
	case err == nil:
		return answer{granted, shown}, nil
	case errors.As(err, &otherwise):
		return answer{settled, recordOf(otherwise.Record)}, nil
	case errors.Is(err, persistence.ErrLeaseLost):
		return answer{verdict: leaseLost}, nil
	case errors.As(err, &fault):
		return answer{verdict: unanswered}, nil
	default:
		return answer{}, err
	}
}

// The texts are for people who look for what went wrong: short, with times as
// seconds since the start of the history.

func (c claim) String() string {
	text := fmt.Sprintf("acquire as %s at %s, lease until %s, record until %s",
		c.Owner, clock(c.Now.UnixMilli()), clock(c.LeaseUntil.UnixMilli()), clock(c.ExpiresAt.UnixMilli()))
	if c.Fingerprint != "" {
		text += ", payload " + c.Fingerprint
	}
	if c.RefuseUnknown {
		text += ", refusing an unknown outcome"
	}
	return text
}

func (c completion) String() string {
	result := fmt.Sprintf("%q", c.outcome.Result)
	if c.outcome.ResultOmitted {
		result = "no result"
	}
	return fmt.Sprintf("complete as %s: %s with %s until %s", c.lease.Owner, c.outcome.Status, result, clock(c.outcome.ExpiresAt.UnixMilli()))
}

func (c release) String() string { return "release as " + c.lease.Owner }

func (c checkpoint) String() string {
	return fmt.Sprintf("checkpoint as %s: %s = %q", c.lease.Owner, c.step, c.output)
}

func (c reading) String() string { return "read" }

// describe puts a call and its answer into one line.
func describe(c call, a answer) string {
	told := "ok"
	_, claims := c.(claim)
	_, reads := c.(reading)
	switch {
	case a.verdict == leaseLost:
		told = "lease lost"
	case a.verdict == unanswered:
		told = "no answer"
	case a.verdict == settled:
		told = "settled otherwise: " + a.shown.String()
	case claims, reads:
		told = a.shown.String()
	}
	return fmt.Sprintf("%v → %s", c, told)
}

func (r record) String() string {
	if !r.exists() {
		return "no record"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s of %s, attempt %d", r.status, r.owner, r.attempt)
	if r.leaseUntil != 0 {
		fmt.Fprintf(&text, ", lease until %s", clock(r.leaseUntil))
	}
	if r.expiresAt != 0 {
		fmt.Fprintf(&text, ", record until %s", clock(r.expiresAt*1000))
	}
	if r.fingerprint != "" {
		fmt.Fprintf(&text, ", payload %s", r.fingerprint)
	}
	if len(r.steps) > 0 {
		fmt.Fprintf(&text, ", steps %q", r.steps)
	}
	if r.omitted {
		text.WriteString(", no result")
	} else if r.finished() {
		fmt.Fprintf(&text, ", result %q", r.result)
	}
	return text.String()
}

func clock(ms int64) string { return time.Duration((ms - start.UnixMilli()) * 1e6).String() }
