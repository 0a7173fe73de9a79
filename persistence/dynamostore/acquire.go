package dynamostore

import (
	"context"
	"fmt"

	"github.com/ikkai-go/idempotency/persistence"
)

// maxRounds bounds how often an acquire starts over because the record changed
// between two of its requests. Every round lost is a round that somebody else
// has won.
const maxRounds = 8

// Acquire implements [persistence.Store].
func (s *Store) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	if err := s.checkClaim(c); err != nil {
		return persistence.Record{}, err
	}
	found, err := s.glanceIfCrowded(ctx, c) // what is known to be there: as a rule nothing yet
	if err != nil {
		return persistence.Record{}, fault("acquire", err)
	}
	for range maxRounds {
		record, judgement, err := s.judge(c, found)
		if err != nil {
			return persistence.Record{}, fault("acquire", err)
		}
		var write conditional
		switch judgement {
		case persistence.Vacant:
			record = c.Fresh()
			write = s.insert(c, s.schema.encode(record, stored{}))
		case persistence.Stale:
			record = c.TakeOver(record)
			write = s.takeOver(c, found)
		default:
			return record, nil
		}
		applied, there, err := s.applyClaim(ctx, c, write)
		switch {
		case err != nil:
			return persistence.Record{}, fault("acquire", err)
		case applied && len(there) > 0:
			tookOver := record.TookOver
			record, err = s.schema.decode(there)
			record.TookOver = tookOver
			return record, fault("acquire", err)
		case applied:
			return record, nil
		}
		found = there
	}
	return persistence.Record{}, fault("acquire", errContended)
}

func (s *Store) checkClaim(c persistence.Claim) error {
	if err := c.Check(); err != nil {
		return err
	}
	if limit := s.schema.maxKey(); len(c.Key) > limit {
		return fmt.Errorf("%w: the key has %d bytes, the table allows %d", persistence.ErrInvalid, len(c.Key), limit)
	}
	return nil
}

// judge decides about the item that was found under the claim's key.
func (s *Store) judge(c persistence.Claim, found item) (persistence.Record, persistence.Judgement, error) {
	if found == nil {
		return persistence.Record{}, persistence.Vacant, nil
	}
	record, err := s.schema.decode(found)
	if err != nil {
		return record, persistence.Held, err
	}
	return record, c.Judge(record), nil
}
