package sealed

import (
	"errors"
	"fmt"
	"time"
)

// Config says how values are treated. The zero value is ready to use.
type Config struct {
	// Unsealed says what a value means that is not sealed. Defaults to RefuseUnsealed.
	Unsealed Unsealed

	// Timeout bounds each call of the sealer; a call also takes no more than half of the
	// time until the context's deadline, so that the record can still be written.
	// Defaults to 2 seconds.
	Timeout time.Duration
}

// Unsealed says what a value means that is not sealed.
type Unsealed int

const (
	// RefuseUnsealed takes it for a forgery.
	RefuseUnsealed Unsealed = iota
	// AcceptUnsealed takes it for one from before values were sealed. While it is set,
	// whoever can write to the table can make up results.
	AcceptUnsealed
)

// ErrConfig matches every fault that [New] finds in a Config, and [NewAES] in a key.
var ErrConfig = errors.New("sealed: invalid configuration")

const defaultTimeout = 2 * time.Second

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	return c
}

// check returns all that is wrong with a config whose defaults are filled in.
func (c Config) check() error {
	var faults []error
	if c.Unsealed != RefuseUnsealed && c.Unsealed != AcceptUnsealed {
		faults = append(faults, fmt.Errorf("%w: Unsealed is %d", ErrConfig, c.Unsealed))
	}
	if c.Timeout < 0 {
		faults = append(faults, fmt.Errorf("%w: Timeout is %v", ErrConfig, c.Timeout))
	}
	return errors.Join(faults...)
}
