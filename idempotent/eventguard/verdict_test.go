package eventguard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

// past is what has happened to o1 before.
type past func(context.Context, *idempotent.Guard, idempotent.Identity) error

// result is a run of o1 that returns that result.
func result(value any) past {
	return func(ctx context.Context, g *idempotent.Guard, o1 idempotent.Identity) error {
		_, err := idempotent.DoAs(ctx, g, o1, func(context.Context) (any, error) { return value, nil })
		return err
	}
}

// permanent is a run of o1 that fails for good.
func permanent(failure error) past {
	return func(ctx context.Context, g *idempotent.Guard, o1 idempotent.Identity) error {
		_, err := idempotent.DoAs(ctx, g, o1, func(context.Context) (any, error) { return nil, idempotent.Permanent(failure) })
		if !errors.Is(err, failure) {
			return err
		}
		return nil
	}
}

// running is a run of o1 that goes on until the end of its context.
func running(ctx context.Context, g *idempotent.Guard, o1 idempotent.Identity) error {
	go func() {
		_, _ = idempotent.DoAs(ctx, g, o1, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
	}()
	synctest.Wait()
	return nil
}

// died is a run whose goroutine goes on behind the end of its lease.
func died(ctx context.Context, g *idempotent.Guard, o1 idempotent.Identity) error {
	dying, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	go func() {
		_, _ = idempotent.DoAs(dying, g, o1, func(context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
	}()
	time.Sleep(10 * time.Second) // virtual
	return nil
}

// charge is the step of these tests.
var charge = saga.NewStep(saga.Spec[string]{Name: "charge"})

// The one rule: what is acknowledged, by what is known of it, at every source.
func TestWhatCountsAsDone(t *testing.T) {
	declined := errors.New("declined")
	failing := func(op string, err error) func(persistence.Store) persistence.Store {
		return func(s persistence.Store) persistence.Store { return lab.Before(s, op, func() error { return err }) }
	}
	acknowledging := eventguard.Config{OnPermanent: eventguard.AcknowledgePermanent}
	step := func(ctx context.Context) error {
		_, err := charge.Run(ctx, func(context.Context, saga.Call) (string, error) { return "c1", nil })
		return err
	}
	fails := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	tests := map[string]struct {
		first  past
		body   string // of the record; o1 by default
		guard  idempotent.Config
		config eventguard.Config
		store  func(persistence.Store) persistence.Store
		fn     func(context.Context) error
		code   idempotent.Code // of a failure
		done   bool
		runs   int
	}{
		"a first run":             {done: true, runs: 1},
		"a replay":                {first: result("done"), done: true},
		"a replay of any type":    {first: result(map[string]any{"a": []int{1}}), done: true},
		"done, result not stored": {first: result("done"), guard: idempotent.Config{OnlyLock: true}, done: true},

		"nothing to do":                     {fn: fails(idempotent.ErrSkip), done: true, runs: 1},
		"nothing to do, a step is done":     {fn: func(ctx context.Context) error { return errors.Join(step(ctx), idempotent.ErrSkip) }, guard: idempotent.Config{Steps: saga.Steps(charge)}, code: idempotent.CodePartialSuccess, runs: 1},
		"an error":                          {fn: fails(errTryAgain), code: idempotent.CodeFunctionFailed, runs: 1},
		"an error after a step":             {fn: func(ctx context.Context) error { return errors.Join(step(ctx), errTryAgain) }, guard: idempotent.Config{Steps: saga.Steps(charge)}, code: idempotent.CodePartialSuccess, runs: 1},
		"a nested call's result not stored": {fn: fails(&idempotent.ResultNotStoredError{Key: "another"}), code: idempotent.CodeFunctionFailed, runs: 1},
		"a nested call in progress":         {fn: fails(&idempotent.InProgressError{Key: "another"}), code: idempotent.CodeFunctionFailed, runs: 1},

		"in progress elsewhere": {first: running, code: idempotent.CodeInProgress},
		"another payload": {
			first: result("done"), body: `{"order_id": "o1", "amount": 6}`, guard: idempotent.Config{}, code: idempotent.CodeMismatch,
		},
		"outcome unknown": {first: died, guard: idempotent.Config{RefuseUnknown: true}, code: idempotent.CodeOutcomeUnknown},
		"no key":          {body: `{"amount": 5}`, code: idempotent.CodeKeyMissing},
		"an unusable key": {body: `{"order_id": {"a": 1, "a": 2}, "amount": 5}`, code: idempotent.CodeKeyUnusable},

		"the store is down":      {store: failing("acquire", errors.New("throttled")), code: idempotent.CodeStoreFailed},
		"the outcome is refused": {store: failing("complete", errors.New("throttled")), code: idempotent.CodeNotStored, runs: 1},
		"the outcome is unsent":  {store: failing("complete", context.DeadlineExceeded), code: idempotent.CodeNotStored, runs: 1},
		"the lease is lost":      {store: failing("complete", persistence.ErrLeaseLost), code: idempotent.CodeLeaseLost, runs: 1},

		"a permanent failure":                            {fn: fails(idempotent.Permanent(declined)), code: idempotent.CodeFailed, runs: 1},
		"a recorded permanent failure":                   {first: permanent(declined), code: idempotent.CodeFailed},
		"a permanent failure, acknowledged":              {fn: fails(idempotent.Permanent(declined)), runs: 1, done: true, config: acknowledging},
		"a recorded permanent failure, acknowledged":     {first: permanent(declined), done: true, config: acknowledging},
		"an error where permanent ones are acknowledged": {fn: fails(errTryAgain), code: idempotent.CodeFunctionFailed, runs: 1, config: acknowledging},
		"a wrapped one, acknowledged":                    {fn: fails(fmt.Errorf("bank: %w", idempotent.Permanent(declined))), runs: 1, done: true, config: acknowledging},
		"one that is not recorded":                       {fn: fails(idempotent.Permanent(declined)), code: idempotent.CodeFailed, runs: 1, config: acknowledging, store: failing("complete", errors.New("throttled"))},
		"one whose lease is lost":                        {fn: fails(idempotent.Permanent(declined)), code: idempotent.CodeLeaseLost, runs: 1, config: acknowledging, store: failing("complete", persistence.ErrLeaseLost)},
		"a bare sentinel is none":                        {fn: fails(fmt.Errorf("bank: %w", idempotent.ErrPermanent)), code: idempotent.CodeFunctionFailed, runs: 1, config: acknowledging},
		"one of what there was nothing to do for":        {fn: fails(idempotent.Permanent(idempotent.ErrSkip)), code: idempotent.CodeFailed, runs: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			at(t, func(t *testing.T, d door) {
				if test.code == idempotent.CodeKeyUnusable && d.undecoded {
					return // what Lambda delivers of a table always can be read
				}
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					guard, config := test.guard, test.config
					guard.Key, guard.Fingerprint = d.key, d.amount
					var store persistence.Store = persistence.NewMemory()
					if test.store != nil {
						store = test.store(store)
					}
					g := newGuard(t, store, guard)
					if test.first != nil {
						o1 := d.identify(g, letter{"id-0", body("o1")})
						if err := test.first(ctx, g, o1); err != nil && !errors.Is(err, idempotent.ErrResultNotStored) {
							t.Fatal(err)
						}
					}
					var log bytes.Buffer
					config.Logger = slog.New(slog.NewJSONHandler(&log, nil))
					runs := 0
					handle := d.open(t, g, config, func(ctx context.Context, _ order) error {
						runs++
						if test.fn == nil {
							return nil
						}
						return test.fn(ctx)
					})
					text := test.body
					if text == "" {
						text = body("o1")
					}
					failed, err := handle(ctx, letters(text)...)
					if err != nil || (len(failed) == 0) != test.done || runs != test.runs {
						t.Errorf("%v failed after %d runs, %v; want done %t after %d", failed, runs, err, test.done, test.runs)
					}
					if code := loggedCode(t, &log); !d.single && !test.done && code != string(test.code) {
						t.Errorf("the log has the code %q, want %q", code, test.code)
					}
				})
			})
		})
	}
}

