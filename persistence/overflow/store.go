package overflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Store is a store in front of another one that keeps large results in a blob store.
// It has the abilities of the store behind it.
//
// Safe for concurrent use.
type Store struct {
	storekit.Front
	blobs  Blobs
	config Config
}

// New returns a store in front of another one, which must hold envelopes
// ([storekit.HoldsEnvelopes]). Its errors match [ErrConfig].
func New(behind persistence.Store, blobs Blobs, config Config) (*Store, error) {
	if storekit.IsNil(behind) || storekit.IsNil(blobs) {
		return nil, fmt.Errorf("%w: it needs a store and blobs", ErrConfig)
	}
	if !storekit.HoldsEnvelopes(behind) {
		return nil, fmt.Errorf("%w: %T has a format of others, which has no place for envelopes", ErrConfig, behind)
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	return &Store{Front: storekit.NewFront(behind), blobs: blobs, config: config}, nil
}

// Acquire implements [persistence.Store].
func (s *Store) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	r, err := s.Front.Acquire(ctx, c)
	if err != nil {
		return r, err
	}
	return s.load(ctx, "acquire", r)
}

// Read implements [persistence.Reader].
func (s *Store) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	return s.loadFound(ctx, s.Front.Read, key)
}

// Refresh implements [storekit.Refresher].
func (s *Store) Refresh(ctx context.Context, key string) (persistence.Record, bool, error) {
	return s.loadFound(ctx, s.Front.Refresh, key)
}

// ReadMany implements [storekit.BatchReader]. A record whose result is a blob is left out: many
// of them would not fit into memory. Its claim loads it.
func (s *Store) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	records, err := s.Front.ReadMany(ctx, keys)
	return slices.DeleteFunc(records, func(r persistence.Record) bool {
		_, refers, unreadable := readReference(r.Result)
		return refers || unreadable != nil
	}), err
}

func (s *Store) loadFound(ctx context.Context, read func(context.Context, string) (persistence.Record, bool, error), key string) (persistence.Record, bool, error) {
	r, found, err := read(ctx, key)
	if err != nil || !found {
		return r, found, err
	}
	r, err = s.load(ctx, "read", r)
	return r, err == nil, err
}

// Release implements [persistence.Store].
func (s *Store) Release(ctx context.Context, l persistence.Lease) error {
	return s.settled(ctx, s.Front.Release(ctx, l))
}

// Checkpoint implements [persistence.Checkpointer].
func (s *Store) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	return s.settled(ctx, s.Front.Checkpoint(ctx, l, step, output))
}

// CheckpointWith implements [storekit.Transactor].
func (s *Store) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	return s.settled(ctx, s.Front.CheckpointWith(ctx, l, step, output, writes))
}

// Complete implements [persistence.Store].
func (s *Store) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return s.store(ctx, l, o, nil, func(o persistence.Outcome) error {
		return s.Front.Complete(ctx, l, o)
	})
}

// CompleteWith implements [storekit.Transactor].
func (s *Store) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	return s.store(ctx, l, o, writes, func(o persistence.Outcome) error {
		return s.Front.CompleteWith(ctx, l, o, writes)
	})
}

// CompleteAtOnce implements [storekit.Transactor].
func (s *Store) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []storekit.Write) (persistence.Record, error) {
	var r persistence.Record
	var own bool // the record holds this result, which need not be fetched
	err := s.store(ctx, c.Fresh().Lease(), o, writes, func(kept persistence.Outcome) (err error) {
		r, err = s.Front.CompleteAtOnce(ctx, c, kept, writes)
		if err == nil && r.Owner != c.Owner {
			return errOutrun
		}
		own = !r.ResultOmitted && bytes.Equal(r.Result, kept.Result)
		return err
	})
	switch {
	case err != nil && !errors.Is(err, errOutrun):
		return r, err
	case own:
		r.Result = bytes.Clone(o.Result)
		return r, nil
	default:
		return s.load(ctx, "complete", r)
	}
}

// errOutrun says that somebody else holds the record: that is an answer, and no failure.
var errOutrun = errors.New("overflow: the record is somebody else's")

// store keeps an outcome: as it is where it fits, and otherwise as a reference to a
// blob that is written first. The writes are those that keep carries out with it.
func (s *Store) store(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write, keep func(persistence.Outcome) error) error {
	if err := errors.Join(l.Check(), o.Check()); err != nil || o.ResultOmitted {
		return s.settled(ctx, keep(o))
	}
	if len(o.Result) > s.config.MaxResult {
		return fmt.Errorf("%w: the result has %d bytes, and MaxResult is %d", persistence.ErrTooLarge, len(o.Result), s.config.MaxResult)
	}
	if s.inline(o.Result) {
		if err := keep(o); !errors.Is(err, persistence.ErrTooLarge) {
			return s.completed(ctx, o, err)
		}
	}
	r := referTo(o.Result)
	name := Name(l.Key, l.Owner, r.digest)
	if err := s.put(ctx, name, o, writes); err != nil {
		return err
	}
	referring := o
	referring.Result = r.encode()
	err := keep(referring)
	if unused(err) && !refersTo(err, referring.Result) {
		s.remove(ctx, name)
	}
	return s.completed(ctx, o, err)
}

