package overflow_test

import (
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/overflow"
)

// A result that is there is there, in whatever form it would be kept now: with more steps that
// the lease knows of it no longer fits the record, and another config keeps less in it.
func TestACompletionInAnotherFormIsTheSame(t *testing.T) {
	_, behind := embedded.Store(t, dynamostore.Config{})
	front := func(c overflow.Config) *overflow.Store {
		s, err := overflow.New(behind, newShelf(), c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	s := front(overflow.Config{})
	r, err := s.Acquire(t.Context(), persistence.Claim{Key: "op#1", Owner: "me", Now: now, LeaseUntil: now.Add(time.Minute), ExpiresAt: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	bare, knowing := r.Lease(), r.Lease()
	knowing.Steps = map[string][]byte{"reserve": make([]byte, 100_000)}
	o := persistence.Outcome{Status: persistence.StatusCompleted, Result: make([]byte, 350_000), ExpiresAt: now.Add(time.Hour)}
	for name, err := range map[string]error{
		"first":          s.Complete(t.Context(), bare, o),
		"with steps":     s.Complete(t.Context(), knowing, o),
		"another config": front(overflow.Config{Inline: 1000}).Complete(t.Context(), bare, o),
	} {
		if err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
