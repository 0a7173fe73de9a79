package storekit_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

func TestFrontKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) persistence.Store { return storekit.NewFront(persistence.NewMemory()) })
}

func TestFrontHasTheAbilitiesOfTheStoreBehind(t *testing.T) {
	able := &everything{Memory: persistence.NewMemory()}
	lease := persistence.Lease{Key: "payment#1", Owner: "owner"}
	for _, tt := range []struct {
		name string
		call func(storekit.Front) error
	}{
		{"Read", func(f storekit.Front) error {
			_, _, err := f.Read(t.Context(), lease.Key)
			return err
		}},
		{"Refresh", func(f storekit.Front) error {
			_, _, err := f.Refresh(t.Context(), lease.Key)
			return err
		}},
		{"Checkpoint", func(f storekit.Front) error { return f.Checkpoint(t.Context(), lease, "step", nil) }},
		{"CompleteWith", func(f storekit.Front) error {
			return f.CompleteWith(t.Context(), lease, persistence.Outcome{}, nil)
		}},
		{"CheckpointWith", func(f storekit.Front) error { return f.CheckpointWith(t.Context(), lease, "step", nil, nil) }},
		{"CompleteAtOnce", func(f storekit.Front) error {
			_, err := f.CompleteAtOnce(t.Context(), persistence.Claim{}, persistence.Outcome{}, nil)
			return err
		}},
		{"Commit", func(f storekit.Front) error { return f.Commit(t.Context(), nil) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			able.called = ""
			if err := tt.call(storekit.NewFront(able)); !errors.Is(err, errReached) || able.called != tt.name {
				t.Errorf("want %s to be passed on, got %q and the error %v", tt.name, able.called, err)
			}
			if err := tt.call(storekit.NewFront(plain{able})); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("in front of a store without it: want ErrUnsupported, got %v", err)
			}
		})
	}
}

func TestFrontAsksTheStoreBehindForRoom(t *testing.T) {
	if got := storekit.NewFront(&everything{}).Room(persistence.Lease{Reserve: 7}); got != 7 {
		t.Errorf("want the room of the store behind, got %d", got)
	}
	if got := storekit.NewFront(plain{persistence.NewMemory()}).Room(persistence.Lease{}); got != math.MaxInt {
		t.Errorf("want room for everything in front of a store without limits, got %d", got)
	}
}

func TestFrontRefreshesByReadingAStoreThatRemembersNothing(t *testing.T) {
	memory := persistence.NewMemory()
	memory.Put(persistence.Record{Key: "payment#1"})
	if _, found, err := storekit.NewFront(memory).Refresh(t.Context(), "payment#1"); err != nil || !found {
		t.Errorf("want the record, got %t, %v", found, err)
	}
}

// plain hides every ability of a store but those of Store.
type plain struct{ persistence.Store }

var errReached = errors.New("reached")

// everything is a store with all abilities, which only notes which was used.
type everything struct {
	*persistence.Memory
	called string
}

func (s *everything) reached(method string) error {
	s.called = method
	return errReached
}

func (s *everything) Read(context.Context, string) (persistence.Record, bool, error) {
	return persistence.Record{}, false, s.reached("Read")
}

func (s *everything) Refresh(context.Context, string) (persistence.Record, bool, error) {
	return persistence.Record{}, false, s.reached("Refresh")
}

func (s *everything) Checkpoint(context.Context, persistence.Lease, string, []byte) error {
	return s.reached("Checkpoint")
}

func (s *everything) Room(l persistence.Lease) int { return l.Reserve }

func (s *everything) CompleteWith(context.Context, persistence.Lease, persistence.Outcome, []storekit.Write) error {
	return s.reached("CompleteWith")
}

func (s *everything) CheckpointWith(context.Context, persistence.Lease, string, []byte, []storekit.Write) error {
	return s.reached("CheckpointWith")
}

func (s *everything) CompleteAtOnce(context.Context, persistence.Claim, persistence.Outcome, []storekit.Write) (persistence.Record, error) {
	return persistence.Record{}, s.reached("CompleteAtOnce")
}

func (s *everything) Commit(context.Context, []storekit.Write) error { return s.reached("Commit") }