// What runs without a record is as final as what has one.
func TestAnUnprotectedPermanentFailureIsAcknowledged(t *testing.T) {
	for name, test := range map[string]struct {
		disabled, body string
		step           bool
		failure        error
		failed         []string
	}{
		"switched off":                  {disabled: "1", body: body("o1"), failure: idempotent.Permanent(errTryAgain)},
		"without a key":                 {body: `{}`, failure: idempotent.Permanent(errTryAgain)},
		"after a step":                  {body: `{}`, step: true, failure: idempotent.Permanent(errTryAgain)},
		"a bare sentinel, switched off": {disabled: "1", body: body("o1"), failure: idempotent.ErrPermanent, failed: []string{"m1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("IDEMPOTENCY_DISABLED", test.disabled)
			guard := newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID, Steps: saga.Steps(charge), RunWithoutKey: true})
			handle := consumer(t, guard, eventguard.Config{OnPermanent: eventguard.AcknowledgePermanent}, func(ctx context.Context, _ order, _ events.SQSMessage) error {
				if test.step {
					if _, err := charge.Run(ctx, func(context.Context, saga.Call) (string, error) { return "c1", nil }); err != nil {
						t.Error(err)
					}
				}
				return test.failure
			})
			got, err := handle(t.Context(), batch(message("m1", test.body)))
			wantFailed(t, got, err, test.failed...)
		})
	}
}

