package idempotent

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/internal/result"
)

// Identity is what a guard recognises a request by. It is comparable: two identities of
// one guard that are equal are the same request. [Guard.Identify] finds that of a payload,
// [Guard.Identity] and [Guard.IdentifyOr] that of a key made by other means. The zero
// Identity is none.
type Identity struct {
	guard *Guard // that has found it, or the one of which that is a copy
	identity
	fault *fault // why there is none
}

// identity is what a call is recognised by, fixed before anything runs: what the
// function does to its event later changes neither.
type identity struct {
	key         string // of the record, but for the tenant
	fingerprint string
}

// fault is why a request can't be recognised.
type fault struct{ err error }

// Identify returns what the guard's Key (or Dialect) recognises a JSON payload by, with
// its Fingerprint. What is wrong with the payload, [DoAs] reports as *KeyError, unless the
// guard runs such requests unprotected; a guard without a Key as *ConfigError.
func (g *Guard) Identify(payload []byte) Identity {
	if !g.keyed() {
		return g.misidentified("Key", "is missing, and the payload has to be identified")
	}
	return g.identity(g.identifyPayload(payload))
}

// Identity returns the identity of a request whose key the caller has found, with what
// must not differ between the tries of the key; empty where nothing is to be compared. The
// record's key is that of a payload from which a Key selects the string key, unless it is
// Verbatim; with a Dialect, what that makes of it.
//
// The Key and the Fingerprint of a Config are for payloads: [DoAs] answers with
// *ConfigError for a guard that has one.
func (g *Guard) Identity(key, fingerprint string) Identity {
	switch {
	case g.config.Key != nil:
		return g.misidentified("Key", "is set, and the caller brings a key of its own: identify a payload by Guard.Identify, or leave Key out")
	case g.config.Fingerprint != nil:
		return g.misidentified("Fingerprint", "is set, and there is no payload to select it from: use Guard.IdentifyOr")
	}
	record, err := g.keyOf(key)
	return g.identity(identity{key: record, fingerprint: fingerprint}, err)
}

// IdentifyOr is [Guard.Identify], and for a guard without a Key (or Dialect) recognises
// the payload by the key otherwise, such as the ID that an event source gives its events;
// with the guard's Fingerprint of the payload in any case.
func (g *Guard) IdentifyOr(payload []byte, otherwise string) Identity {
	if g.keyed() {
		return g.Identify(payload)
	}
	record, err := g.keyOf(otherwise)
	return g.withFingerprint(record, err, payload)
}

// IdentifyItem returns the identity of an item of a named batch: see
// [idempotency.ItemKey]. No other request has its key. The guard's Fingerprint, if it has
// one, is that of the content's JSON form; without content nothing is compared. A guard with
// a Key is refused.
func (g *Guard) IdentifyItem(batch, item string, content any) Identity {
	if g.keyed() {
		return g.misidentified("Key", "is set (or a Dialect), and an item's key is made of its batch's name and its ID")
	}
	record, err := idempotency.ItemKey(g.config.Operation, batch, item)
	if err != nil || content == nil || g.config.Fingerprint == nil {
		return g.identity(identity{key: record}, err)
	}
	payload, err := result.EncodeEvent(content)
	return g.withFingerprint(record, err, payload)
}

// RecordKey returns the key of the record of a request with that payload: see
// [Identity.RecordKey].
func (g *Guard) RecordKey(ctx context.Context, payload []byte) (string, error) {
	return g.Identify(payload).RecordKey(ctx)
}

// RecordKey returns the key of the request's record. Where Lambda isolates tenants, the
// tenant is that of the context: see [Config].TenantsShareRecords. The error is that of a call: *KeyError, or
// *ConfigError.
func (id Identity) RecordKey(ctx context.Context) (string, error) {
	if id.guard == nil {
		return "", errNoIdentity
	}
	found, err := id.guard.identify(ctx, func() (request, error) { of, err := id.of(id.guard); return request{identity: of}, err })
	if _, misused := errors.AsType[*ConfigError](err); misused || err == nil {
		return found.key, err
	}
	return "", &KeyError{Operation: id.guard.config.Operation, Err: err}
}

