package redisstore_test

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

// planter is a store into whose database records can be put past the store.
type planter struct {
	*redisstore.Store
	client redis.UniversalClient
	prefix string
}

// Plant implements storetest.Planter.
func (p planter) Plant(ctx context.Context, r persistence.Record) error {
	fields := map[string]any{"status": string(r.Status), "version": 1}
	if r.Owner != "" {
		fields["owner"] = r.Owner
	}
	if r.Fingerprint != "" {
		fields["fingerprint"] = r.Fingerprint
	}
	if !r.LeaseUntil.IsZero() {
		fields["lease_until"] = r.LeaseUntil.UnixMilli()
	}
	if !r.ExpiresAt.IsZero() {
		fields["expire_at"] = r.ExpiresAt.Unix()
	}
	if r.Attempt > 0 {
		fields["attempt"] = r.Attempt
	}
	if r.Status.Finished() && !r.ResultOmitted {
		fields["result"] = r.Result
	}
	for name, output := range r.Steps {
		fields["step:"+name] = output
	}
	key := p.prefix + r.Key
	_, err := p.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.Del(ctx, key)
		tx.HSet(ctx, key, fields)
		return nil
	})
	return err
}
