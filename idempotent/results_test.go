package idempotent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

func resultsGuard(t *testing.T, store persistence.Store, onlyLock bool) *idempotent.Guard {
	t.Helper()
	guard, err := idempotent.New(store, idempotent.Config{Operation: "report", Key: idempotency.WholePayload(), OnlyLock: onlyLock})
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

func TestOnlyLockStoresNoResultAndRunsOnce(t *testing.T) {
	store := persistence.NewMemory()
	runs := 0
	call := idempotent.Func(resultsGuard(t, store, true), func(context.Context, string) (string, error) {
		runs++
		return "secret", nil
	})
	if got, err := call(t.Context(), "march"); err != nil || got != "secret" {
		t.Errorf("want the first caller to get the result, got %q, %v", got, err)
	}
	if got, err := call(t.Context(), "march"); !errors.Is(err, idempotent.ErrResultNotStored) || runs != 1 {
		t.Errorf("want ErrResultNotStored and one run, got %q, %v and %d", got, err, runs)
	}
	if r := store.Records()[0]; r.Status != persistence.StatusCompleted || !r.ResultOmitted || r.Result != nil {
		t.Errorf("want a completed record without a result, got %+v", r)
	}
}

func TestOnlyLockRecordsPermanentFailures(t *testing.T) {
	call := idempotent.Func(resultsGuard(t, persistence.NewMemory(), true), func(context.Context, string) (string, error) {
		return "", idempotent.Permanent(errors.New("stolen card"))
	})
	for range 2 {
		if _, err := call(t.Context(), "march"); !errors.Is(err, idempotent.ErrPermanent) || err.Error() != "stolen card" {
			t.Errorf("want the failure, got %v", err)
		}
	}
}

// What only a store in front can read is no answer, not even of a handler of raw bytes.
func TestAnEnvelopeIsNeverReplayed(t *testing.T) {
	store := persistence.NewMemory()
	envelope := storekit.Envelope("sealed/1", []byte("ciphertext"))
	runs := 0
	handler := resultsGuard(t, store, false).Handler(raw(func() []byte {
		runs++
		return envelope
	}))
	if _, err := handler.Invoke(t.Context(), []byte(`"march"`)); err != nil {
		t.Fatal(err)
	}
	if got, err := handler.Invoke(t.Context(), []byte(`"march"`)); !errors.Is(err, idempotent.ErrReplay) || runs != 1 {
		t.Errorf("want ErrReplay and one run, got %q, %v and %d", got, err, runs)
	}
}

func TestAResponseThatLambdaRefusesIsNotStored(t *testing.T) {
	for _, tt := range []struct {
		size        int
		first, next error
	}{
		{6_291_556, nil, nil},
		{6_291_557, idempotent.ErrTooLarge, idempotent.ErrResultNotStored},
	} {
		runs := 0
		handler := resultsGuard(t, persistence.NewMemory(), false).Handler(func(context.Context) (string, error) {
			runs++
			return strings.Repeat("a", tt.size-len(`""`)), nil
		})
		for _, want := range []error{tt.first, tt.next} {
			if got, err := handler.Invoke(t.Context(), []byte(`"march"`)); !errors.Is(err, want) || err == nil && len(got) != tt.size {
				t.Errorf("%d bytes: want %v, got %d bytes, %v", tt.size, want, len(got), err)
			}
		}
		if runs != 1 {
			t.Errorf("%d bytes: want one run, got %d", tt.size, runs)
		}
	}
}

// raw is a lambda.Handler that is no function.
type raw func() []byte

func (r raw) Invoke(context.Context, []byte) ([]byte, error) { return r(), nil }

var _ lambda.Handler = raw(nil)
