package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/overflow"
	"github.com/ikkai-go/idempotency/persistence/sealed"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// payment is a guarded function with a step. It fails as long as its bank does.
type payment struct {
	reserved, charged int
	bank              error
	call              func(context.Context, string) (string, error)
}

func guarded(t *testing.T, store persistence.Store, config idempotent.Config) *payment {
	t.Helper()
	reserve := saga.NewStep(saga.Spec[string]{Name: "reserve"})
	config.Operation, config.Key, config.Steps = "payment", idempotency.WholePayload(), saga.Steps(reserve)
	guard, err := idempotent.New(store, config)
	ok(t, err)
	p := new(payment)
	p.call = idempotent.Func(guard, func(ctx context.Context, _ string) (string, error) {
		box, err := reserve.Run(ctx, func(context.Context, saga.Call) (string, error) {
			p.reserved++
			return "box 7", nil
		})
		if err != nil {
			return "", err
		}
		if p.bank != nil {
			return "", p.bank
		}
		p.charged++
		return "paid for " + box, nil
	})
	return p
}

func TestAPaymentIsResumedAndReplayedFromSealedRecords(t *testing.T) {
	behind := table(t)
	p := guarded(t, front(t, behind, aes(t, key("a")), sealed.Config{}), idempotent.Config{})
	p.bank = errors.New("closed")
	if _, err := p.call(t.Context(), "order 1"); !errors.Is(err, p.bank) {
		t.Fatalf("want the bank's error, got %v", err)
	}
	p.bank = nil
	for range 2 {
		if got, err := p.call(t.Context(), "order 1"); err != nil || got != "paid for box 7" {
			t.Errorf("want the result, got %q, %v", got, err)
		}
	}
	if p.reserved != 1 || p.charged != 1 {
		t.Errorf("want each to happen once, got %d and %d", p.reserved, p.charged)
	}
}

func TestAPermanentFailureIsSealedAndReplayed(t *testing.T) {
	p := guarded(t, front(t, persistence.NewMemory(), aes(t, key("a")), sealed.Config{}), idempotent.Config{})
	p.bank = idempotent.Permanent(errors.New("stolen card"))
	for range 2 {
		if _, err := p.call(t.Context(), "order 1"); !errors.Is(err, idempotent.ErrPermanent) || err.Error() != "stolen card" {
			t.Errorf("want the failure, got %v", err)
		}
		p.bank = nil
	}
}

// Whatever is in the way of a record's content, nothing runs in its place.
func TestNothingRunsWhereARecordDoesNotOpen(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bank  error // leaves a step behind, and no result
		store func(t *testing.T, behind persistence.Store) persistence.Store
		want  error
	}{
		{"result, another key", nil, func(t *testing.T, behind persistence.Store) persistence.Store {
			return front(t, behind, aes(t, key("b")), sealed.Config{})
		}, sealed.ErrUnknownKey},
		{"step, another key", errors.New("closed"), func(t *testing.T, behind persistence.Store) persistence.Store {
			return front(t, behind, aes(t, key("b")), sealed.Config{})
		}, sealed.ErrUnknownKey},
		{"result, no store in front", nil, func(_ *testing.T, behind persistence.Store) persistence.Store {
			return behind
		}, idempotent.ErrReplay},
		{"step, no store in front", errors.New("closed"), func(_ *testing.T, behind persistence.Store) persistence.Store {
			return behind
		}, persistence.ErrUnreadable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			behind := table(t)
			p := guarded(t, front(t, behind, aes(t, key("a")), sealed.Config{}), idempotent.Config{})
			p.bank = tt.bank
			if _, err := p.call(t.Context(), "order 1"); !errors.Is(err, tt.bank) {
				t.Fatal(err)
			}
			later := guarded(t, tt.store(t, behind), idempotent.Config{FailOpen: true, ReadFirst: true})
			for range 2 {
				if got, err := later.call(t.Context(), "order 1"); !errors.Is(err, tt.want) {
					t.Errorf("want %v, got %q, %v", tt.want, got, err)
				}
			}
			if later.reserved != 0 || later.charged != 0 {
				t.Errorf("want nothing to run, got %d and %d", later.reserved, later.charged)
			}
			// With the right key again it goes on from where it was.
			p.bank = nil
			if got, err := p.call(t.Context(), "order 1"); err != nil || got != "paid for box 7" || p.reserved != 1 {
				t.Errorf("want the result and one reservation, got %q, %v and %d", got, err, p.reserved)
			}
		})
	}
}

func TestAResultThatCanNotBeSealedIsReturnedOnceAndNeverRunAgain(t *testing.T) {
	keys := newService()
	p := guarded(t, front(t, table(t), sealed.NewEnvelope(keys), sealed.Config{}), idempotent.Config{})
	first := true
	keys.hang = func(context.Context) { // the step is sealed, the result is not
		if !first {
			keys.down = errors.New("throttled")
		}
		first = false
	}
	if got, err := p.call(t.Context(), "order 1"); err != nil || got != "paid for box 7" {
		t.Errorf("want the result, got %q, %v", got, err)
	}
	if _, err := p.call(t.Context(), "order 1"); !errors.Is(err, idempotent.ErrResultNotStored) || p.charged != 1 {
		t.Errorf("want ErrResultNotStored and one charge, got %v and %d", err, p.charged)
	}
}

// blobs keeps blobs in memory.
type blobs map[string][]byte

func (b blobs) Put(_ context.Context, name string, content []byte, _ time.Time) error {
	b[name] = bytes.Clone(content)
	return nil
}

func (b blobs) Get(_ context.Context, name string, _ int64) ([]byte, error) {
	return bytes.Clone(b[name]), nil
}

func (b blobs) Delete(_ context.Context, name string) error {
	delete(b, name)
	return nil
}

func TestBlobsAreSealedWhereTheStoreForLargeResultsIsBehind(t *testing.T) {
	kept := make(blobs)
	store, err := overflow.New(persistence.NewMemory(), kept, overflow.Config{Inline: 1})
	ok(t, err)
	p := guarded(t, front(t, store, aes(t, key("a")), sealed.Config{}), idempotent.Config{})
	for range 2 {
		if got, err := p.call(t.Context(), "order 1"); err != nil || got != "paid for box 7" || p.charged != 1 {
			t.Errorf("want the result and one charge, got %q, %v and %d", got, err, p.charged)
		}
	}
	for name, content := range kept {
		if form, _, ok := storekit.OpenEnvelope(content); !ok || form != "sealed/1" {
			t.Errorf("blob %s is in the clear: %q", name, content)
		}
	}
}
