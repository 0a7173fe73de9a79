package idempotenttest

import (
	"context"
	"errors"
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

// What its author accepts is no flaw, and what its author demands is.
func TestTheAuthorOfAFunctionSaysWhatHolds(t *testing.T) {
	f := selling(idempotent.Config{}, guarding(func(ctx context.Context, s *shop, o order) (receipt, error) {
		s.provider = s.provider.IgnoringKeys()
		return s.charge(ctx, idempotent.DownstreamKey(ctx), o)
	}))
	f.Repeatable = []string{"charge"}
	if found, _ := find(t, f); len(found) > 0 {
		t.Errorf("a repeatable effect: %v", found)
	}
	f.Holds = func(w *World) error {
		if len(w.Effects()) > 1 {
			return errors.New("there are too many charges")
		}
		return nil
	}
	f.Other = nil
	found, _ := find(t, f)
	if failed := found["crash"]; failed == nil || failed.breach.promise != holds || failed.breach.text != "there are too many charges" {
		t.Errorf("found is %v", found)
	}
}
