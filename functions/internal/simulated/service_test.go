package simulated_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

const table = "things"

var parcel = ledger.Row{"to": ledger.Text("Ada")}

func newService(t *testing.T, behaviour, keys string) (*simulated.Service, *dynamotest.DB) {
	t.Helper()
	db := lambdatest.NewDatabase(t, table)
	l, err := ledger.New(db.Client(), table)
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulated.New(l, "parcel", behaviour, keys)
	if err != nil {
		t.Fatal(err)
	}
	return s, db
}

func TestAKeyIsServedOnceUnlessKeysAreOff(t *testing.T) {
	for keys, parcels := range map[string]int{"": 1, "on": 1, "off": 2} {
		s, db := newService(t, "", keys)
		first, err := s.Do(t.Context(), "k", parcel)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Do(t.Context(), "k", parcel)
		if err != nil || (first == again) != (parcels == 1) {
			t.Errorf("keys %q: %q and %q, %v", keys, first, again, err)
		}
		if got := lambdatest.Rows(db, table)["parcel"]; got != parcels {
			t.Errorf("keys %q: %d parcels, want %d", keys, got, parcels)
		}
	}
}

func TestAKeyIsForOneRequest(t *testing.T) {
	s, db := newService(t, "", "")
	if _, err := s.Do(t.Context(), "k", parcel); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(t.Context(), "k", ledger.Row{"to": ledger.Text("Eve")}); !errors.Is(err, simulated.ErrOtherRequest) {
		t.Errorf("another request with the key gives %v", err)
	}
	if got := lambdatest.Rows(db, table)["parcel"]; got != 1 {
		t.Errorf("%d parcels", got)
	}
}

func TestHowAServiceBehaves(t *testing.T) {
	for behaviour, want := range map[string]struct {
		failures int // before it does what it is asked to
		refuses  bool
		takes    time.Duration
	}{
		"":       {},
		"steady": {takes: time.Second / 10},
		"slow":   {takes: time.Second},
		"hang":   {takes: 24 * time.Hour},
		"flaky":  {failures: 1},
		"refuse": {failures: 2, refuses: true},
	} {
		t.Run(behaviour, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, db := newService(t, behaviour, "")
				for try := range 2 {
					start := time.Now()
					_, err := s.Do(t.Context(), "k", parcel)
					if (err != nil) != (try < want.failures) || errors.Is(err, simulated.ErrRefused) != want.refuses {
						t.Errorf("try %d: %v", try, err)
					}
					if took := time.Since(start); took != want.takes {
						t.Errorf("try %d took %v, want %v", try, took, want.takes)
					}
				}
				if got := lambdatest.Rows(db, table)["parcel"]; (got == 0) != want.refuses {
					t.Errorf("%d parcels", got)
				}
			})
		})
	}
	if _, err := simulated.New(nil, "parcel", "sLow", ""); err == nil {
		t.Error("there is a behaviour that nobody has heard of")
	}
}

func TestASlowServiceStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db := newService(t, "slow", "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Do(ctx, "k", parcel); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if got := lambdatest.Rows(db, table)["parcel"]; got != 0 {
			t.Errorf("%d parcels", got)
		}
	})
}
