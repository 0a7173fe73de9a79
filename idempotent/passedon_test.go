package idempotent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

// Wherever code of the application's gets an error from a guarded call of its own and passes it on,
// it is the application's: it says nothing of the call that this code belongs to, to its caller, to
// observers and in traces.
func TestWhatCodeOfTheApplicationPassesOnIsNowhereTheCallsOwn(t *testing.T) {
	inner := &idempotent.InProgressError{Key: "inner#1"}
	pass := func() error { return inner }
	ok := func(context.Context) (string, error) { return "done", nil }
	plain := func(ctx context.Context, g *idempotent.Guard) error {
		_, err := idempotent.Do(ctx, g, "k", func(context.Context) (string, error) { return "", pass() })
		return err
	}
	undo := func(context.Context, saga.Call, string) error { return pass() }
	reserve := saga.NewStep(saga.Spec[string]{Name: "reserve", Compensate: undo})
	for name, test := range map[string]struct {
		config  idempotent.Config
		call    func(context.Context, *idempotent.Guard) error
		kinds   []idempotent.EventKind // that tell of it
		another bool                   // what the caller gets is of the call, which says more
	}{
		"its function": {call: plain, kinds: []idempotent.EventKind{idempotent.EventRun, idempotent.EventCall, idempotent.EventReleased}},
		"its function, without a record": {
			config: idempotent.Config{RunWithoutKey: true},
			call: func(ctx context.Context, g *idempotent.Guard) error {
				_, err := idempotent.Do(ctx, g, "", func(context.Context) (string, error) { return "", pass() })
				return err
			},
			kinds: []idempotent.EventKind{idempotent.EventRun, idempotent.EventCall},
		},
		"a replay": {
			config: idempotent.Config{OnReplay: func(context.Context, idempotent.Replay) ([]byte, error) { return nil, pass() }},
			call: func(ctx context.Context, g *idempotent.Guard) error {
				if _, err := idempotent.Do(ctx, g, "k", ok); err != nil {
					return err
				}
				_, err := idempotent.Do(ctx, g, "k", ok)
				return err
			},
			kinds: []idempotent.EventKind{idempotent.EventReplayed, idempotent.EventCall},
		},
		"a step": {
			config: idempotent.Config{Steps: saga.Steps(reserve)},
			call: func(ctx context.Context, g *idempotent.Guard) error {
				return g.Do(ctx, "k", func(ctx context.Context) error {
					err := reserve.Do(ctx, func(context.Context, saga.Call) error { return pass() })
					if err != error(inner) { //nolint:errorlint // as it is
						t.Errorf("the function gets %v", err)
					}
					return err
				})
			},
			kinds: []idempotent.EventKind{idempotent.EventStep, idempotent.EventRun, idempotent.EventReleased},
		},
		"a compensation": {
			config: idempotent.Config{Steps: saga.Steps(reserve)},
			call: func(ctx context.Context, g *idempotent.Guard) error {
				return g.Do(ctx, "k", func(ctx context.Context) error {
					if err := reserve.Do(ctx, func(context.Context, saga.Call) error { return nil }); err != nil {
						return err
					}
					return idempotent.Permanent(errors.New("sold out"))
				})
			},
			kinds:   []idempotent.EventKind{idempotent.EventCompensation, idempotent.EventCompensationFailed},
			another: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(map[idempotent.EventKind][]idempotent.Code)
			tell := func(e idempotent.Event) {
				if e.Err != nil {
					told[e.Kind] = append(told[e.Kind], e.Code())
				}
			}
			test.config.Observe = func(_ context.Context, e idempotent.Event) { tell(e) }
			test.config.Trace = func(ctx context.Context, _ idempotent.Event) (context.Context, func(idempotent.Event)) {
				return ctx, tell
			}
			err := test.call(t.Context(), lab.NewKeylessGuard(t, persistence.NewMemory(), test.config))
			v := idempotent.VerdictOf(err)
			if !errors.Is(err, inner) || !test.another && (v.Code != idempotent.CodeFunctionFailed || v.Done != idempotent.DoneMaybe) {
				t.Errorf("the caller gets %v: %+v", err, v)
			}
			for _, kind := range test.kinds {
				if codes := told[kind]; len(codes) != 1 || codes[0] != idempotent.CodeFunctionFailed {
					t.Errorf("%s tells %v", kind, codes)
				}
			}
		})
	}
}
