package explore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/idempotent"
	. "github.com/ikkai-go/idempotency/internal/proof/explore"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// spoiled is a store that is broken in one way.
type spoiled struct {
	storekit.Front
	table Table

	forgets  string // the end of the names of the entries that an owner is not told
	reorders bool   // the steps are told in the reverse of their order
	loses    string // the end of the names of the entries that are not written
	anybody  bool   // may checkpoint
	removes  bool   // what is released, steps and all
	keeps    bool   // what is released, and says that it is gone
	succeeds bool   // always, whatever the outcome is
	splits   bool   // transactions
	confirms bool   // renewals, and does not carry them out
	hurries  bool   // leases end with the call
}

func (s spoiled) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	if s.hurries {
		c.LeaseUntil = c.Now.Add(10 * time.Second)
	}
	r, err := s.Front.Acquire(ctx, c)
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
	return s.Front.Checkpoint(ctx, l, step, output)
}

func (s spoiled) Renew(ctx context.Context, l persistence.Lease) error {
	if s.confirms {
		return nil
	}
	return s.Front.Renew(ctx, l)
}

func (s spoiled) Release(ctx context.Context, l persistence.Lease) error {
	if s.keeps {
		return nil
	}
	err := s.Front.Release(ctx, l)
	if s.removes {
		s.table.RemoveExpired(time.Time{}) // Memory's does not ask for the time
	}
	return err
}

func (s spoiled) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	if s.succeeds {
		o.Status = persistence.StatusCompleted
	}
	return s.Front.Complete(ctx, l, o)
}

func (s spoiled) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	if !s.splits {
		return s.Front.CheckpointWith(ctx, l, step, output, writes)
	}
	if err := s.Checkpoint(ctx, l, step, output); err != nil {
		return err
	}
	return s.Commit(ctx, writes)
}

// in is the system with a store that is broken so.
func (s spoiled) in(system System, how string) System {
	return system.Spoiled(how, func(table Table, store persistence.Store) persistence.Store {
		broken := s
		broken.Front, broken.table = storekit.NewFront(store), table
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
		t.Run(name, func(t *testing.T) { mustBreak(t, test.spoil.in(test.system, name), test.bounds, test.broken) })
	}
}

// Leases that are renewed without right, or only in somebody's head, break promises.
func TestABrokenRenewalBreaksPromises(t *testing.T) {
	tests := map[string]struct {
		system System
		bounds Bounds
		broken Promise
	}{
		"leases are extended before the store has confirmed it": {
			spoiled{confirms: true}.in(OnMemory(renewed), "leases are extended before that is confirmed"),
			Bounds{Callers: 1, Passes: 2}, Held,
		},
		"renewals have no condition": {
			OnSpoiledDynamoDB(renewed, "renewals have no condition", func(api dynamostore.API) dynamostore.API { return careless{api} }),
			Bounds{Callers: 2, Passes: 1}, Owner,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { mustBreak(t, test.system, test.bounds, test.broken) })
	}
}

// careless renews whatever lease there is.
type careless struct{ dynamostore.API }

func (c careless) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if aws.ToString(in.UpdateExpression) == "SET #l = :lease, #x = :expire" {
		anyRecord := *in
		anyRecord.ConditionExpression = aws.String("(" + *in.ConditionExpression + ") OR attribute_exists(#l)")
		in = &anyRecord
	}
	return c.API.UpdateItem(ctx, in, options...)
}

// Whoever says what is not so, is found out.
func TestAClaimThatIsNotTrueIsSeen(t *testing.T) {
	steps := OnMemory(plain).WithSaga(Chain(2, final))
	tests := map[string]struct {
		system System
		bounds Bounds
		says   func(error, idempotent.Verdict) idempotent.Verdict
		broken Promise
	}{
		"nothing is done, says the error inside": {
			steps, Bounds{Callers: 1, Passes: 1},
			func(err error, _ idempotent.Verdict) idempotent.Verdict { return innermost(err) }, Claimed,
		},
		"nothing is done, of a run that is not recorded": {
			OnMemory(plain), Bounds{Callers: 1, Faults: 1, Silence: true},
			func(_ error, v idempotent.Verdict) idempotent.Verdict {
				if v.Code == idempotent.CodeNotStored {
					v.Done = idempotent.DoneNothing
				}
				return v
			}, Claimed,
		},
		"nothing is done, of writes that may arrive": {
			OnDynamoDB(atOnce), Bounds{Callers: 1, Faults: 2},
			func(_ error, v idempotent.Verdict) idempotent.Verdict {
				if v.Code == idempotent.CodeNotStored {
					v.Done = idempotent.DoneNothing
				}
				return v
			}, Claimed,
		},
		"all is done, of a run that has failed": {
			OnMemory(plain), Bounds{Callers: 1},
			func(_ error, v idempotent.Verdict) idempotent.Verdict { v.Done = idempotent.DoneAll; return v }, Claimed,
		},
		"a part is done, of a run without steps": {
			OnMemory(plain), Bounds{Callers: 1},
			func(_ error, v idempotent.Verdict) idempotent.Verdict { v.Done = idempotent.DoneSomething; return v }, Claimed,
		},
		"it helps to repeat what nobody knows the outcome of": {
			OnMemory(unknown), Bounds{Callers: 2, Passes: 1},
			func(err error, v idempotent.Verdict) idempotent.Verdict {
				if errors.Is(err, idempotent.ErrOutcomeUnknown) {
					v = idempotent.Verdict{Retry: true, After: time.Second, Code: idempotent.CodeInProgress}
				}
				return v
			}, Helps,
		},
		"it does not help to repeat what is under way": {
			OnMemory(plain), Bounds{Callers: 2},
			func(err error, v idempotent.Verdict) idempotent.Verdict {
				v.Retry = v.Retry && !errors.Is(err, idempotent.ErrInProgress)
				return v
			}, Final,
		},
		"it helps to repeat it at once": {
			OnMemory(plain), Bounds{Callers: 2},
			func(_ error, v idempotent.Verdict) idempotent.Verdict { v.After = 0; return v }, Helps,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			system := test.system.Judged(name, func(err error) idempotent.Verdict { return test.says(err, idempotent.VerdictOf(err)) })
			mustBreak(t, system, test.bounds, test.broken)
		})
	}
}

// innermost judges an error by the last of those that it wraps and that say anything.
func innermost(err error) idempotent.Verdict {
	said := idempotent.VerdictOf(err)
	for ; err != nil; err = errors.Unwrap(err) {
		if v := idempotent.VerdictOf(err); v.Code != idempotent.CodeFunctionFailed {
			said = v
		}
	}
	return said
}

func mustBreak(t *testing.T, s System, b Bounds, broken Promise) {
	t.Helper()
	report := Run(t, s, b)
	report.Write(t.Output())
	if !slices.ContainsFunc(report.Violations, func(v Violation) bool { return v.Promise == broken }) {
		t.Errorf("%q holds", broken)
	}
}