// Request is one text for all identities of a guard that have the same key, whatever
// their fingerprints, and empty where there is no key. For adapters that have many
// requests at once, of which those of one key must not run side by side. It is no key
// of a record.
func (id Identity) Request() string {
	if id.fault != nil {
		return ""
	}
	return id.key
}

// of returns what the store recognises the request by.
func (id Identity) of(g *Guard) (identity, error) {
	switch {
	case id.guard == nil:
		return identity{}, errNoIdentity
	case id.guard != g.made:
		return identity{}, &ConfigError{Field: "Operation", Problem: fmt.Sprintf("is %q, and the identity was found by the guard of %q", g.config.Operation, id.guard.config.Operation)}
	case id.fault != nil:
		return identity{}, id.fault.err
	}
	return id.identity, nil
}

// errNoIdentity is what the zero Identity says of itself.
var errNoIdentity = &ConfigError{Field: "Key", Problem: "can't be told: the Identity is the zero one, which no guard has found"}

// keyed tells whether the guard says what identifies a payload.
func (g *Guard) keyed() bool { return g.config.Key != nil || g.config.Dialect != nil }

func (g *Guard) identity(found identity, err error) Identity {
	if err != nil {
		return Identity{guard: g.made, fault: &fault{err}}
	}
	return Identity{guard: g.made, identity: found}
}

func (g *Guard) withFingerprint(key string, err error, payload []byte) Identity {
	if err != nil {
		return g.identity(identity{}, err)
	}
	fingerprint, err := g.fingerprint(payload)
	return g.identity(identity{key: key, fingerprint: fingerprint}, err)
}

func (g *Guard) misidentified(field, problem string) Identity {
	return g.identity(identity{}, &ConfigError{Field: field, Problem: problem})
}

// identify finds out what a call is recognised by. It is the one place where a request
// is given to its tenant: where Lambda isolates tenants, the tenant is in the context
// and not in the event.
func (g *Guard) identify(ctx context.Context, find func() (request, error)) (request, error) {
	id, err := find()
	if err != nil {
		return request{}, err
	}
	caller, ok := lambdacontext.FromContext(ctx)
	if !ok || caller.TenantID == "" || g.config.TenantsShareRecords {
		return id, nil
	}
	if id.key, err = idempotency.TenantKey(caller.TenantID, id.key); err != nil {
		return request{}, err
	}
	return id, nil
}

// errNoKey marks a payload in which the key is missing, as opposed to one that
// can't be understood, or lacks the fingerprint.
var errNoKey = errors.New("the key is missing")

// noKey marks the error if it says that the key is missing.
func noKey(err error) error {
	if errors.Is(err, idempotency.ErrMissing) {
		return fmt.Errorf("%w: %w", errNoKey, err)
	}
	return err
}

// keyOf returns the record key for a value that the caller chose.
func (g *Guard) keyOf(value string) (key string, err error) {
	if g.config.Dialect != nil {
		key, err = g.config.Dialect.Key(value)
	} else {
		key, err = idempotency.Key(g.config.Operation, value)
	}
	if err != nil {
		return "", noKey(err)
	}
	return key, nil
}

// identifyPayload finds key and fingerprint of a JSON payload.
func (g *Guard) identifyPayload(payload []byte) (identity, error) {
	if g.config.Dialect != nil {
		key, fingerprint, err := g.config.Dialect.Identify(payload)
		if err != nil {
			return identity{}, noKey(err)
		}
		return identity{key: key, fingerprint: fingerprint}, nil
	}
	key, err := g.config.Key.Key(g.config.Operation, payload)
	if err != nil {
		return identity{}, noKey(err)
	}
	fingerprint, err := g.fingerprint(payload)
	if err != nil {
		return identity{}, err
	}
	return identity{key: key, fingerprint: fingerprint}, nil
}

// fingerprint finds the fingerprint of a JSON payload; empty where the guard
// compares nothing.
func (g *Guard) fingerprint(payload []byte) (string, error) {
	if g.config.Fingerprint == nil {
		return "", nil
	}
	fingerprint, err := g.config.Fingerprint.Fingerprint(payload)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	return fingerprint, nil
}