// completed tells what the answer to a completion means. The same result is kept in another
// form where its record had more room, or the config another limit; it shows when it is loaded.
func (s *Store) completed(ctx context.Context, o persistence.Outcome, err error) error {
	err = s.settled(ctx, err)
	if settled, ok := errors.AsType[*persistence.SettledError](err); ok && o.Recorded(settled.Record) {
		return nil
	}
	return err
}

// refersTo tells whether the record that its owner has finished otherwise refers to the same
// blob: with another status, say.
func refersTo(err error, reference []byte) bool {
	settled, ok := errors.AsType[*persistence.SettledError](err)
	return ok && bytes.Equal(settled.Record.Result, reference)
}

// settled loads the result into the record in a [persistence.SettledError]. Other errors stay
// as they are.
func (s *Store) settled(ctx context.Context, err error) error {
	settled, ok := errors.AsType[*persistence.SettledError](err)
	if !ok {
		return err
	}
	record, err := s.load(ctx, "complete", settled.Record)
	if err != nil {
		return err
	}
	return &persistence.SettledError{Record: record}
}

// inline tells whether the store behind is to be asked to keep the result itself. A
// result that could be taken for a reference is always referred to.
func (s *Store) inline(result []byte) bool {
	if _, is, _ := readReference(result); is {
		return false
	}
	return s.config.Inline == 0 || len(result) <= s.config.Inline
}

// unused tells whether the record does not refer to the blob, and never will: another
// owner has it, the reference did not fit either, or the transaction was not carried
// out. In doubt the blob stays.
func unused(err error) bool {
	_, refused := errors.AsType[*persistence.RefusedError](err)
	fault, faulty := errors.AsType[*persistence.Fault](err)
	return refused || faulty && fault.Unwritten ||
		errors.Is(err, persistence.ErrTooLarge) || errors.Is(err, persistence.ErrInvalid) ||
		errors.Is(err, persistence.ErrLeaseLost) || errors.Is(err, errOutrun)
}

// put writes a blob. One that can't be written is a result that can't be stored: the
// effect has happened, and the record has to say so without it. That takes time, so
// not all of it is spent here. The writes are those that would follow.
func (s *Store) put(ctx context.Context, name string, o persistence.Outcome, writes []storekit.Write) error {
	writing, cancel := s.limit(ctx)
	defer cancel()
	err := s.blobs.Put(writing, name, o.Result, o.ExpiresAt)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &persistence.Fault{Op: "complete", Retryable: true, Unwritten: len(writes) > 0, Err: errors.Join(ctx.Err(), err)}
	default:
		return &unwrittenError{err}
	}
}

// remove deletes a blob that nothing refers to. If that fails, it goes when blobs go.
func (s *Store) remove(ctx context.Context, name string) {
	removing, cancel := s.limit(ctx)
	defer cancel()
	_ = s.blobs.Delete(removing, name)
}

// load puts the result in the place of a reference.
func (s *Store) load(ctx context.Context, op string, r persistence.Record) (persistence.Record, error) {
	if !r.Status.Finished() {
		return r, nil
	}
	to, is, err := readReference(r.Result)
	switch {
	case err != nil:
		return persistence.Record{}, &persistence.Fault{Op: op, Err: err}
	case !is:
		return r, nil
	}
	name := Name(r.Key, r.Owner, to.digest)
	content, err := s.get(ctx, name, to)
	switch {
	case err == nil:
		r.Result = content
	case errors.Is(err, ErrMissing), errors.Is(err, ErrChanged):
		s.config.OnLost(ctx, &LostError{Key: r.Key, Name: name, Err: err})
		r.Result, r.ResultOmitted = nil, true
	default:
		return persistence.Record{}, &persistence.Fault{Op: op, Retryable: persistence.Retryable(err), Err: fmt.Errorf("%w: its result is not to be had: %w", persistence.ErrUnreadable, err)}
	}
	return r, nil
}

func (s *Store) get(ctx context.Context, name string, to reference) ([]byte, error) {
	if to.length > int64(s.config.MaxResult) {
		return nil, &persistence.Fault{Op: "get", Err: fmt.Errorf("it has %d bytes, and MaxResult is %d", to.length, s.config.MaxResult)}
	}
	reading, cancel := s.limit(ctx)
	defer cancel()
	content, err := s.blobs.Get(reading, name, to.length+1)
	if err != nil {
		return nil, err
	}
	return content, to.check(content)
}

// limit bounds a call of the blob store.
func (s *Store) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := s.config.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, timeout)
}

// unwrittenError says that a blob could not be written. To the caller that is a result
// which the store can't hold.
type unwrittenError struct{ err error }

func (e *unwrittenError) Error() string {
	return fmt.Sprintf("overflow: the blob of the result could not be written: %v", e.err)
}

// Is reports whether target is [persistence.ErrTooLarge].
func (e *unwrittenError) Is(target error) bool { return target == persistence.ErrTooLarge }

// Unwrap returns the blob store's error.
func (e *unwrittenError) Unwrap() error { return e.err }
