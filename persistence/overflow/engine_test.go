package overflow_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/overflow"
)

// report is a guarded function whose result no DynamoDB item can hold.
type report struct {
	runs int
	call func(context.Context, string) (string, error)
}

func guarded(t *testing.T, store persistence.Store, config idempotent.Config) *report {
	t.Helper()
	config.Operation, config.Key = "report", idempotency.WholePayload()
	guard, err := idempotent.New(store, config)
	if err != nil {
		t.Fatal(err)
	}
	r := new(report)
	r.call = idempotent.Func(guard, func(context.Context, string) (string, error) {
		r.runs++
		return pages, nil
	})
	return r
}

var pages = strings.Repeat("page ", 90<<10)

func TestADuplicateGetsALargeResultWithoutAnotherRun(t *testing.T) {
	blobs := newShelf()
	store, _ := front(t, table(t), blobs, overflow.Config{})
	// Another environment has another cache, and another store in front.
	there, _ := front(t, store.Unwrap(), blobs, overflow.Config{})
	for _, environment := range []persistence.Store{cached.New(store, cached.Limits{}), there} {
		r := guarded(t, environment, idempotent.Config{})
		for range 2 {
			if got, err := r.call(t.Context(), "march"); err != nil || got != pages {
				t.Errorf("want the pages, got %d bytes, %v", len(got), err)
			}
		}
		if environment == there && r.runs != 0 {
			t.Errorf("want no second run, got %d", r.runs)
		}
	}
}

func TestNothingRunsWhereALargeResultIsNotToBeHad(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*shelf)
		want  error
	}{
		{"lost", func(s *shelf) { clear(s.blobs) }, idempotent.ErrResultNotStored},
		{"out of reach", func(s *shelf) { s.down = errors.New("connection refused") }, idempotent.ErrStore},
	} {
		t.Run(tt.name, func(t *testing.T) {
			blobs := newShelf()
			store, _ := front(t, table(t), blobs, overflow.Config{})
			r := guarded(t, store, idempotent.Config{FailOpen: true, ReadFirst: true})
			if _, err := r.call(t.Context(), "march"); err != nil {
				t.Fatal(err)
			}
			tt.spoil(blobs)
			if _, err := r.call(t.Context(), "march"); !errors.Is(err, tt.want) {
				t.Errorf("want %v, got %v", tt.want, err)
			}
			if r.runs != 1 {
				t.Errorf("want one run, got %d", r.runs)
			}
		})
	}
}

func TestNothingRunsWhereTheStoreInFrontIsForgotten(t *testing.T) {
	behind := table(t)
	store, _ := front(t, behind, newShelf(), overflow.Config{})
	if _, err := guarded(t, store, idempotent.Config{}).call(t.Context(), "march"); err != nil {
		t.Fatal(err)
	}
	r := guarded(t, behind, idempotent.Config{})
	if got, err := r.call(t.Context(), "march"); !errors.Is(err, idempotent.ErrReplay) || r.runs != 0 {
		t.Errorf("want ErrReplay and no run, got %q, %v and %d", got, err, r.runs)
	}
}

func TestALargeResultThatCanNotBeWrittenIsReturnedOnceAndNeverRunAgain(t *testing.T) {
	blobs := newShelf()
	blobs.down = errors.New("access denied")
	store, _ := front(t, table(t), blobs, overflow.Config{})
	r := guarded(t, store, idempotent.Config{})
	if got, err := r.call(t.Context(), "march"); err != nil || got != pages {
		t.Errorf("want the pages, got %d bytes, %v", len(got), err)
	}
	if _, err := r.call(t.Context(), "march"); !errors.Is(err, idempotent.ErrResultNotStored) || r.runs != 1 {
		t.Errorf("want ErrResultNotStored and one run, got %v and %d", err, r.runs)
	}
}
