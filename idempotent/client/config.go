package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Config says how requests are sent. Its zero value is useful.
type Config struct {
	// Transport sends each try. Defaults to [http.DefaultTransport].
	Transport http.RoundTripper

	// Header is the name of the field that carries the key. Defaults to
	// Idempotency-Key.
	Header string

	// Form is how the key is written in the header. Defaults to Quoted.
	Form Form

	// Methods are those whose requests get a key. Defaults to POST and PATCH.
	Methods []string

	// OnNewKey, if set, is called with every key that the transport makes,
	// before it is sent: the place to store it. Its error is RoundTrip's, and then
	// nothing is sent. It must not read the request's body.
	OnNewKey func(r *http.Request, key string) error

	// OnRetry, if set, is called before each pause, on the goroutine of the call.
	OnRetry func(context.Context, Retry)

	// Tries is how often a request is sent at most. Defaults to 5.
	Tries int

	// FirstPause is how long the first pause is at most; each is twice as long as
	// the one before. Defaults to 200 milliseconds.
	FirstPause time.Duration

	// MaxPause is how long a pause is at most. A response whose Retry-After asks
	// for more is returned. Defaults to 20 seconds, or to FirstPause where that is
	// longer; at most a day.
	MaxPause time.Duration

	// MaxBody is how large a body without GetBody may be, in bytes, to be read
	// into memory so that it can be sent again. Defaults to 1 MiB; at most 1 GiB.
	MaxBody int64
}

// Form is how a key is written in its header.
type Form int

const (
	// Quoted is the structured-field string of RFC 9651 that the draft asks for:
	// Idempotency-Key: "8e03978e-40d5-43e8-bc93-6894a57f9324".
	Quoted Form = iota
	// Bare is the key and nothing else, for the servers that are older than the
	// draft. It can't have a blank, quote, comma, semicolon or backslash.
	Bare
)

// Retry says that a request is going to be sent again.
type Retry struct {
	Key    string        // empty for a request without one
	Tries  int           // how often it has been sent
	Status int           // what the last try was answered with; 0 if it was not
	Err    error         // why it was not
	Pause  time.Duration // when it is sent again
}

// ConfigError is one fault of a [Config]; [New] joins all it finds.
type ConfigError struct {
	Field   string
	Problem string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("client: Config.%s %s", e.Field, e.Problem)
}

// Is reports whether target is [ErrConfig].
func (e *ConfigError) Is(target error) bool { return target == ErrConfig }

// ErrConfig matches every [*ConfigError].
var ErrConfig = errors.New("client: invalid configuration")

const (
	defaultHeader     = "Idempotency-Key"
	defaultTries      = 5
	defaultFirstPause = 200 * time.Millisecond
	defaultMaxPause   = 20 * time.Second
	defaultMaxBody    = 1 << 20
	largestMaxBody    = 1 << 30
	longestMaxPause   = 24 * time.Hour
)

func (c Config) withDefaults() Config {
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	if c.Header == "" {
		c.Header = defaultHeader
	}
	if c.Methods == nil {
		c.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	c.Methods = slices.Clone(c.Methods)
	if c.Tries == 0 {
		c.Tries = defaultTries
	}
	if c.FirstPause == 0 {
		c.FirstPause = defaultFirstPause
		if c.MaxPause > 0 {
			c.FirstPause = min(c.FirstPause, c.MaxPause)
		}
	}
	if c.MaxPause == 0 {
		c.MaxPause = max(defaultMaxPause, c.FirstPause)
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	return c
}

// check returns all that is wrong with a config whose defaults are filled in.
func (c Config) check() error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	if !isToken(c.Header) {
		fault("Header", "is %q, which can't be the name of a header", c.Header)
	}
	if c.Form != Quoted && c.Form != Bare {
		fault("Form", "is %d, which is no Form", c.Form)
	}
	for _, method := range c.Methods {
		if !isToken(method) {
			fault("Methods", "has %q, which can't be a method", method)
		}
	}
	if c.Tries < 0 {
		fault("Tries", "is %d, and must be at least 1", c.Tries)
	}
	if c.FirstPause < 0 {
		fault("FirstPause", "is %v, and must not be negative", c.FirstPause)
	}
	if c.MaxPause < max(0, c.FirstPause) || c.MaxPause > longestMaxPause {
		fault("MaxPause", "is %v, and must be between the FirstPause of %v and a day", c.MaxPause, max(0, c.FirstPause))
	}
	if c.MaxBody < 0 || c.MaxBody > largestMaxBody {
		fault("MaxBody", "is %d, and must be between 0 and %d", c.MaxBody, largestMaxBody)
	}
	return errors.Join(faults...)
}

// isToken tells whether s may be the name of a header or a method (RFC 9110,
// section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}
