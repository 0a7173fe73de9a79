package explore_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/ikkai-go/idempotency/internal/explore"
	"github.com/ikkai-go/idempotency/persistence"
)

// spoiled is a store that is broken in one way.
type spoiled struct {
	persistence.Store
	table Table

	forgets  string // the end of the names of the entries that an owner is not told
	reorders bool   // the steps are told in the reverse of their order
	loses    string // the end of the names of the entries that are not written
	anybody  bool   // may checkpoint
	removes  bool   // what is released, steps and all
	succeeds bool   // always, whatever the outcome is
	splits   bool   // transactions
}

func (s spoiled) Unwrap() persistence.Store { return s.Store }

func (s spoiled) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	r, err := s.Store.Acquire(ctx, c)
	told := make(map[string][]byte, len(r.Steps))
	for name, entry := range r.Steps {
		if s.forgets != "" && strings.HasSuffix(name, s.forgets) {
			continue
		}
		if s.reorders {
			for order := range 4 {
				was, is := fmt.Appendf(nil, `"order":%d,`, order), fmt.Appendf(nil, `"order":%d,`, 9-order)
				entry = bytes.Replace(entry, was, is, 1)
			}
		}
		told[name] = entry
	}
	r.Steps = told
	return r, err
}

func (s spoiled) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	if s.loses != "" && strings.HasSuffix(step, s.loses) {
		return nil
	}
	if r, exists := s.table.Record(); s.anybody && exists {
		l.Owner = r.Owner
	}
	return s.Store.(persistence.Checkpointer).Checkpoint(ctx, l, step, output)
}

func (s spoiled) Release(ctx context.Context, l persistence.Lease) error {
	err := s.Store.Release(ctx, l)
	if s.removes {
		s.table.RemoveExpired(time.Time{}) // Memory's does not ask for the time
	}
	return err
}

func (s spoiled) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	if s.succeeds {
		o.Status = persistence.StatusCompleted
	}
	return s.Store.Complete(ctx, l, o)
}

func (s spoiled) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []persistence.Write) error {
	with := s.Store.(persistence.Transactor)
	if !s.splits {
		return with.CheckpointWith(ctx, l, step, output, writes)
	}
	if err := s.Checkpoint(ctx, l, step, output); err != nil {
		return err
	}
	return with.Commit(ctx, writes)
}

func (s spoiled) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []persistence.Write) error {
	return s.Store.(persistence.Transactor).CompleteWith(ctx, l, o, writes)
}

func (s spoiled) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []persistence.Write) (persistence.Record, error) {
	return s.Store.(persistence.Transactor).CompleteAtOnce(ctx, c, o, writes)
}

func (s spoiled) Commit(ctx context.Context, writes []persistence.Write) error {
	return s.Store.(persistence.Transactor).Commit(ctx, writes)
}

// in is the system with a store that is broken so.
func (s spoiled) in(system System, how string) System {
	return system.Spoiled(how, func(table Table, store persistence.Store) persistence.Store {
		broken := s
		broken.Store, broken.table = store, table
		return broken
	})
}

// Each promise about sagas can be broken, and the explorer sees it.
func TestABrokenStoreBreaksThePromisesAboutSagas(t *testing.T) {
	compensable := OnMemory(plain).WithSaga(Chain(2, undoable))
	once := OnMemory(plain).WithSaga(Chain(1, Stage{AtMostOnce: true}))
	committing := OnDynamoDB(plain).WithSaga(Chain(1, Stage{Enlists: true}))
	inTurn := Bounds{Callers: 2, Failures: 2, InTurn: true}
	tests := map[string]struct {
		system System
		bounds Bounds
		spoil  spoiled
		broken Promise
	}{
		"finished steps are not told":    {compensable, inTurn, spoiled{forgets: "1"}, Finished},
		"finished steps are not written": {compensable, inTurn, spoiled{loses: "1"}, Kept},
		"a release keeps no steps":       {compensable, inTurn, spoiled{removes: true}, Kept},
		"starts are not written":         {once, inTurn, spoiled{loses: ":started"}, Started},
		"starts are not told":            {once, inTurn, spoiled{forgets: ":started"}, Started},
		"decisions are not written":      {compensable, inTurn, spoiled{loses: ":unwinding"}, Backward},
		"decisions are not told":         {compensable, inTurn, spoiled{forgets: ":unwinding"}, Backward},
		"the order is told wrongly":      {compensable, inTurn, spoiled{reorders: true}, Reverse},
		"compensations are not told":     {compensable, inTurn, spoiled{forgets: ":compensated"}, Undone},
		"compensations are not written":  {compensable, inTurn, spoiled{loses: ":compensated"}, Paired},
		"failures count as success":      {compensable, inTurn, spoiled{succeeds: true}, Documented},
		"writes commit on their own":     {committing, inTurn, spoiled{splits: true}, Committed},
		"anybody may write steps": {
			OnMemory(plain).WithSaga(Chain(1, final)), Bounds{Callers: 2, Passes: 1}, spoiled{anybody: true}, Owner,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := Run(t, test.spoil.in(test.system, name), test.bounds)
			report.Write(t.Output())
			if !slices.ContainsFunc(report.Violations, func(v Violation) bool { return v.Promise == test.broken }) {
				t.Errorf("%q holds", test.broken)
			}
		})
	}
}
