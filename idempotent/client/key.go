package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// NewKey makes a key: a random UUID (version 4 of RFC 9562). Two are never the
// same, and nobody can guess one.
func NewKey() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// contextKey is a key in a context. One that is there because a request was sent
// under it is for reading only: a transport beneath may send requests of its own
// from that context, such as for a token.
type contextKey struct {
	key   string
	given bool // by the caller, for the requests of the context
}

type inContext struct{}

// transit says of a request that was sent, which key it went under, if any, and for which
// server that is, by way of whatever redirects.
type transit struct {
	key  string
	home *url.URL
}

type inTransit struct{}

// WithKey returns a context whose requests are sent under this key, if their
// method is one of [Config.Methods]. It is for the requests of one intent, be it
// the first or one repeated later, and not for a context that requests of other
// intents derive from.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, inContext{}, contextKey{key: key, given: true})
}

// KeyFrom returns the key in the context: what [WithKey] put there, and in the
// context of a request that a [Transport] has sent, such as the Request of a
// response, the key it went under.
func KeyFrom(ctx context.Context) (string, bool) {
	found, ok := ctx.Value(inContext{}).(contextKey)
	return found.key, ok
}

// KeyError says that the key given for a request can't be sent. Nothing was sent.
type KeyError struct {
	Key     string // as it was given
	Problem string // what is wrong with it
}

func (e *KeyError) Error() string { return fmt.Sprintf("client: key %q %s", e.Key, e.Problem) }

// Is reports whether target is [ErrKey].
func (e *KeyError) Is(target error) bool { return target == ErrKey }

// ErrKey matches every [*KeyError].
var ErrKey = errors.New("client: unusable key")

// identity is how a server recognises the tries of one request.
type identity struct {
	key  string
	kind kind
	home *url.URL // the server that the key is for
	left string   // a key that stays there, because the request was redirected elsewhere
}

type kind int

const (
	onlyOnce     kind = iota // nothing makes it safe to send the request twice
	idempotent               // the method or the caller says that it needs no key
	keyInHeader              // the caller has written the key into the header
	keyElsewhere             // the key is known, and not in the header yet
	keyMade                  // the key is new
)

// identify finds the request's key, or makes one.
func (c *Config) identify(r *http.Request) (identity, error) {
	before := c.beforeRedirect(r)
	if !sameServer(before.home, r.URL) {
		switch {
		case before.key == "":
		case slices.Contains(c.Methods, r.Method):
			return identity{}, &KeyError{Key: before.key, Problem: fmt.Sprintf("is for %s://%s, which redirects to %s://%s", before.home.Scheme, before.home.Host, r.URL.Scheme, r.URL.Host)}
		default:
			return identity{kind: kindOfMethod(r.Method), home: before.home, left: before.key}, nil
		}
	}
	id, err := c.identifyHere(r, before.key)
	id.home = before.home
	return id, err
}

// identifyHere finds the key of a request that goes to the server that its key is for.
func (c *Config) identifyHere(r *http.Request, before string) (identity, error) {
	wanted, _ := r.Context().Value(inContext{}).(contextKey)
	if values, ok := fieldValues(r.Header, c.Header); ok {
		if len(values) == 0 {
			return identity{kind: idempotent}, nil
		}
		key, err := parseField(values)
		if err == nil && wanted.given && wanted.key != key {
			err = &KeyError{Key: key, Problem: fmt.Sprintf("is in the header, and %q in the context", wanted.key)}
		}
		return identity{key: key, kind: keyInHeader}, err
	}
	switch {
	case !slices.Contains(c.Methods, r.Method):
		return identity{kind: kindOfMethod(r.Method)}, nil
	case wanted.given:
		return identity{key: wanted.key, kind: keyElsewhere}, c.Form.check(wanted.key)
	}
	// [http.Client] repeats the caller's headers after a redirect, but the key is
	// not among them: the caller's request is left as it is.
	if before != "" {
		return identity{key: before, kind: keyElsewhere}, nil
	}
	return identity{key: NewKey(), kind: keyMade}, nil
}

// identified returns a copy of the request that carries its key, in the header and
// in the context, or no key where it has left that behind.
func (c *Config) identified(r *http.Request, id identity) *http.Request {
	carrier := r.WithContext(context.WithValue(r.Context(), inTransit{}, &transit{key: id.key + id.left, home: id.home}))
	switch {
	case id.left != "":
		carrier.Header = maps.Clone(r.Header)
		maps.DeleteFunc(carrier.Header, func(name string, _ []string) bool { return strings.EqualFold(name, c.Header) })
	case id.key == "":
	case id.kind == keyInHeader:
		carrier = carrier.WithContext(context.WithValue(carrier.Context(), inContext{}, contextKey{key: id.key}))
	default:
		carrier = carrier.WithContext(context.WithValue(carrier.Context(), inContext{}, contextKey{key: id.key}))
		carrier.Header = make(http.Header)
		maps.Copy(carrier.Header, r.Header)
		carrier.Header.Set(c.Header, c.Form.write(id.key))
	}
	return carrier
}

// kindOfMethod knows which methods are idempotent (RFC 9110, section 9.2.2).
func kindOfMethod(method string) kind {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return idempotent
	}
	return onlyOnce
}

// fieldValues returns the values of a header, however its name is spelled in the
// map: a second field would be sent beside one spelled differently.
func fieldValues(h http.Header, name string) (values []string, ok bool) {
	for spelled, v := range h {
		if strings.EqualFold(spelled, name) {
			values, ok = append(values, v...), true
		}
	}
	return values, ok
}

// parseField reads the key that the caller has written, in either form.
func parseField(values []string) (string, error) {
	if len(values) > 1 {
		return "", &KeyError{Key: strings.Join(values, ", "), Problem: "is more than one"}
	}
	value := strings.Trim(values[0], " \t")
	if !strings.HasPrefix(value, `"`) {
		return value, Bare.check(value)
	}
	key, rest, closed := unquote(value[1:])
	if !closed || rest != "" {
		return "", &KeyError{Key: value, Problem: "is no structured-field string"}
	}
	return key, Quoted.check(key)
}

// unquote reads a structured-field string after its opening quote.
func unquote(s string) (content, rest string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", s, false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

// check tells what is wrong with a key to be written in this form.
func (f Form) check(key string) error {
	notPrintable := func(c rune) bool { return c < ' ' || c > '~' }
	switch {
	case key == "":
		return &KeyError{Key: key, Problem: "is empty"}
	case strings.ContainsFunc(key, notPrintable):
		return &KeyError{Key: key, Problem: "is not made of printable ASCII characters"}
	case f == Bare && strings.ContainsAny(key, ` ",;\`):
		return &KeyError{Key: key, Problem: "has a blank, quote, comma, semicolon or backslash, which only a quoted one can"}
	}
	return nil
}

// write returns the key as the header's value.
func (f Form) write(key string) string {
	if f == Bare {
		return key
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}
