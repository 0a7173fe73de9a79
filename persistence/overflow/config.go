package overflow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config says what goes to the blob store. The zero value is ready to use.
type Config struct {
	// Inline is how large a result may be that is kept in its record, in bytes.
	// Defaults to 0: only what the store behind refuses goes to the blob store, which
	// is 400 KB for DynamoDB, less what the rest of the record takes.
	Inline int

	// MaxResult is how large a result may be at all, in bytes. A larger one is
	// [persistence.ErrTooLarge], without a request to the blob store. Defaults to 8 MiB,
	// which is more than the 6 MB that a Lambda function may answer with (its developer
	// guide, "Lambda quotas").
	MaxResult int

	// Timeout bounds each call of the blob store, all its retries included; a call also
	// takes no more than half of the time until the context's deadline, so that the
	// record can still be written. Defaults to 2 seconds.
	Timeout time.Duration

	// OnLost, if set, is called where a finished record refers to a result that is not
	// there any more, on the goroutine of the call. Defaults to a warning in
	// [slog.Default].
	OnLost func(context.Context, *LostError)
}

// ErrConfig matches every fault that [New] finds in a Config.
var ErrConfig = errors.New("overflow: invalid configuration")

const (
	defaultMaxResult = 8 << 20 // bytes
	defaultTimeout   = 2 * time.Second
)

func (c Config) withDefaults() Config {
	if c.MaxResult == 0 {
		c.MaxResult = defaultMaxResult
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.OnLost == nil {
		c.OnLost = warn
	}
	return c
}

func warn(ctx context.Context, lost *LostError) {
	slog.WarnContext(ctx, "a stored result is lost", "key", lost.Key, "blob", lost.Name, "error", lost.Err)
}

// check returns all that is wrong with a config whose defaults are filled in.
func (c Config) check() error {
	var faults []error
	if c.MaxResult < 0 {
		faults = append(faults, fmt.Errorf("%w: MaxResult is %d bytes", ErrConfig, c.MaxResult))
	}
	if c.Inline < 0 || c.MaxResult > 0 && c.Inline > c.MaxResult {
		faults = append(faults, fmt.Errorf("%w: Inline is %d bytes, and must be between 0 and the MaxResult of %d", ErrConfig, c.Inline, c.MaxResult))
	}
	if c.Timeout < 0 {
		faults = append(faults, fmt.Errorf("%w: Timeout is %v", ErrConfig, c.Timeout))
	}
	return errors.Join(faults...)
}
