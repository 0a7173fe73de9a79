package idempotent

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/ikkai-go/idempotency/idempotent/internal/result"
)

// Func returns fn guarded. The key expression sees the event's JSON form, so it
// is written against the json names: headers."idempotency-key", not
// Headers["idempotency-key"].
//
// A replay decodes the stored JSON of the first result, and is the same value. Where the
// result's type has interfaces, the first caller gets what JSON makes of it as well: maps,
// slices, and for numbers [json.Number], which keeps all their digits. A result that JSON
// would lose a part of (a set field that is not exported, text that is not UTF-8, a NaN, what a
// method writes masked) is not stored: its caller gets it, EventNotStored tells why, and a duplicate gets
// *ResultNotStoredError. Where the error
// is a *LeaseLostError or a *StoreError of an executed call, the result that
// comes with it is the function's own.
//
// In a durable function a call is refused with *ConfigError, and nothing runs: where the context is
// the function's own (it has methods ExecutionArn and IsReplaying), since there nobody can tell whether the
// execution is suspended or over. Wrap the whole durable handler with [Guard.Handler]; a durable
// step has a context of its own, in which calls are as elsewhere. See docs/durable.md.
//
// Bytes of the event that are not UTF-8 give no key. Nor does an escape \ufffd
// inside a raw message, which can't be told from them; nor an event of a type that masks
// something when it is encoded: the masks of all events are the same.
//
// Func panics for a guard without a Key (or Dialect), for a nil function, and for a result type that JSON can't hold or
// can't be read back into, in any field: readers, channels, functions, complex numbers, and
// interfaces with methods.
func Func[In, Out any](g *Guard, fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	g.mustHaveKey("Func")
	result.MustKeep(reflect.TypeFor[Out]())
	if fn == nil {
		panic("idempotent: Func of a nil function")
	}
	return func(ctx context.Context, in In) (Out, error) {
		identify := func() (request, error) {
			payload, err := result.EncodeEvent(in)
			if err == nil && g.config.Dialect != nil {
				err = result.RefuseReplaced(in, payload)
			}
			if err != nil {
				return request{}, err
			}
			return g.identifyEvent(payload)
		}
		return typed(ctx, g, identify, func(ctx context.Context) (Out, error) { return fn(ctx, in) })
	}
}

// Do runs fn guarded, under a key that the caller has made: see [Guard.Identity]. See
// [Func] for results and errors.
func Do[Out any](ctx context.Context, g *Guard, key string, fn func(context.Context) (Out, error)) (Out, error) {
	return DoAs(ctx, g, g.Identity(key, ""), fn)
}

// DoAs runs fn guarded, under an identity that the guard has found: a request whose key
// is known with another fingerprint is refused with *MismatchError. See [Func] for results
// and errors.
//
// DoAs and [Do] panic for result types as [Func] does, and for a nil function.
func DoAs[Out any](ctx context.Context, g *Guard, id Identity, fn func(context.Context) (Out, error)) (Out, error) {
	result.MustKeep(reflect.TypeFor[Out]())
	if fn == nil {
		panic("idempotent: DoAs of a nil function")
	}
	return typed(ctx, g, func() (request, error) { return id.request(g) }, fn)
}

// Do is [Do] for functions that return nothing but an error. A replay runs nothing, and
// returns nil.
func (g *Guard) Do(ctx context.Context, key string, fn func(context.Context) error) error {
	return g.DoAs(ctx, g.Identity(key, ""), fn)
}

// DoAs is [DoAs] for functions that return nothing but an error.
func (g *Guard) DoAs(ctx context.Context, id Identity, fn func(context.Context) error) error {
	if fn == nil {
		panic("idempotent: DoAs of a nil function")
	}
	_, err := DoAs(ctx, g, id, func(ctx context.Context) (json.RawMessage, error) { return nil, fn(ctx) })
	return err
}

// typed makes a call of a function with a typed result.
func typed[Out any](ctx context.Context, g *Guard, identify func() (request, error), fn func(context.Context) (Out, error)) (out Out, err error) {
	err = g.during(entering(ctx), Event{Kind: EventCall}, func(ctx context.Context) error {
		out, err = callTyped(ctx, g, identify, fn)
		return err
	})
	return out, err
}

// callTyped takes a call of a function with a typed result through the protocol, which
// knows bytes only.
func callTyped[Out any](ctx context.Context, g *Guard, identify func() (request, error), fn func(context.Context) (Out, error)) (Out, error) {
	var out Out
	done := false
	stored, err := g.call(ctx, identify, func(ctx context.Context, e *effect) error {
		var err error
		if out, err = fn(ctx); err != nil {
			return err
		}
		done, e.done = true, true
		e.result, e.omit = result.Encode(&out)
		return nil
	})
	if stored != nil {
		out = *new(Out) // of a run that lost
		if err := result.Decode(stored.result, &out); err != nil {
			return out, &ReplayError{Key: stored.key, Result: stored.result, Err: err}
		}
	}
	failed, _ := errors.AsType[*StoreError](err)
	lost, _ := errors.AsType[*LeaseLostError](err)
	executed := failed != nil && failed.Executed || lost != nil && lost.Executed
	if done && err != nil && !executed {
		out = *new(Out) // it came to nothing: its writes were refused, or it was undone
	}
	return out, err
}
