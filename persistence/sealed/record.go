package sealed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// How what a record holds is sealed and opened.

// outcome seals the result of an outcome, unless the store behind refuses it anyway. A
// result that can't be sealed is one that can't be stored: the effect has happened, and
// the record has to say so without it. The writes are those that would follow.
func (s *Store) outcome(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) (persistence.Outcome, error) {
	if err := errors.Join(l.Check(), o.Check()); err != nil || o.ResultOmitted {
		o.Result = nil
		return o, err
	}
	sealed, err := s.seal(ctx, o.Result, resultOf(l, o.Status))
	switch {
	case err != nil && ctx.Err() != nil:
		return o, &persistence.Fault{Op: "complete", Retryable: true, Unwritten: len(writes) > 0, Err: errors.Join(ctx.Err(), err)}
	case err != nil:
		return o, &unsealedError{err}
	}
	o.Result = sealed
	return o, nil
}

// output seals the output of a step. The writes are those that would follow.
func (s *Store) output(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) ([]byte, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	sealed, err := s.seal(ctx, output, outputOf(l.Key, step))
	if err != nil {
		return nil, &persistence.Fault{Op: "checkpoint", Retryable: retryable(err), Unwritten: len(writes) > 0, Err: fmt.Errorf("the output of step %q could not be sealed: %w", step, err)}
	}
	return sealed, nil
}

// record opens what is sealed in a record. The steps of a finished one have no reader.
func (s *Store) record(ctx context.Context, op string, r persistence.Record) (persistence.Record, error) {
	var err error
	switch {
	case r.Status.Finished():
		r.Steps = nil
		if !r.ResultOmitted {
			r.Result, err = s.open(ctx, op, r.Result, resultOf(r.Lease(), r.Status))
		}
	case r.Steps != nil:
		r.Steps, err = s.steps(ctx, op, r)
	}
	if err != nil {
		return persistence.Record{}, err
	}
	return r, nil
}

// openers is how many steps of a record are opened at a time: with KMS each is a request.
const openers = 16

// steps opens all steps of a record, several at a time.
func (s *Store) steps(ctx context.Context, op string, r persistence.Record) (map[string][]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	names := slices.Collect(maps.Keys(r.Steps))
	outputs, errs := make([][]byte, len(names)), make([]error, len(names))
	relay.Each(len(names), openers, func(i int) {
		if outputs[i], errs[i] = s.open(ctx, op, r.Steps[names[i]], outputOf(r.Key, names[i])); errs[i] != nil {
			cancel(errs[i]) // the first one counts
		}
	})
	if errors.Join(errs...) != nil {
		return nil, context.Cause(ctx)
	}
	opened := make(map[string][]byte, len(names))
	for i, name := range names {
		opened[name] = outputs[i]
	}
	return opened, nil
}

// leastReserved is how large the entries of steps are, at least, that a lease reserves
// room for, in bytes. The reserve is a sum, and each entry of it will be sealed.
const leastReserved = 64

// lease returns a lease as the store behind may know it: the steps as large as they are
// when sealed, and nothing of what is in them.
func (s *Store) lease(l persistence.Lease) persistence.Lease {
	longest := 0
	for _, output := range l.Steps {
		longest = max(longest, len(output))
	}
	l.Reserve += (l.Reserve + leastReserved - 1) / leastReserved * s.overhead
	if len(l.Steps) == 0 {
		return l
	}
	blank := make([]byte, longest+s.overhead)
	steps := make(map[string][]byte, len(l.Steps))
	for name, output := range l.Steps {
		end := len(output) + s.overhead
		steps[name] = blank[:end:end]
	}
	l.Steps = steps
	return l
}