// loggedCode is the code with which a record has failed.
func loggedCode(t *testing.T, log *bytes.Buffer) (code string) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var entry struct{ Event, Code, Record string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Event == "record_failed" {
			code = entry.Code
		}
	}
	return code
}

// The errors of this package have codes of their own, in the log and in a BatchError.
func TestEachFailureHasItsCode(t *testing.T) {
	var log bytes.Buffer
	config := eventguard.Config{OnFailure: eventguard.FailBatch, Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), config, func(_ context.Context, o order, _ events.SQSMessage) error {
		if o.ID == "bad" {
			panic("odd")
		}
		return nil
	})
	_, err := handle(t.Context(), batch(
		message("m1", `{"order_id": "o1", "amount": "much"}`), message("m2", body("bad")), message("m3", "not JSON"),
		grouped("m4", "g", body("bad")), grouped("m5", "g", body("o5")),
	))
	failed, ok := errors.AsType[*eventguard.BatchError](err)
	if !ok {
		t.Fatal(err)
	}
	want := map[string]idempotent.Verdict{
		"m1": {Done: idempotent.DoneNothing, Code: eventguard.CodePayloadUnusable},
		"m2": {Done: idempotent.DoneMaybe, Retry: true, Code: eventguard.CodePanicked},
		"m3": {Done: idempotent.DoneNothing, Code: idempotent.CodeKeyUnusable},
		"m4": {Done: idempotent.DoneMaybe, Retry: true, Code: eventguard.CodePanicked},
		"m5": {Done: idempotent.DoneNothing, Retry: true, Code: eventguard.CodeHeldBack},
	}
	for _, f := range failed.Failed {
		if f.Verdict != want[f.ID] {
			t.Errorf("%s: %+v, want %+v", f.ID, f.Verdict, want[f.ID])
		}
		if line := `"event":"record_failed","code":"` + string(f.Verdict.Code) + `","record":"` + f.ID + `"`; !strings.Contains(log.String(), line) {
			t.Errorf("the log has no %s: %s", line, &log)
		}
	}
	if len(failed.Failed) != len(want) {
		t.Errorf("%d failures, want %d", len(failed.Failed), len(want))
	}
}
