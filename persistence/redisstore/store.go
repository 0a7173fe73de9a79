package redisstore

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
)

// Client is what the store needs of a client of go-redis. *redis.Client and
// *redis.ClusterClient have it, and so do their wrappers.
type Client interface {
	EvalSha(ctx context.Context, digest string, keys []string, args ...any) *redis.Cmd
	Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd
	HGetAll(ctx context.Context, key string) *redis.MapStringStringCmd
}

// Store keeps records in Redis or Valkey. It is immutable and safe for concurrent
// use; one store serves any number of operations.
type Store struct {
	client Client
	config Config
}

var (
	_ persistence.Store        = (*Store)(nil)
	_ persistence.Checkpointer = (*Store)(nil)
	_ persistence.Renewer      = (*Store)(nil)
	_ persistence.Reader       = (*Store)(nil)
)

// New returns a store that uses client. It joins all faults of the client's options
// and of config into one error ([ErrConfig]), and sends no request. Of a client it
// demands that the deadlines of contexts are heeded (ContextTimeoutEnabled), and
// that it is no *redis.Ring.
func New(client Client, config Config) (*Store, error) {
	config = config.withDefaults()
	if err := errors.Join(checkClient(client), config.check()); err != nil {
		return nil, err
	}
	return &Store{client: client, config: config}, nil
}

// maxRounds bounds how often an acquire writes because the record changed between
// two of its requests. Every round lost is a round that somebody else has won.
const maxRounds = 8

// Acquire implements [persistence.Store].
func (s *Store) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	if err := c.Check(); err != nil {
		return persistence.Record{}, err
	}
	var found fields                // what is known to be there: nothing yet
	var tookOver persistence.Status // what the last write was to take over
	for round := 0; ; round++ {
		record, judgement, err := judge(c, found)
		seen := found
		switch {
		case err != nil:
		case judgement == persistence.Owned:
			record.TookOver = tookOver
			return record, nil
		case judgement == persistence.Held:
			return record, nil
		case round == maxRounds:
			err = errContended
		case judgement == persistence.Vacant:
			tookOver = ""
			found, err = s.acquire(ctx, replace, seen, c.Fresh())
		default:
			tookOver = record.Status
			found, err = s.acquire(ctx, takeOver, seen, c.TakeOver(record))
		}
		if err == nil && len(seen) == 0 && len(found) == 0 {
			err = errSwept
		}
		if err != nil {
			return persistence.Record{}, fault("acquire", err)
		}
	}
}

// judge decides about the fields that were found under the claim's key.
func judge(c persistence.Claim, found fields) (persistence.Record, persistence.Judgement, error) {
	if len(found) == 0 {
		return persistence.Record{}, persistence.Vacant, nil
	}
	record, err := decode(c.Key, found)
	if err != nil {
		return record, persistence.Held, err
	}
	return record, c.Judge(record), nil
}

// acquire writes a record in place of the one that was seen, if that one is still
// there as it was, and returns the one that is there then.
func (s *Store) acquire(ctx context.Context, how string, seen fields, r persistence.Record) (fields, error) {
	args := []any{
		how,
		seen[fieldStatus], seen[fieldOwner], seen[fieldLeaseUntil], seen[fieldExpireAt], seen[fieldFingerprint],
		sweep(r.ExpiresAt, s.config.Grace),
	}
	return fieldsOf(s.run(ctx, acquire, r.Key, append(args, encode(r)...)...).Result())
}

// Complete implements [persistence.Store].
func (s *Store) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	if err := errors.Join(l.Check(), o.Check()); err != nil {
		return err
	}
	if !o.ResultOmitted && len(o.Result) > s.config.MaxValue {
		return persistence.ErrTooLarge
	}
	args := []any{l.Owner, s.sweepOutcome(o)}
	err := s.asOwner(ctx, "complete", complete, l.Key, append(args, encodeOutcome(o)...)...)
	if settled, ok := errors.AsType[*persistence.SettledError](err); ok && o.Recorded(settled.Record) {
		return nil
	}
	return err
}

// sweepOutcome is when the server may remove a finished record; empty for never.
func (s *Store) sweepOutcome(o persistence.Outcome) any {
	if o.ExpiresAt.IsZero() {
		return ""
	}
	return sweep(o.ExpiresAt, s.config.Grace)
}

