package httpguard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
)

// Config says how an HTTP API is guarded. Only Scope is required. Whether a
// covered request needs a key, how long its response is replayed, and whether a
// duplicate waits for the first is for [idempotent.Config] to say; its Key and
// Fingerprint must not be set: a request has its key in a header, and is compared whole.
type Config struct {
	// Scope says whose key it is. Required: without it a client that sends
	// somebody else's key would get somebody else's response. [Unscoped] says
	// that this is meant.
	Scope Scope

	// Header carries the key. Defaults to Idempotency-Key.
	Header string

	// Methods are covered; requests of all others pass as they are, with or
	// without a key. Defaults to POST and PATCH, the methods that are not
	// idempotent by themselves.
	Methods []string

	// BodyKey selects the key, a string, from the JSON bodies of requests that
	// lack the header. Other bodies, such as forms, have none. Defaults to nothing.
	BodyKey *idempotency.Expression

	// MaxKey is how many bytes a key may have. Defaults to 255.
	MaxKey int

	// CheckKey, if set, refuses keys that do not have the published format, such
	// as a UUID. The client is told what it was told by: the error's text.
	CheckKey func(key string) error

	// Compare selects from JSON bodies what must not differ between the tries of a
	// key. Defaults to everything, and everything is compared of a body in which
	// it selects nothing.
	Compare *idempotency.Expression

	// OnMismatch says what a known key with another request means. Defaults to
	// Refuse422.
	OnMismatch Mismatch

	// Settled tells which responses are recorded and replayed, by status. After any
	// other one a retry runs. Defaults to [Settled].
	Settled func(status int) bool

	// ReplayHeaders are replayed besides those that every replay has; see the
	// package documentation. Cookies, dates, the connection's own fields and the
	// identifiers of a request can't be.
	ReplayHeaders []string

	// MaxBody is how many bytes of a body are held in memory: a larger request is
	// refused with 413, and a larger response of the middleware is passed on but
	// not recorded. Defaults to 6 MiB, Lambda's own limit for both.
	MaxBody int

	// AnswerHeaders, if set, returns headers for the answers that the guard gives by itself,
	// refusals and replays: those of CORS for the request's origin, for one. They take the
	// place of recorded headers of the same names. Behind a middleware that sets them
	// anyway there is no need for it.
	AnswerHeaders func(*Request) http.Header

	// DocsURL is where clients read about idempotency in this API; every refusal
	// links to it. Defaults to this module's page, docs/http.md.
	DocsURL string

	// TypeBase is what the types of problems begin with, a URI; the problem's code
	// follows. Clients recognise problems by their types, so choose it once. Defaults to
	// this module's page, docs/http.md, which explains each:
	// https://github.com/ikkai-go/idempotency/blob/main/docs/http.md#in_progress.
	TypeBase string

	// Logger gets what only an operator can put right. Defaults to [slog.Default], as it
	// is when something is logged.
	Logger *slog.Logger
}

// Mismatch says what it means that a key is known, and comes with another
// request than the first time.
type Mismatch int

const (
	// Refuse422 answers 422 (Unprocessable Content).
	Refuse422 Mismatch = iota
	// Refuse409 answers 409 (Conflict), without a Retry-After.
	Refuse409
	// ReplayFirst answers with the response to the first request. Requests are not
	// compared at all.
	ReplayFirst
)

const (
	defaultHeader  = "Idempotency-Key"
	defaultMaxKey  = 255
	defaultMaxBody = 6 << 20
	defaultDocsURL = "https://github.com/ikkai-go/idempotency/blob/main/docs/http.md"
)

func (c Config) withDefaults() Config {
	if c.Header == "" {
		c.Header = defaultHeader
	}
	if c.Methods == nil {
		c.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	c.Methods = slices.Clone(c.Methods)
	if c.MaxKey == 0 {
		c.MaxKey = defaultMaxKey
	}
	if c.Settled == nil {
		c.Settled = Settled
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.DocsURL == "" {
		c.DocsURL = defaultDocsURL
	}
	if c.TypeBase == "" {
		c.TypeBase = defaultDocsURL + "#"
	}
	return c
}

// check returns all that is wrong with a config whose defaults are filled in.
func (c Config) check() error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &idempotent.ConfigError{Field: "httpguard.Config." + field, Problem: fmt.Sprintf(format, args...)})
	}
	if problem := c.Scope.problem(); problem != "" {
		fault("Scope", "%s", problem)
	}
	if !isToken(c.Header) {
		fault("Header", "is %q, which is no header's name", c.Header)
	}
	if len(c.Methods) == 0 {
		fault("Methods", "is empty, so that nothing would be guarded")
	}
	for _, method := range c.Methods {
		if !isToken(method) || method != strings.ToUpper(method) {
			fault("Methods", "has %q, which is no method's name; names are case-sensitive", method)
		}
	}
	if c.MaxKey < 1 {
		fault("MaxKey", "is %d, and must be positive", c.MaxKey)
	}
	if c.MaxBody < 1 {
		fault("MaxBody", "is %d, and must be positive", c.MaxBody)
	}
	if c.OnMismatch < Refuse422 || c.OnMismatch > ReplayFirst {
		fault("OnMismatch", "is %d, which is no Mismatch", c.OnMismatch)
	}
	if c.OnMismatch == ReplayFirst && c.Compare != nil {
		fault("Compare", "is set, and with OnMismatch: ReplayFirst nothing is compared")
	}
	for _, name := range c.ReplayHeaders {
		switch {
		case !isToken(name):
			fault("ReplayHeaders", "has %q, which is no header's name", name)
		case neverReplayed(name):
			fault("ReplayHeaders", "has %q, which belongs to one response and is never replayed", name)
		}
	}
	if !isAbsolute(c.DocsURL) {
		fault("DocsURL", "is %q, which is no absolute URL", c.DocsURL)
	}
	if !isAbsolute(c.TypeBase) {
		fault("TypeBase", "is %q, which is no absolute URI", c.TypeBase)
	}
	return errors.Join(faults...)
}

// isAbsolute tells whether s is a URI that means the same everywhere, and that can stand in
// a Link field.
func isAbsolute(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && !strings.ContainsAny(s, "<>\"\r\n")
}

// isToken tells whether s can be the name of a header or a method (RFC 9110,
// section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
