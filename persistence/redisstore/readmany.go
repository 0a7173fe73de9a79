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

// keysAPipeline is how many records are read in one round trip.
const keysAPipeline = 100

// ReadMany implements [storekit.BatchReader] with pipelines of HGETALL, of which a cluster's
// client makes one for each node.
func (s *Store) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	client, ok := s.client.(pipeliner)
	if !ok {
		return nil, fmt.Errorf("redisstore: %T has no pipelines: %w", s.client, errors.ErrUnsupported)
	}
	var records []persistence.Record
	for len(keys) > 0 {
		chunk := keys[:min(len(keys), keysAPipeline)]
		keys = keys[len(chunk):]
		answers, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range chunk {
				pipe.HGetAll(ctx, s.config.Prefix+key)
			}
			return nil
		})
		if err != nil && (!answered(err, wrongType) || slices.ContainsFunc(answers, failed)) {
			return records, fault("read", err)
		}
		for i, answer := range answers {
			found := answer.(*redis.MapStringStringCmd).Val()
			if record, err := decode(chunk[i], found); err == nil && len(found) > 0 {
				records = append(records, record)
			}
		}
	}
	return records, nil
}

// failed tells whether a command was not answered. A key that is no hash is no record, and
// spoils none of the others.
func failed(answer redis.Cmder) bool {
	return answer.Err() != nil && !answered(answer.Err(), wrongType)
}
