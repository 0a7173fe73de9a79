package dynamostore_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
)

// A step that its lease knows of needs no room a second time.
func TestALargeStepCanBeCheckpointedAgain(t *testing.T) {
	_, s := newStore(t)
	r, err := s.Acquire(t.Context(), claim("me"))
	if err != nil {
		t.Fatal(err)
	}
	l, output := r.Lease(), make([]byte, 250_000)
	for range 2 {
		if err := s.Checkpoint(t.Context(), l, "reserve", output); err != nil {
			t.Error(err)
		}
		l.Steps = map[string][]byte{"reserve": output}
	}
	if _, found, err := s.Read(t.Context(), "op#\xff"); found || persistence.Retryable(err) {
		t.Errorf("a key that is not UTF-8: found %t, %v", found, err)
	}
}
