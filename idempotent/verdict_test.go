package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

// What an error says of its call is said by the outermost; what a function passes on, or
// wraps, says nothing of what the function did before.
func TestAnErrorIsJudgedByTheOutermost(t *testing.T) {
	type told struct {
		done  idempotent.Done
		retry bool
		code  idempotent.Code
	}
	store := &idempotent.StoreError{Op: "complete", Executed: true, Retryable: true, Err: errBroken}
	missing := &idempotent.KeyError{Err: idempotency.ErrMissing}
	for name, test := range map[string]struct {
		err  error
		want told
	}{
		"no error":                     {nil, told{idempotent.DoneAll, false, idempotent.CodeCompleted}},
		"no key":                       {missing, told{idempotent.DoneNothing, false, idempotent.CodeKeyMissing}},
		"a bad key":                    {&idempotent.KeyError{Err: errBroken}, told{idempotent.DoneNothing, false, idempotent.CodeKeyUnusable}},
		"in progress":                  {&idempotent.InProgressError{}, told{idempotent.DoneMaybe, true, idempotent.CodeInProgress}},
		"mismatch":                     {&idempotent.MismatchError{}, told{idempotent.DoneNothing, false, idempotent.CodeMismatch}},
		"permanent":                    {idempotent.Permanent(errBroken), told{idempotent.DoneMaybe, false, idempotent.CodeFailed}},
		"a permanent one, wrapped":     {fmt.Errorf("pay: %w", idempotent.Permanent(errBroken)), told{idempotent.DoneMaybe, false, idempotent.CodeFailed}},
		"result not stored":            {&idempotent.ResultNotStoredError{}, told{idempotent.DoneAll, false, idempotent.CodeResultNotStored}},
		"unreadable":                   {&idempotent.ReplayError{}, told{idempotent.DoneAll, false, idempotent.CodeReplayUnreadable}},
		"unknown":                      {&idempotent.OutcomeUnknownError{}, told{idempotent.DoneMaybe, false, idempotent.CodeOutcomeUnknown}},
		"lease lost":                   {&idempotent.LeaseLostError{Executed: true}, told{idempotent.DoneAll, true, idempotent.CodeLeaseLost}},
		"lease lost, with its writes":  {&idempotent.LeaseLostError{}, told{idempotent.DoneMaybe, true, idempotent.CodeLeaseLost}},
		"not acquired":                 {&idempotent.StoreError{Op: "acquire", Retryable: true}, told{idempotent.DoneNothing, true, idempotent.CodeStoreFailed}},
		"not acquired, for good":       {&idempotent.StoreError{Op: "acquire"}, told{idempotent.DoneNothing, false, idempotent.CodeStoreFailed}},
		"not completed":                {store, told{idempotent.DoneAll, false, idempotent.CodeNotStored}},
		"not started":                  {&idempotent.NotStartedError{}, told{idempotent.DoneNothing, true, idempotent.CodeNotStarted}},
		"too large":                    {&idempotent.ResponseTooLargeError{}, told{idempotent.DoneAll, false, idempotent.CodeResponseTooLarge}},
		"in part":                      {&saga.PartialSuccessError{Err: store}, told{idempotent.DoneSomething, true, idempotent.CodePartialSuccess}},
		"in part, and stuck":           {&saga.PartialSuccessError{Stuck: true, Err: store}, told{idempotent.DoneSomething, false, idempotent.CodeStuck}},
		"not undone":                   {&saga.CompensationError{Err: idempotent.Permanent(errBroken), Compensation: errBroken}, told{idempotent.DoneSomething, true, idempotent.CodeCompensationFailed}},
		"not undoable":                 {&saga.CompensationError{Compensation: saga.ErrNotUndoable}, told{idempotent.DoneSomething, false, idempotent.CodeStuck}},
		"a step without time":          {&saga.StepError{Err: &idempotent.NotStartedError{}}, told{idempotent.DoneMaybe, true, idempotent.CodeStepFailed}},
		"a step of unknown outcome":    {&saga.StepError{Err: &idempotent.OutcomeUnknownError{}}, told{idempotent.DoneMaybe, false, idempotent.CodeOutcomeUnknown}},
		"an unknown step":              {&saga.StepError{Err: saga.ErrUnknownStep}, told{idempotent.DoneMaybe, false, idempotent.CodeStuck}},
		"a misused step":               {&saga.StepError{Err: saga.ErrStepMisuse}, told{idempotent.DoneMaybe, false, idempotent.CodeStuck}},
		"a batch":                      {&batch.UnfinishedError{Progress: batch.Progress{Done: 1}}, told{idempotent.DoneSomething, true, idempotent.CodeUnfinished}},
		"a bad config":                 {&idempotent.ConfigError{}, told{idempotent.DoneNothing, false, idempotent.CodeInvalidConfig}},
		"the function's own":           {errBroken, told{idempotent.DoneMaybe, true, idempotent.CodeFunctionFailed}},
		"the function's own, wrapping": {fmt.Errorf("pay: %w", missing), told{idempotent.DoneMaybe, false, idempotent.CodeFunctionFailed}},
		"the function's own, joined":   {errors.Join(errBroken, &idempotent.NotStartedError{}), told{idempotent.DoneMaybe, true, idempotent.CodeFunctionFailed}},
	} {
		v := idempotent.VerdictOf(test.err)
		if got := (told{v.Done, v.Retry, v.Code}); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if v.Retry && v.Code != idempotent.CodeFunctionFailed && v.Code != idempotent.CodeUnfinished && v.Code != idempotent.CodeInProgress && v.After == 0 {
			t.Errorf("%s: a retry, and not when", name)
		}
	}
}

