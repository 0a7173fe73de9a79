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

	// Methods are those whose requests get a key. Names are case-sensitive, and written
	// in capitals. Defaults to POST and PATCH.
	Methods []string

	// OnNewKey, if set, is called with every key that the transport makes,
	// before it is sent: the place to store it. Its error is RoundTrip's, and then
	// nothing is sent. It must not read the request's body.
	OnNewKey func(r *http.Request, key string) error

	// OnRetry, if set, is called before each pause, on the goroutine of the call.
	OnRetry func(context.Context, Retry)

	// Tries is how often a request is sent at most, whatever it is answered with. What
	// the transport beneath sends again by itself counts too: [http.Transport] does so
	// where a kept connection breaks, as often as Tries allows. Two requests it sends again
	// on each kept connection that breaks, however many there are: a GET, HEAD, OPTIONS or
	// TRACE without a key, which is then not counted; and one with a key and without a body
	// where Transport is not the [http.Transport] itself but something around it, which is
	// counted and not stopped. Defaults to 5, not counting the answers that say when to
	// come back: these go by time, see Patience.
	Tries int

	// Patience is for how long a request is sent again, from its first try on, while the
	// server says when to come back (409, 429, 500, 502, 503 or 504 with Retry-After), or
	// Decide says to send it again. Defaults to the deadline of the request's context, and
	// to two minutes where it has none.
	Patience time.Duration

	// Decide, if set, is asked what an outcome of a try means, where the API says that
	// in its own words, such as "in use" by a 409 without Retry-After. It is given what
	// the transport beneath has returned: a response, or an error. It may read the
	// response's body, which whoever gets the response reads from its beginning again.
	// It is not asked for requests that can't be sent again.
	Decide func(*http.Response, error) Decision

	// FirstPause is how long the first pause is at most; each is twice as long as
	// the one before. Defaults to 200 milliseconds.
	FirstPause time.Duration

	// MaxPause is how long a pause is at most where the server does not ask for a longer
	// one. Defaults to 20 seconds, or to FirstPause where that is longer; at most a day.
	MaxPause time.Duration

	// MaxBody is how large a body without GetBody may be, in bytes, to be read
	// into memory so that it can be sent again. Defaults to 1 MiB; at most 1 GiB.
	MaxBody int64
}

// Decision is what the outcome of a try means.
type Decision int

const (
	// AsUsual leaves it to the transport; see the package documentation.
	AsUsual Decision = iota
	// SendAgain says that another try may come out differently.
	SendAgain
	// Return says that the outcome is the answer.
	Return
)

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
	Tries  int           // how often it has been sent, also by the transport beneath
	Status int           // what the last try was answered with; 0 if it was not
	Err    error         // why it was not
	Pause  time.Duration // when it is sent again
}

// ConfigError is one fault of a [Config]; [New] joins all it finds.
type ConfigError struct {
	Field   string // of the Config
	Problem string // what is wrong with it
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
	defaultPatience   = 2 * time.Minute
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
		if !isToken(method) || method != strings.ToUpper(method) {
			fault("Methods", "has %q, which is no method's name; names are case-sensitive", method)
		}
	}
	if c.Tries < 0 {
		fault("Tries", "is %d, and must be at least 1", c.Tries)
	}
	if c.Patience < 0 {
		fault("Patience", "is %v, and must not be negative", c.Patience)
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
