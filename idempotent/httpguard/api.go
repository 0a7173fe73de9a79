package httpguard

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	if guard == nil {
		err = errors.Join(fmt.Errorf("%w: no guard", idempotent.ErrConfig), err)
	}
	if err != nil {
		return nil, err
	}
	return &API{guard: guard, config: config, replays: newReplays(config.ReplayHeaders)}, nil
}

// covers tells whether requests of the method are guarded.
func (a *API) covers(method string) bool { return slices.Contains(a.config.Methods, method) }

// serve takes a request through the guard. It returns the answer to give instead
// of the handler's: a refusal or a replay; nil where the answer is the handler's own,
// with the handler's own error. run calls the handler and returns its response as it
// is to be recorded.
func (a *API) serve(ctx context.Context, r *Request, run func(context.Context) (response, error)) (*response, error) {
	id, err := a.identify(ctx, r)
	if err != nil && !idempotent.Disabled() {
		return a.malformed(ctx, err), nil
	}
	var own outcome
	var last idempotent.EventKind
	ctx = idempotent.WithObserver(ctx, func(_ context.Context, e idempotent.Event) { last = e.Kind })
	stored, err := idempotent.DoAs(ctx, a.guard, id, func(ctx context.Context) (response, error) {
		answer, err := run(ctx)
		switch {
		case err != nil:
			own = failed
			return response{}, err
		case !a.config.Settled(answer.Status):
			own = answered
			return response{}, &unsettledError{answer.Status}
		default:
			own = recorded
			return a.replays.keep(answer), nil
		}
	})
	ran := own != 0 && last != idempotent.Replayed // a run of the short form may have lost to another
	switch {
	case ran && own == failed:
		return nil, err
	case ran && (own == answered || err == nil):
		return nil, nil
	case err == nil:
		replay := stored.with(replayedHeader, "true")
		return &replay, nil
	case errors.Is(err, idempotent.ErrReplay):
		return a.broken(ctx, err), nil
	}
	if p, refused := a.config.refusal(err); refused {
		return a.problem(p), nil
	}
	return nil, err
}

// outcome is how the handler has ended.
type outcome int

const (
	_        outcome = iota // it has not run
	failed                  // with an error
	answered                // with a response that is not to be recorded
	recorded                // with one that is
)

// identify says what a request is recognised by. Without a key that is nothing,
// and the guard decides what that means.
func (a *API) identify(ctx context.Context, r *Request) (idempotent.Identity, error) {
	if len(r.Body) > a.config.MaxBody {
		return idempotent.Identity{}, errTooLarge
	}
	key, err := a.config.findKey(r)
	if err != nil || key == "" {
		return idempotent.Identity{}, err
	}
	scope, err := a.config.Scope.of(ctx, r)
	if err != nil {
		return idempotent.Identity{}, err
	}
	id := idempotent.Identity{Key: recordKey(scope, key)}
	if a.config.OnMismatch != ReplayFirst {
		id.Fingerprint = a.config.fingerprint(r)
	}
	return id, nil
}

var errTooLarge = errors.New("the body is too large")

// unsettledError is how a handler's response that is not to be recorded goes
// through the guard: the record is released.
type unsettledError struct{ status int }

func (e *unsettledError) Error() string {
	return fmt.Sprintf("httpguard: responses with status %d are not recorded", e.status)
}