// An error that a function has from a guarded call of its own is the function's error.
func TestAnErrorThatAFunctionPassesOnIsItsOwn(t *testing.T) {
	inner := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Operation: "inner"})
	outer := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	charged := false
	_, err := idempotent.Do(t.Context(), outer, "k", func(ctx context.Context) (string, error) {
		charged = true
		return idempotent.Do(ctx, inner, "", func(context.Context) (string, error) { return "", nil })
	})
	if _, unchanged := err.(*idempotent.KeyError); !unchanged { //nolint:errorlint // as it is
		t.Errorf("got %T", err)
	}
	if v := idempotent.VerdictOf(err); !charged || v.Done != idempotent.DoneMaybe || v.Code != idempotent.CodeFunctionFailed || v.Retry {
		t.Errorf("%+v", v)
	}
}

// What a function has passed on may be in other hands as well, to whom it says what it said.
func TestAnErrorThatIsPassedOnSaysTheSameToOthers(t *testing.T) {
	shared := &idempotent.KeyError{Operation: "inner", Err: errBroken}
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	for range 2 {
		_, err := idempotent.Do(t.Context(), guard, "k", func(context.Context) (string, error) { return "", shared })
		if v := idempotent.VerdictOf(err); v.Code != idempotent.CodeFunctionFailed || v.Done != idempotent.DoneMaybe {
			t.Errorf("the call: %+v", v)
		}
		if v := idempotent.VerdictOf(shared); v.Code != idempotent.CodeKeyUnusable || v.Done != idempotent.DoneNothing {
			t.Errorf("the variable: %+v", v)
		}
		if !errors.Is(err, shared) || !errors.Is(err, idempotent.ErrKey) {
			t.Errorf("%v is no %v any more", err, shared)
		}
	}
}

func ExampleVerdictOf() {
	reserve := saga.NewStep(saga.Spec[string]{Name: "reserve"})
	guard := newGuard(idempotent.Config{Operation: "verdicts", Steps: saga.Steps(reserve)})
	_, err := idempotent.Do(context.Background(), guard, "o-1", func(ctx context.Context) (string, error) {
		if _, err := reserve.Run(ctx, func(context.Context, saga.Call) (string, error) { return "box 7", nil }); err != nil {
			return "", err
		}
		return "", errors.New("the bank does not answer")
	})
	v := idempotent.VerdictOf(err)
	fmt.Printf("%s: %v is done, retry %v after %v\n", v.Code, v.Done, v.Retry, v.After)
	// Output: partial_success: something is done, retry true after 1s
}

func ExampleDownstreamKey() {
	guard := newGuard(idempotent.Config{Operation: "downstream"})
	_, _ = idempotent.Do(context.Background(), guard, "o-1", func(ctx context.Context) (string, error) {
		call, _ := idempotent.CallFrom(ctx)
		fmt.Println(idempotent.DownstreamKey(ctx) == call.Key, len(call.Token()))
		return "", nil
	})
	// Output: true 32
}

func ExampleGuard_Config() {
	guard := newGuard(idempotent.Config{Operation: "configured"})
	fmt.Println(guard.Config().TTL, guard.Config().Lease)
	// Output: 24h0m0s 1m0s
}

// What a log's filter needs is in attributes.
func ExampleConfig_logger() {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{
		Operation: "logged",
		Key:       idempotency.MustJMESPath("id"),
		Logger:    slog.New(slog.NewTextHandler(stdout{}, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
	})
	if err != nil {
		panic(err)
	}
	_, _ = guard.Handler(func(context.Context, order) error { return nil }).Invoke(context.Background(), []byte(`{}`))
	// Output: level=WARN msg="idempotency: key refused" event=key_refused operation=logged key="" code=key_missing error="idempotent: logged: no usable key: the key is missing: JMESPath expression \"id\": what it selects is null or empty"
}

// stdout writes to the example's output.
type stdout struct{}

func (stdout) Write(text []byte) (int, error) { return fmt.Print(string(text)) }

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
