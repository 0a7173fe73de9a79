package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Store is a store in front of another one that seals what goes in and opens what comes
// out. It has the abilities of the store behind it.
//
// Safe for concurrent use.
type Store struct {
	storekit.Front
	sealer   Sealer
	config   Config
	overhead int // of a value in its envelope, in bytes
}

// New returns a store in front of another one, which must hold envelopes
// ([storekit.HoldsEnvelopes]). Its errors match [ErrConfig].
func New(behind persistence.Store, sealer Sealer, config Config) (*Store, error) {
	if storekit.IsNil(behind) || storekit.IsNil(sealer) {
		return nil, fmt.Errorf("%w: it needs a store and a sealer", ErrConfig)
	}
	if e, ok := sealer.(*Envelope); ok && storekit.IsNil(e.keys) {
		return nil, fmt.Errorf("%w: the sealer has no data keys", ErrConfig)
	}
	if !storekit.HoldsEnvelopes(behind) {
		return nil, fmt.Errorf("%w: %T has a format of others, which has no place for envelopes", ErrConfig, behind)
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	return &Store{
		Front:    storekit.NewFront(behind),
		sealer:   sealer,
		config:   config,
		overhead: len(storekit.Envelope(form, nil)) + sealer.Overhead(),
	}, nil
}

// Acquire implements [persistence.Store].
func (s *Store) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	r, err := s.Front.Acquire(ctx, s.withEvent(ctx, c))
	if err != nil {
		return r, err
	}
	if r.Owner != c.Owner && !r.Status.Finished() {
		return withoutSteps(r), nil
	}
	opened, err := s.record(ctx, "acquire", r)
	if err != nil && r.Owner == c.Owner && r.Status == persistence.StatusProcessing {
		s.giveUp(ctx, r)
	}
	return opened, err
}

// withoutSteps returns somebody else's record, which is not finished, without its steps. Nobody
// but their owner needs them: whoever is turned away must not wait for them to be opened.
func withoutSteps(r persistence.Record) persistence.Record {
	r.Steps = nil
	return r
}

// giveUpTimeout bounds the attempt to give a record up: its caller is waiting to hear
// that it can't be read.
const giveUpTimeout = time.Second

// giveUp releases a record that its owner can do nothing with. If that fails, its lease
// ends it.
func (s *Store) giveUp(ctx context.Context, r persistence.Record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
	defer cancel()
	_ = s.Front.Release(ctx, r.Lease())
}

// Release implements [persistence.Store].
func (s *Store) Release(ctx context.Context, l persistence.Lease) error {
	return s.settled(ctx, "release", s.Front.Release(ctx, s.lease(l)))
}

// settled opens the record in a [persistence.SettledError]. Other errors stay as they are.
func (s *Store) settled(ctx context.Context, op string, err error) error {
	settled, ok := errors.AsType[*persistence.SettledError](err)
	if !ok {
		return err
	}
	record, err := s.record(ctx, op, settled.Record)
	if err != nil {
		return err
	}
	return &persistence.SettledError{Record: record}
}

// completed tells what the answer to a completion means. The same result has another
// ciphertext each time, so whether it is there shows when it is opened.
func (s *Store) completed(ctx context.Context, o persistence.Outcome, err error) error {
	err = s.settled(ctx, "complete", err)
	if settled, ok := errors.AsType[*persistence.SettledError](err); ok && o.Recorded(settled.Record) {
		return nil
	}
	return err
}

// checkpointed is completed for a step. What the store behind took for another output it has
// not renewed the lease with.
func (s *Store) checkpointed(ctx context.Context, l persistence.Lease, step string, output []byte, err error) error {
	err = s.settled(ctx, "checkpoint", err)
	settled, ok := errors.AsType[*persistence.SettledError](err)
	if !ok || settled.Record.Status.Finished() {
		return err
	}
	if there, done := settled.Record.Steps[step]; !done || !bytes.Equal(there, output) {
		return err
	}
	if l.Until.IsZero() {
		return nil
	}
	return s.Renew(ctx, l)
}

// Read implements [persistence.Reader].
func (s *Store) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	return s.found(ctx, s.Front.Read, key)
}

// Refresh implements [storekit.Refresher].
func (s *Store) Refresh(ctx context.Context, key string) (persistence.Record, bool, error) {
	return s.found(ctx, s.Front.Refresh, key)
}

// ReadMany implements [storekit.BatchReader]. What can't be opened is left out, and so is what
// there is nothing in for anybody but its owner.
func (s *Store) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	records, err := s.Front.ReadMany(ctx, keys)
	records = slices.DeleteFunc(records, func(r persistence.Record) bool { return !r.Status.Finished() })
	failed := make([]bool, len(records))
	relay.Each(len(records), openers, func(i int) {
		opened, err := s.record(ctx, "read", records[i])
		records[i], failed[i] = opened, err != nil
	})
	opened := records[:0]
	for i, r := range records {
		if !failed[i] {
			opened = append(opened, r)
		}
	}
	return opened, err
}

func (s *Store) found(ctx context.Context, read func(context.Context, string) (persistence.Record, bool, error), key string) (persistence.Record, bool, error) {
	r, found, err := read(ctx, key)
	if err != nil || !found {
		return r, found, err
	}
	if !r.Status.Finished() {
		return withoutSteps(r), true, nil
	}
	r, err = s.record(ctx, "read", r)
	return r, err == nil, err
}

// Complete implements [persistence.Store].
func (s *Store) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	sealed, err := s.outcome(ctx, l, o, nil)
	if err != nil {
		return err
	}
	return s.completed(ctx, o, s.Front.Complete(ctx, s.lease(l), sealed))
}

// CompleteWith implements [storekit.Transactor].
func (s *Store) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	sealed, err := s.outcome(ctx, l, o, writes)
	if err != nil {
		return err
	}
	return s.completed(ctx, o, s.Front.CompleteWith(ctx, s.lease(l), sealed, writes))
}

// CompleteAtOnce implements [storekit.Transactor].
func (s *Store) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []storekit.Write) (persistence.Record, error) {
	sealed, err := s.outcome(ctx, c.Fresh().Lease(), o, writes)
	if err != nil {
		return persistence.Record{}, err
	}
	r, err := s.Front.CompleteAtOnce(ctx, c, sealed, writes)
	switch {
	case err != nil:
		return r, err
	case r.Owner == c.Owner && !r.ResultOmitted && bytes.Equal(r.Result, sealed.Result):
		r.Result = bytes.Clone(o.Result)
		return r, nil
	default:
		return s.record(ctx, "complete", r)
	}
}

// Checkpoint implements [persistence.Checkpointer].
func (s *Store) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	sealed, err := s.output(ctx, l, step, output, nil)
	if err != nil {
		return err
	}
	return s.checkpointed(ctx, l, step, output, s.Front.Checkpoint(ctx, s.lease(l), step, sealed))
}

// CheckpointWith implements [storekit.Transactor].
func (s *Store) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	sealed, err := s.output(ctx, l, step, output, writes)
	if err != nil {
		return err
	}
	return s.checkpointed(ctx, l, step, output, s.Front.CheckpointWith(ctx, s.lease(l), step, sealed, writes))
}

// Renew implements [persistence.Renewer].
func (s *Store) Renew(ctx context.Context, l persistence.Lease) error {
	return s.Front.Renew(ctx, s.lease(l))
}

// Room implements [storekit.Sizer]. The next step will be sealed as well.
func (s *Store) Room(l persistence.Lease) int { return s.Front.Room(s.lease(l)) - s.overhead }
