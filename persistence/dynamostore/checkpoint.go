package dynamostore

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// completionReserve is what steps leave free of an item, in bytes: completing
// without a result must always be possible.
const completionReserve = 256

// Room implements [storekit.Sizer].
func (s *Store) Room(l persistence.Lease) int {
	record := persistence.Record{Key: l.Key, Owner: l.Owner, Fingerprint: l.Fingerprint, Status: persistence.StatusProcessing, Steps: l.Steps, Run: l.Run, Event: l.Event}
	room := maxItem - s.schema.size(record) - completionReserve - l.Reserve
	if len(l.Steps) == 0 {
		room -= s.schema.sizeOfNoSteps()
	}
	return room
}

// Checkpoint implements [persistence.Checkpointer].
func (s *Store) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	return s.checkpointWith(ctx, l, step, output, nil)
}

func (s *Store) checkpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []Write) error {
	if err := l.CheckStep(step); err != nil {
		return err
	}
	room := s.Room(l)
	if known, done := l.Steps[step]; done { // it needs no more room
		room += len(step) + len(known) + storekit.StepOverhead
	}
	if len(step)+len(output)+storekit.StepOverhead > room {
		return persistence.ErrTooLarge
	}
	write := s.firstStep(l, nil, step, output)
	if len(l.Steps) > 0 {
		write = s.furtherStep(l, nil, step, output)
	}
	for range maxRounds {
		write.with = writes
		applied, found, err := s.apply(ctx, write)
		switch {
		case err != nil:
			return fault("checkpoint", err)
		case applied:
			return nil
		case s.schema.settledBy(found, l.Owner), s.schema.isOf(found, l) && s.schema.hasOther(found, step, output):
			return s.settled("checkpoint", found)
		case !s.schema.isOf(found, l):
			return persistence.ErrLeaseLost
		case s.schema.hasStep(found, step):
			return s.renew(ctx, "checkpoint", l, found)
		case s.schema.hasSteps(found):
			write = s.furtherStep(l, found, step, output)
		default:
			write = s.firstStep(l, found, step, output)
		}
	}
	return fault("checkpoint", errContended)
}

// Renew implements [persistence.Renewer].
func (s *Store) Renew(ctx context.Context, l persistence.Lease) error {
	if err := l.CheckRenewal(); err != nil {
		return err
	}
	return s.renew(ctx, "renew", l, nil)
}

// renew sees to it that the lease ends no earlier than it is to. What is known to be
// there is the owner's, or nil.
func (s *Store) renew(ctx context.Context, op string, l persistence.Lease, found item) error {
	for range maxRounds {
		if found != nil && !s.schema.renews(l, found) {
			return nil
		}
		applied, there, err := s.apply(ctx, s.renewal(l, found))
		switch {
		case err != nil:
			return fault(op, err)
		case applied:
			return nil
		case !s.schema.isOf(there, l):
			return persistence.ErrLeaseLost
		}
		found = there
	}
	return fault(op, errContended)
}
