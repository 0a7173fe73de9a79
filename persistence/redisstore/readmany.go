package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// pipeliner is what reading many records at once needs of a client in addition to [Client].
type pipeliner interface {
	Pipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
}

var _ storekit.BatchReader = (*Store)(nil)

// ReadMany implements [storekit.BatchReader] with pipelines of HGETALL, of ten to a hundred keys,
// of which a cluster's client makes one for each node. The first one may bring ten results of
// Config.MaxValue; all of them about 16 MB ([storekit.ReadInParts]).
func (s *Store) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	client, ok := s.client.(pipeliner)
	if !ok {
		return nil, fmt.Errorf("redisstore: %T has no pipelines: %w", s.client, errors.ErrUnsupported)
	}
	return storekit.ReadInParts(keys, func(part []string) ([]persistence.Record, error) {
		answers, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range part {
				pipe.HGetAll(ctx, s.config.Prefix+key)
			}
			return nil
		})
		if err != nil && (!answered(err, wrongType) || slices.ContainsFunc(answers, failed)) {
			return nil, fault("read", err)
		}
		var records []persistence.Record
		for i, answer := range answers {
			found := answer.(*redis.MapStringStringCmd).Val()
			if record, err := decode(part[i], found); err == nil && len(found) > 0 {
				records = append(records, record)
			}
		}
		return records, nil
	})
}

// failed tells whether a command was not answered. A key that is no hash is no record, and
// spoils none of the others.
func failed(answer redis.Cmder) bool {
	return answer.Err() != nil && !answered(answer.Err(), wrongType)
}
