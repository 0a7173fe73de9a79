package httpguard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Scope says whose key a request brings. Two clients that happen to send the same
// key never meet, because the scope is part of the record's key. The zero Scope
// is none and is refused by [New].
//
// A request in which the scope is not found is answered with 403: it never falls
// into a bucket with others. A scope must not change between the tries of a
// request: a key that comes from another scope is another key, and runs.
type Scope struct{ parts []scopePart }

type scopePart struct {
	name string
	find func(context.Context, *Request) ([]string, error) // nil where there is nothing to find
}

// ErrNoScope says that a request does not tell whose it is. Functions given to
// [ScopeFunc] may return it, wrapped or not, for an answer of 403.
var ErrNoScope = errors.New("httpguard: the request does not tell whose key it brings")

// scopeError says that it could not be found out whose key a request brings.
type scopeError struct{ err error }

func (e *scopeError) Error() string { return "httpguard: looking up the scope: " + e.err.Error() }

func (e *scopeError) Unwrap() error { return e.err }

// Unscoped is one scope for all clients: whoever sends a key that was used before
// gets the response that was given then. For APIs with one client, or whose keys
// nobody else can guess.
func Unscoped() Scope { return Scope{[]scopePart{{name: "unscoped"}}} }

// ScopeFunc is a scope of one's own, such as the user that an authenticating
// middleware has left in the context. The name tells it from other scopes and
// becomes part of the record's key. An empty result is [ErrNoScope]; any other error
// is one that passes, such as that of a session store that is down: the request is answered
// with 503 and a Retry-After, and the error is logged.
func ScopeFunc(name string, find func(context.Context, *Request) (string, error)) Scope {
	part := scopePart{name: "func " + name}
	if name != "" && find != nil {
		part.find = func(ctx context.Context, r *Request) ([]string, error) {
			value, err := find(ctx, r)
			return []string{value}, err
		}
	}
	return Scope{[]scopePart{part}}
}

// ByJWTSubject is the subject of the token that a JWT or Cognito authorizer has
// checked, together with its issuer: subjects are unique within one issuer only.
func ByJWTSubject() Scope {
	return found("jwt subject", func(r *Request) []string {
		return []string{r.Caller.Claims["iss"], r.Caller.Claims["sub"]}
	})
}

// ByClaim is one claim of that token, such as the tenant's.
func ByClaim(name string) Scope {
	return named("claim", name, func(r *Request) []string { return []string{r.Caller.Claims[name]} })
}

// ByAuthorizer is one value of the context that a Lambda authorizer has returned;
// "principalId" for the principal of a REST API's authorizer. Values that are
// not strings do not count.
func ByAuthorizer(name string) Scope {
	return named("authorizer", name, func(r *Request) []string {
		value, _ := r.Caller.Authorizer[name].(string)
		return []string{value}
	})
}

// ByIAMPrincipal is who signed the request: an identity of a Cognito identity pool,
// a user, or a role with its session. Clients that repeat requests under another
// session need [ByIAMRole].
//
// All identities of a pool sign as one role, and as one session of it. API Gateway
// tells which identity it is; where nobody does, as behind a function URL, such a
// request does not tell whose it is. Otherwise it is the one who assumes a role who
// names the session.
func ByIAMPrincipal() Scope {
	return found("iam principal", func(r *Request) []string {
		switch {
		case r.Caller.CognitoIdentity != "":
			return []string{r.Caller.CognitoIdentity}
		case strings.HasSuffix(r.Caller.IAM, ":CognitoIdentityCredentials"):
			return []string{""}
		default:
			return []string{r.Caller.IAM}
		}
	})
}

// ByIAMRole is the role or the user that signed the request. All sessions of a role
// share their keys, so it is not for roles that people share, such as that of a
// Cognito identity pool.
func ByIAMRole() Scope {
	return found("iam role", func(r *Request) []string {
		id := r.Caller.IAM
		if strings.HasPrefix(id, "AROA") { // the unique identifiers of roles; a session's name follows
			id, _, _ = strings.Cut(id, ":")
		}
		return []string{id}
	})
}

// ByAPIKey is the API key of a REST API's usage plan, by its identifier. API keys
// are no means of authorization: have one besides.
func ByAPIKey() Scope {
	return found("api key", func(r *Request) []string { return []string{r.Caller.APIKeyID} })
}

// ByHeader is the value of a header that must come once. Only for headers that
// clients can't choose themselves, because something in front sets them: the
// x-amzn-oidc-identity of a load balancer that authenticates, for one.
func ByHeader(name string) Scope {
	return named("header", strings.ToLower(name), func(r *Request) []string {
		if values := r.Header.Values(name); len(values) == 1 {
			return values
		}
		return []string{""}
	})
}

// And is a scope within a scope: a user of a tenant.
func (s Scope) And(inner Scope) Scope {
	return Scope{append(append([]scopePart(nil), s.parts...), inner.parts...)}
}

// named is a scope of one thing among several of its kind.
func named(kind, name string, find func(*Request) []string) Scope {
	if name == "" {
		return Scope{[]scopePart{{name: kind}}}
	}
	return found(kind+" "+name, find)
}

func found(name string, find func(*Request) []string) Scope {
	return Scope{[]scopePart{{name, func(_ context.Context, r *Request) ([]string, error) { return find(r), nil }}}}
}

// problem says why a scope can't be used; nothing where it can.
func (s Scope) problem() string {
	if len(s.parts) == 0 {
		return "is missing; say whose keys these are, or Unscoped where one bucket for all clients is meant"
	}
	for _, part := range s.parts {
		if part.find == nil && part.name != "unscoped" {
			return fmt.Sprintf("has a part %q without a name, or without a function", part.name)
		}
		if !utf8.ValidString(part.name) {
			return fmt.Sprintf("has the name %q, which is not UTF-8", part.name)
		}
	}
	return ""
}

// of returns the scope's values in a request, each part with its name, so that
// the values of one never pass for those of another.
func (s Scope) of(ctx context.Context, r *Request) ([][]string, error) {
	scope := make([][]string, 0, len(s.parts))
	for _, part := range s.parts {
		named := []string{part.name}
		if part.find != nil {
			values, err := part.find(ctx, r)
			switch {
			case errors.Is(err, ErrNoScope):
				return nil, err
			case err != nil:
				return nil, &scopeError{err}
			}
			for _, value := range values {
				if strings.TrimSpace(value) == "" || !utf8.ValidString(value) {
					return nil, fmt.Errorf("%w: no %s", ErrNoScope, part.name)
				}
			}
			named = append(named, values...)
		}
		scope = append(scope, named)
	}
	return scope, nil
}
