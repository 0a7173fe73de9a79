package httpguard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// API guards the handlers of an HTTP API. It is immutable and safe for concurrent
// use. The handlers of one API share the guard's records: a key that was used for
// one of them is refused by the others, because they are reached by other paths.
type API struct {
	guard   *idempotent.Guard
	config  Config
	replays replays
}

// New returns what guards an API by a guard and a config. It checks the whole
// config and joins every fault it finds into one error ([idempotent.ErrConfig],
// [*idempotent.ConfigError]).
func New(guard *idempotent.Guard, config Config) (*API, error) {
	config = config.withDefaults()
	err := config.check()
	err = errors.Join(checkGuard(guard), err)
	if err != nil {
		return nil, err
	}
	return &API{guard: guard, config: config, replays: newReplays(config.ReplayHeaders)}, nil
}

// checkGuard refuses a guard that says what nobody asks it here.
func checkGuard(guard *idempotent.Guard) error {
	if guard == nil {
		return fmt.Errorf("%w: no guard", idempotent.ErrConfig)
	}
	var faults []error
	if c := guard.Config(); c.Key != nil {
		faults = append(faults, &idempotent.ConfigError{Field: "Key", Problem: "is set, and httpguard does not use it: see httpguard.Config.BodyKey"})
	}
	if c := guard.Config(); c.Fingerprint != nil {
		faults = append(faults, &idempotent.ConfigError{Field: "Fingerprint", Problem: "is set, and httpguard does not use it: see httpguard.Config.Compare"})
	}
	return errors.Join(faults...)
}

// covers tells whether requests of the method are guarded.
func (a *API) covers(method string) bool { return slices.Contains(a.config.Methods, method) }

// served is what a request is answered with.
type served struct {
	// instead is the answer to give instead of the handler's: a refusal or a replay.
	instead *response
	// name and value are a header that the guard adds to the handler's own answer, if
	// it adds one.
	name, value string
}

// keptUntil says on the handler's own answer until when it is kept, by how its call has ended.
func (a *API) keptUntil(last idempotent.Event) served {
	if last.Kind != idempotent.EventExecuted || last.ExpiresAt.IsZero() || a.guard.Config().OnlyLock {
		return served{}
	}
	return served{name: expiresHeader, value: httpDate(last.ExpiresAt)}
}

// resumable says on the handler's own answer that it is worth coming back, where a retry
// goes on with what was done: unless the handler says so itself, or does not blame the
// service.
func resumable(answer response, err error) served {
	v := idempotent.VerdictOf(err)
	if v.Done != idempotent.DoneSomething || !v.Retry || answer.Status < 500 || len(canonical(answer.separate())["Retry-After"]) > 0 {
		return served{}
	}
	return served{name: "Retry-After", value: seconds(v.After)}
}

// serve takes a request through the guard. The error is the handler's own, which goes
// with its own answer. run calls the handler, with the body where that was read, and
// returns its response as it is to be recorded.
func (a *API) serve(ctx context.Context, r *Request, run func(context.Context) (response, error)) (served, error) {
	id, err := a.identify(ctx, r)
	if err != nil && !a.guard.Off() {
		return served{instead: a.malformed(ctx, r, err)}, nil
	}
	var own outcome
	var unsettled response
	var last idempotent.Event
	guard := a.guard.Observing(func(_ context.Context, e idempotent.Event) { last = e }).
		KeepingEvent(func() []byte { return a.keep(ctx, r, id) })
	stored, err := idempotent.DoAs(ctx, guard, id, func(ctx context.Context) (response, error) {
		answer, err := run(ctx)
		switch {
		case err != nil:
			own = failed
			return response{}, err
		case !a.config.Settled(answer.Status):
			own, unsettled = answered, answer
			return response{}, &unsettledError{answer.Status}
		default:
			own = recorded
			return a.replays.keep(answer), nil
		}
	})
	ran := own != 0 && last.Kind != idempotent.EventReplayed // a run of the short form may have lost to another
	switch {
	case ran && own == failed:
		return served{}, err
	case ran && own == answered:
		return resumable(unsettled, err), nil
	case ran && err == nil:
		return a.keptUntil(last), nil
	case err == nil:
		return served{instead: a.replay(r, stored, last.ExpiresAt)}, nil
	}
	if answer, refused := a.judge(ctx, r, err, last.ExpiresAt); refused {
		return served{instead: answer}, nil
	}
	return served{}, err
}

// replay answers a request with a recorded response.
func (a *API) replay(r *Request, stored response, expires time.Time) *response {
	answer := stored.forOrigin(r).withHeader(replayedHeader, "true")
	if !expires.IsZero() {
		answer = answer.withHeader(expiresHeader, httpDate(expires))
	}
	return a.ours(r, answer)
}

// ours is an answer of the guard's own, with the headers that the API wants there.
func (a *API) ours(r *Request, answer response) *response {
	if a.config.AnswerHeaders != nil {
		for name, values := range a.config.AnswerHeaders(r) {
			answer = answer.withHeader(http.CanonicalHeaderKey(name), values...)
		}
	}
	return &answer
}

// outcome is how the handler has ended.
type outcome int

const (
	_        outcome = iota // it has not run
	failed                  // with an error
	answered                // with a response that is not to be recorded
	recorded                // with one that is
)

// identify says what a request is recognised by. Without a key that is nothing, and
// the guard decides what that means. A key in the header, and whose it is, are looked at
// before the body is read. With the guards switched off nothing more is.
func (a *API) identify(ctx context.Context, r *Request) (idempotent.Identity, error) {
	key, err := a.config.keyInHeader(r)
	if err != nil {
		return a.guard.Identity("", ""), err
	}
	record, err := a.recordKey(ctx, r, key)
	if err != nil || a.guard.Off() || key == "" && a.config.BodyKey == nil {
		return a.guard.Identity(record, ""), err
	}
	body, err := r.body(a.config.MaxBody)
	if err == nil && key == "" {
		if key, err = a.config.keyInBody(r, body); err == nil {
			record, err = a.recordKey(ctx, r, key)
		}
	}
	fingerprint := ""
	if err == nil && key != "" && a.config.OnMismatch != ReplayFirst {
		fingerprint = a.config.fingerprint(r, body)
	}
	return a.guard.Identity(record, fingerprint), err
}

// recordKey returns the key of a caller's key; empty for none.
func (a *API) recordKey(ctx context.Context, r *Request, key string) (string, error) {
	if key == "" {
		return "", nil
	}
	scope, err := a.config.Scope.of(ctx, r)
	if err != nil {
		return "", err
	}
	return joinKey(scope, key), nil
}

// unsettledError is how a handler's response that is not to be recorded goes
// through the guard: the record is released.
type unsettledError struct{ status int }

func (e *unsettledError) Error() string {
	return fmt.Sprintf("httpguard: responses with status %d are not recorded", e.status)
}
