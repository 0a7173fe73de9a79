package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Store keeps records in a table of an SQL database. It is immutable and safe for
// concurrent use; one store serves any number of operations.
type Store struct {
	db        *sql.DB
	dialect   Dialect
	statement statements                 // of the newest schema
	first     statements                 // of the first one
	fitting   atomic.Pointer[statements] // of the two, once it is known
	probe     string
	options   sql.TxOptions // of transactions with writes of the application
}

var (
	_ persistence.Store        = (*Store)(nil)
	_ persistence.Checkpointer = (*Store)(nil)
	_ persistence.Renewer      = (*Store)(nil)
	_ storekit.Transactor      = (*Store)(nil)
	_ persistence.Reader       = (*Store)(nil)
)

// New returns a store on the table that config describes, in the database that the
// application has opened with a driver of its choice. It joins all faults of the config
// into one error ([ErrConfig]), and asks the database nothing.
func New(db *sql.DB, config Config) (*Store, error) {
	if db == nil {
		return nil, fmt.Errorf("%w: no database", ErrConfig)
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	return &Store{
		db:        db,
		dialect:   config.Dialect,
		statement: newStatements(config, len(versions)),
		first:     newStatements(config, 1),
		probe:     strings.NewReplacer(config.names()...).Replace(`SELECT started_at FROM {table} LIMIT 0`),
		options:   sql.TxOptions{Isolation: config.Isolation},
	}, nil
}

// maxRounds bounds how often a call starts over because the record changed between two
// of its statements. Every round lost is a round that somebody else has won.
const maxRounds = 8

// Acquire implements [persistence.Store].
func (s *Store) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	if err := checkClaim(c); err != nil {
		return persistence.Record{}, err
	}
	fit, err := s.fit(ctx)
	if err != nil {
		return persistence.Record{}, fault("acquire", err)
	}
	stale := persistence.StatusPartial // a run that has died costs a second statement
	for range maxRounds {
		record, found, err := s.ask(ctx, fit.acquire, append([]any{
			c.Key, c.Owner, lease(c.LeaseUntil), expiry(c.ExpiresAt), c.Fingerprint,
			c.Now.UnixMilli(), c.Now.Unix(), string(stale), c.From, c.Execution,
		}, s.run(fit, c.Run, c.Event)...)...)
		if err == nil && !found {
			record, found, err = s.look(ctx, c.Key)
		}
		if err != nil {
			return persistence.Record{}, fault("acquire", err)
		}
		if !found {
			continue // it was removed in the meantime
		}
		switch c.Judge(record) {
		case persistence.Owned, persistence.Held:
			return record, nil
		case persistence.Stale:
			stale = record.Status
		}
	}
	return persistence.Record{}, fault("acquire", errContended)
}

// Complete implements [persistence.Store].
func (s *Store) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return s.completeWith(ctx, l, o, nil)
}

func (s *Store) completeWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []Write) error {
	if err := errors.Join(checkLease(l), o.Check()); err != nil {
		return err
	}
	fit, err := s.fit(ctx)
	if err != nil {
		return fault("complete", err)
	}
	applied, err := s.apply(ctx, change{
		fit.complete, []any{l.Key, l.Owner, string(o.Status), result(o), expiry(o.ExpiresAt)},
		s.statement.finished, string(o.Status),
	}, writes)
	if applied || err != nil {
		return fault("complete", err)
	}
	record, found, err := s.look(ctx, l.Key)
	switch {
	case err != nil:
		return fault("complete", err)
	case found && record.Owner == l.Owner && record.Status.Finished():
		if o.Recorded(record) {
			return nil
		}
		return &persistence.SettledError{Record: record}
	default:
		return persistence.ErrLeaseLost
	}
}

// Release implements [persistence.Store].
func (s *Store) Release(ctx context.Context, l persistence.Lease) error {
	if err := checkLease(l); err != nil {
		return err
	}
	ways := []string{s.statement.remove, s.statement.suspend}
	if len(l.Steps) > 0 {
		ways[0], ways[1] = ways[1], ways[0]
	}
	for range maxRounds {
		for _, way := range ways {
			applied, err := s.apply(ctx, change{statement: way, args: []any{l.Key, l.Owner}}, nil)
			if applied || err != nil {
				return fault("release", err)
			}
		}
		record, found, err := s.look(ctx, l.Key)
		switch {
		case err != nil:
			return fault("release", err)
		case !found:
			return nil
		case record.Owner != l.Owner:
			return persistence.ErrLeaseLost
		case record.Status.Finished():
			return &persistence.SettledError{Record: record}
		case record.Status == persistence.StatusPartial:
			return nil
		}
		// There was no record a moment ago, and an acquiring statement that was late is back.
	}
	return fault("release", errContended)
}

// Checkpoint implements [persistence.Checkpointer]. A record holds as many steps as
// the database puts into a row; each checkpoint writes all of them again.
func (s *Store) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	return s.checkpointWith(ctx, l, step, output, nil)
}

func (s *Store) checkpointWith(ctx context.Context, l persistence.Lease, name string, output []byte, writes []Write) error {
	if err := errors.Join(l.CheckStep(name), checkKey(l.Key)); err != nil {
		return err
	}
	added, err := json.Marshal(map[string]string{name: encodeStep(output)})
	if err != nil {
		return err
	}
	applied, err := s.apply(ctx, change{
		s.statement.checkpoint, append(renewal(l), string(added), name),
		s.statement.stepped, name,
	}, writes)
	if applied || err != nil {
		return fault("checkpoint", err)
	}
	record, found, err := s.look(ctx, l.Key)
	there, done := record.Steps[name]
	switch {
	case err != nil:
		return fault("checkpoint", err)
	case !found || record.Owner != l.Owner || record.Status == persistence.StatusPartial:
		return persistence.ErrLeaseLost
	case record.Status.Finished(), done && !bytes.Equal(there, output):
		return &persistence.SettledError{Record: record}
	case done:
		return s.renew(ctx, "checkpoint", l)
	default:
		return persistence.ErrLeaseLost
	}
}

// Renew implements [persistence.Renewer].
func (s *Store) Renew(ctx context.Context, l persistence.Lease) error {
	if err := errors.Join(checkLease(l), l.CheckRenewal()); err != nil {
		return err
	}
	return s.renew(ctx, "renew", l)
}

// renew renews a lease that asks for it.
func (s *Store) renew(ctx context.Context, op string, l persistence.Lease) error {
	if l.Until.IsZero() {
		return nil
	}
	applied, err := s.apply(ctx, change{statement: s.statement.renew, args: renewal(l)}, nil)
	if err == nil && !applied {
		return persistence.ErrLeaseLost
	}
	return fault(op, err)
}

// Read implements [persistence.Reader].
func (s *Store) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	if err := checkKey(key); err != nil {
		return persistence.Record{}, false, err
	}
	record, found, err := s.look(ctx, key)
	return record, found, fault("read", err)
}

func (s *Store) look(ctx context.Context, key string) (persistence.Record, bool, error) {
	fit, err := s.fit(ctx)
	if err != nil {
		return persistence.Record{}, false, err
	}
	return s.ask(ctx, fit.read, key)
}

// ask asks for one row, again if the answer was lost.
func (s *Store) ask(ctx context.Context, query string, args ...any) (record persistence.Record, found bool, err error) {
	err = persist(ctx, s.passing, func() error {
		record, found, err = s.row(ctx, query, args...)
		return err
	})
	return record, found, err
}
