package s3overflow

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config says where the objects are. Only Bucket is required.
type Config struct {
	// Bucket is the bucket's name, or the ARN of an access point. Required.
	Bucket string

	// Prefix begins the keys of all objects; it usually ends in "/". Defaults to
	// "idempotency/".
	Prefix string

	// BucketOwner, if set, is the number of the account that the bucket must belong to:
	// results do not go to somebody who has taken over the name of a deleted bucket.
	BucketOwner string

	// RequestTimeout is how long a request may take before it counts as lost and is
	// sent again, within the context's deadline; reading the answer included. It has to
	// be enough for the largest result on the function's share of the network. Defaults
	// to a second.
	RequestTimeout time.Duration
}

// ErrConfig matches every fault that [New] finds in a Config.
var ErrConfig = errors.New("s3overflow: invalid configuration")

const (
	defaultPrefix         = "idempotency/"
	defaultRequestTimeout = time.Second
	maxPrefix             = 1024 - 129 // bytes; S3's limit of a key, less the name of a blob
)

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = defaultRequestTimeout
	}
	return c
}

// check returns all that is wrong with a config whose defaults are filled in.
func (c Config) check() error {
	var faults []error
	if c.Bucket == "" {
		faults = append(faults, fmt.Errorf("%w: Bucket is missing", ErrConfig))
	}
	if strings.HasPrefix(c.Prefix, "/") || len(c.Prefix) > maxPrefix {
		faults = append(faults, fmt.Errorf("%w: Prefix is %q, and must have no slash in front and at most %d bytes", ErrConfig, c.Prefix, maxPrefix))
	}
	if c.RequestTimeout < 0 {
		faults = append(faults, fmt.Errorf("%w: RequestTimeout is %v", ErrConfig, c.RequestTimeout))
	}
	return errors.Join(faults...)
}
