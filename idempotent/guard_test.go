package idempotent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

func TestNewRefusesEveryFaultAtOnce(t *testing.T) {
	tests := map[string]struct {
		config idempotent.Config
		fields []string
	}{
		"nothing given":        {idempotent.Config{}, []string{"Operation"}},
		"only what is needed":  {idempotent.Config{Operation: "a"}, nil},
		"bad operation":        {idempotent.Config{Operation: "a#b"}, []string{"Operation"}},
		"TTL too short":        {idempotent.Config{Operation: "b", TTL: time.Millisecond}, []string{"TTL"}},
		"lease beyond TTL":     {idempotent.Config{Operation: "c", TTL: time.Minute, Lease: time.Hour}, []string{"Lease"}},
		"short TTL by itself":  {idempotent.Config{Operation: "d", TTL: time.Minute}, nil},
		"least lease over TTL": {idempotent.Config{Operation: "e", TTL: time.Minute, MinLease: time.Hour}, []string{"MinLease"}},
		"skew eats the lease":  {idempotent.Config{Operation: "f", Lease: time.Second, ClockSkew: time.Second}, []string{"ClockSkew"}},
		"everything negative": {
			idempotent.Config{TTL: -1, Lease: -1, MinLease: -1, ClockSkew: -1, Wait: -1, StoreTimeout: -1},
			[]string{"Operation", "TTL", "Lease", "MinLease", "ClockSkew", "Wait", "StoreTimeout"},
		},
		// Options that do nothing together, or that exclude each other.
		"a replay of nothing":       {idempotent.Config{Operation: "h", OnlyLock: true, OnReplay: answerOtherwise}, []string{"OnReplay"}},
		"two ways to recognise":     {idempotent.Config{Operation: "i", Dialect: foreign{}, Key: idempotency.WholePayload()}, []string{"Dialect"}},
		"two ways to compare":       {idempotent.Config{Operation: "j", Dialect: foreign{}, Fingerprint: idempotency.WholePayload()}, []string{"Dialect"}},
		"a dialect that is none":    {idempotent.Config{Operation: "k", Dialect: (*foreign)(nil)}, []string{"Dialect"}},
		"steps without a record":    {idempotent.Config{Operation: "l", OnlyEnlists: true, Steps: saga.Steps(lab.Named[string]("a"))}, []string{"OnlyEnlists", "OnlyEnlists"}},
		"an event without a record": {idempotent.Config{Operation: "m", OnlyEnlists: true, KeepEvent: true}, []string{"OnlyEnlists", "KeepEvent"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := idempotent.New(persistence.NewMemory(), test.config)
			if got := lab.FaultyFields(err); !slices.Equal(got, test.fields) {
				t.Errorf("faults in %v, want %v (%v)", got, test.fields, err)
			}
			if err != nil && !errors.Is(err, idempotent.ErrConfig) {
				t.Errorf("%v is no ErrConfig", err)
			}
		})
	}
}

func TestNewRefusesReadFirstOnAStoreThatCannotRead(t *testing.T) {
	store := &lab.Another{Store: persistence.NewMemory()}
	_, err := idempotent.New(store, idempotent.Config{Operation: "a", ReadFirst: true})
	if got := lab.FaultyFields(err); !slices.Equal(got, []string{"ReadFirst"}) {
		t.Errorf("faults in %v, want ReadFirst", got)
	}
}

// A store that is nothing is a fault of the configuration, however it is nothing.
func TestNewRefusesNoStore(t *testing.T) {
	for _, store := range []persistence.Store{nil, (*persistence.Memory)(nil), (*dynamostore.Store)(nil), (*lab.Another)(nil), storeFunc(nil), storeMap(nil)} {
		_, err := idempotent.New(store, idempotent.Config{Operation: "a"})
		if fault, ok := errors.AsType[*idempotent.ConfigError](err); !ok || fault.Field != "New.store" || !errors.Is(err, idempotent.ErrConfig) {
			t.Errorf("%T: %v", store, err)
		}
	}
}

// storeFunc and storeMap are stores of unusual kinds.
type (
	storeFunc func() persistence.Store
	storeMap  map[string]persistence.Record
)

func (f storeFunc) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	return f().Acquire(ctx, c)
}

func (f storeFunc) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return f().Complete(ctx, l, o)
}

func (f storeFunc) Release(ctx context.Context, l persistence.Lease) error {
	return f().Release(ctx, l)
}

func (storeMap) Acquire(context.Context, persistence.Claim) (r persistence.Record, err error) {
	return r, nil
}

func (storeMap) Complete(context.Context, persistence.Lease, persistence.Outcome) error { return nil }

func (storeMap) Release(context.Context, persistence.Lease) error { return nil }

func answerOtherwise(context.Context, idempotent.Replay) ([]byte, error) { return nil, nil }

// MustNew is for package variables: what New returns as an error ends the process.
func TestMustNewPanicsForWhatNewReturns(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, idempotent.ErrConfig) {
			t.Errorf("panic %v", err)
		}
	}()
	idempotent.MustNew(persistence.NewMemory(), idempotent.Config{})
}

// The environment switches guards off at every call, so that a test can do it
// for a guard that is a package variable.
func TestGuardsAreSwitchedOffByTheEnvironment(t *testing.T) {
	for _, name := range []string{"IDEMPOTENCY_DISABLED", "POWERTOOLS_IDEMPOTENCY_DISABLED"} {
		for value, runs := range map[string]int{"true": 2, "1": 2, "ON": 2, "false": 1, "0": 1, "": 1, "maybe": 1} {
			t.Run(name+"="+value, func(t *testing.T) {
				t.Setenv(name, value)
				memory := persistence.NewMemory()
				var seen lab.EventLog
				guard := lab.NewKeylessGuard(t, memory, idempotent.Config{Observe: seen.Observe})
				ran := 0
				for range 2 {
					_, err := idempotent.Do(t.Context(), guard, "k", func(context.Context) (int, error) {
						ran++
						return ran, nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				if ran != runs {
					t.Errorf("ran %d times, want %d", ran, runs)
				}
				if off := slices.Contains(seen.Kinds(), idempotent.EventUnprotected); off != (runs == 2) || off != guard.Off() {
					t.Errorf("reported as unprotected: %v, and as disabled: %v", off, guard.Off())
				}
				if records := len(memory.Records()); runs == 2 && records > 0 {
					t.Errorf("%d records of unprotected runs", records)
				}
			})
		}
	}
}

func TestLogNamesTheEventAndNeverThePayload(t *testing.T) {
	var log bytes.Buffer
	guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{
		Fingerprint: idempotency.MustJMESPath("amount"),
		Logger:      slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	handler := guard.Handler(func(context.Context, order) (string, error) { return "secret result", nil })
	for _, payload := range []string{`{"id":"card-4711","amount":1}`, `{"id":"card-4711","amount":1}`, `{"id":"card-4711","amount":2}`} {
		_, _ = handler.Invoke(t.Context(), []byte(payload))
	}
	for _, want := range []string{"level=DEBUG msg=\"idempotency: executed\"", "idempotency: replayed", "level=WARN msg=\"idempotency: mismatch\"", "operation=payment"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
	for _, secret := range []string{"4711", "secret"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, log.String())
		}
	}
}
