package idempotenttest

import (
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

func TestASoundFunctionOfFiveRequestsIsProvedInTime(t *testing.T) {
	start := time.Now()
	found, cases := find(t, selling(idempotent.Config{}, guarding(sound)))
	for kind, failed := range found {
		t.Errorf("%s: %v", kind, failed)
	}
	t.Logf("%d cases in %v", cases, time.Since(start))
}
