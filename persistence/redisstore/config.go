package redisstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Config says how records are kept. The zero value is ready to use.
type Config struct {
	// Prefix begins the Redis keys of all records, each of which is Prefix and then
	// the record's key. Applications that share a database need different ones.
	// Defaults to "idempotency:".
	Prefix string

	// Grace is how long the server keeps a record after it has expired: by so much
	// may a caller's clock be behind the server's. The server's clock decides about
	// nothing else. Defaults to a minute.
	Grace time.Duration

	// MaxValue is how large a result, or the output of a step, may be, in bytes; a
	// larger one is [persistence.ErrTooLarge]. While the server moves a large value it
	// serves nobody else. Not more than the server's proto-max-bulk-len, which is
	// 512 MiB unless configured. Defaults to 8 MiB, which is more than the 6 MB that a
	// Lambda function may answer with (its developer guide, "Lambda quotas").
	MaxValue int
}

// ErrConfig matches every fault that [New] finds in a client or a Config.
var ErrConfig = errors.New("redisstore: invalid configuration")

const (
	defaultPrefix   = "idempotency:"
	defaultGrace    = time.Minute
	defaultMaxValue = 8 << 20   // bytes
	maxBulkLen      = 512 << 20 // bytes; Redis' proto-max-bulk-len
)

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	if c.MaxValue == 0 {
		c.MaxValue = defaultMaxValue
	}
	return c
}

// check returns all that is wrong with a config whose defaults are filled in.
func (c Config) check() error {
	var faults []error
	if c.Grace < 0 {
		faults = append(faults, fmt.Errorf("%w: Grace is %v", ErrConfig, c.Grace))
	}
	if c.MaxValue < 0 || c.MaxValue > maxBulkLen {
		faults = append(faults, fmt.Errorf("%w: MaxValue is %d bytes, and Redis allows %d", ErrConfig, c.MaxValue, maxBulkLen))
	}
	return errors.Join(faults...)
}

// checkClient returns what makes a client of go-redis unfit, as far as its type
// tells.
func checkClient(client Client) error {
	if storekit.IsNil(client) {
		return fmt.Errorf("%w: no client", ErrConfig)
	}
	heedsContexts := true
	switch c := client.(type) {
	case *redis.Ring:
		return fmt.Errorf("%w: a Ring moves keys to other servers while theirs is down, so that one key has two records", ErrConfig)
	case *redis.Client:
		heedsContexts = c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		heedsContexts = c.Options().ContextTimeoutEnabled
	}
	if !heedsContexts {
		return fmt.Errorf("%w: the client ignores the deadlines of contexts: set ContextTimeoutEnabled in its options", ErrConfig)
	}
	return nil
}