// Release implements [persistence.Store].
func (s *Store) Release(ctx context.Context, l persistence.Lease) error {
	if err := l.Check(); err != nil {
		return err
	}
	return s.asOwner(ctx, "release", release, l.Key, l.Owner)
}

// Checkpoint implements [persistence.Checkpointer]. Each step has [Config.MaxValue]
// to itself, so there is nothing to reserve.
func (s *Store) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	if err := l.CheckStep(step); err != nil {
		return err
	}
	if len(step)+len(output) > s.config.MaxValue {
		return persistence.ErrTooLarge
	}
	return s.asOwner(ctx, "checkpoint", checkpoint, l.Key, append(s.renewal(l), fieldStep+step, output)...)
}

// Renew implements [persistence.Renewer].
func (s *Store) Renew(ctx context.Context, l persistence.Lease) error {
	if err := l.CheckRenewal(); err != nil {
		return err
	}
	err := s.asOwner(ctx, "renew", checkpoint, l.Key, s.renewal(l)...)
	if _, settled := errors.AsType[*persistence.SettledError](err); settled {
		return persistence.ErrLeaseLost // there is nothing to renew
	}
	return err
}

// renewal returns the first arguments of checkpoint: the owner, and where the renewal that
// the lease asks for moves lease, expiry, and the time for the server to remove the record.
func (s *Store) renewal(l persistence.Lease) []any {
	if l.Until.IsZero() {
		return []any{l.Owner, "", "", ""}
	}
	until, expiresAt := l.Renewal()
	return []any{l.Owner, millis(until), seconds(expiresAt), sweep(expiresAt, s.config.Grace)}
}

// Read implements [persistence.Reader]. A client that is configured to may read from
// a replica, or from its own cache.
func (s *Store) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	if err := (persistence.Lease{Key: key}).CheckKey(); err != nil {
		return persistence.Record{}, false, err
	}
	found, err := s.client.HGetAll(ctx, s.config.Prefix+key).Result()
	if err != nil {
		return persistence.Record{}, false, fault("read", err)
	}
	if len(found) == 0 {
		return persistence.Record{}, false, nil
	}
	record, err := decode(key, found)
	return record, err == nil, fault("read", err)
}

// asOwner runs a script that asks for the owner of a record. Fields in its answer are those
// of a record that the owner has settled otherwise.
func (s *Store) asOwner(ctx context.Context, op string, sc script, key string, args ...any) error {
	answer, err := s.run(ctx, sc, key, args...).Result()
	switch verdict := answer.(type) {
	case int64:
		if err == nil && verdict != kept {
			return persistence.ErrLeaseLost
		}
		return fault(op, err)
	default:
		there, err := fieldsOf(answer, err)
		if err != nil {
			return fault(op, err)
		}
		record, err := decode(key, there)
		if err != nil {
			return fault(op, err)
		}
		return &persistence.SettledError{Record: record}
	}
}

// fieldsOf reads an answer with all fields of a record: a list, or a map in RESP3.
func fieldsOf(answer any, err error) (fields, error) {
	if err != nil {
		return nil, err
	}
	cmd := redis.NewCmdResult(answer, nil)
	list, err := cmd.StringSlice()
	there := make(fields, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		there[list[i]] = list[i+1]
	}
	return there, err
}

// run runs a script on the record of a key. Scripts recognise what they have done before, so
// one that fails for a time is run again until the context's is over, also where the client
// has given up: see persist.
func (s *Store) run(ctx context.Context, sc script, key string, args ...any) *redis.Cmd {
	return persist(ctx, func() *redis.Cmd { return s.runOnce(ctx, sc, key, args...) })
}

// runOnce runs a script, by its digest. The text is sent where the server does not have it:
// when the script is new to it, and after a restart or a fail-over.
func (s *Store) runOnce(ctx context.Context, sc script, key string, args ...any) *redis.Cmd {
	keys := []string{s.config.Prefix + key}
	cmd := s.client.EvalSha(ctx, sc.digest, keys, args...)
	if answered(cmd.Err(), noScript) {
		cmd = s.client.Eval(ctx, sc.text, keys, args...)
	}
	return cmd
}
