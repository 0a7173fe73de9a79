package dynamostore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// lateBank is a bank whose first transaction is late, and fails: it arrives when told.
func lateBank(t *testing.T) (store planter, books ledger, held *dynamotest.Held) {
	t.Helper()
	db, store, books := newBank(t, dynamostore.Config{})
	held = new(dynamotest.Held)
	db.Inject(
		dynamotest.Fault{Operation: "TransactWriteItems", Do: dynamotest.ApplyLater(held)},
		dynamotest.Fault{Operation: "TransactWriteItems", Nth: 2, Do: dynamotest.Fail("AccessDeniedException", "", 400)},
	)
	return store, books, held
}

// A transaction is late, and its next try is refused: for the sake of a write, or of others
// that were in the way. Nobody is told that it did not happen, for it happens yet.
func TestARefusalIsNotBelievedWhileAnEarlierTryMayArrive(t *testing.T) {
	cancel := func(reason string) func(record bool) dynamotest.Effect {
		return func(record bool) dynamotest.Effect {
			if record {
				return dynamotest.Cancel("None", reason)
			}
			return dynamotest.Cancel(reason)
		}
	}
	answer := func(e dynamotest.Effect) func(bool) dynamotest.Effect {
		return func(bool) dynamotest.Effect { return e }
	}
	for name, refusal := range map[string]func(record bool) dynamotest.Effect{
		"a condition": cancel("ConditionalCheckFailed"),
		"conflicts":   cancel("TransactionConflict"),
		"throttling":  answer(dynamotest.Throttle()),
		"not allowed": answer(dynamotest.Fail("AccessDeniedException", "", 400)),
	} {
		for _, call := range transactionals {
			t.Run(name+" "+call.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db, store, books := newBank(t, dynamostore.Config{})
					do := call.begin(t, store)
					held := new(dynamotest.Held)
					db.Inject(
						dynamotest.Fault{Operation: "TransactWriteItems", Do: dynamotest.ApplyLater(held)},
						dynamotest.Fault{Operation: "TransactWriteItems", Nth: 2, Times: dynamotest.Always, Do: refusal(call.record)},
					)
					ctx, cancel := context.WithTimeout(t.Context(), storeTime)
					defer cancel()
					err := do(ctx, books.add("a", "1"))
					fault, ok := errors.AsType[*persistence.Fault](err)
					if _, refused := errors.AsType[*persistence.RefusedError](err); refused || !ok || fault.Unwritten {
						t.Errorf("got %v (%+v), want a fault that says nothing", err, fault)
					}
					if held.Release(); books.balance(t, "a") != "1" {
						t.Error("it has not arrived")
					}
				})
			})
		}
	}
}

// The step that docs/steps.md allows to be tried again: the first transaction arrives late,
// and the second is told which of the two outputs is there.
func TestOfTwoOutputsOfOneOwnerTheStoreTellsWhichIsThere(t *testing.T) {
	store, books, held := lateBank(t)
	lease := acquired(t, store, "me")
	reserve := func(output string) error {
		return store.CheckpointWith(t.Context(), lease, "reserve", []byte(output), writes(books.add(output, "1")))
	}
	if err := reserve("reservation-1"); err == nil {
		t.Error("the first has been answered")
	}
	held.Release()
	err := reserve("reservation-2")
	settled, ok := errors.AsType[*persistence.SettledError](err)
	if !ok || errors.Is(err, persistence.ErrLeaseLost) || string(settled.Record.Steps["reserve"]) != "reservation-1" {
		t.Errorf("got %v, want to be told of the first reservation", err)
	}
	if one, two := books.balance(t, "reservation-1"), books.balance(t, "reservation-2"); one != "1" || two != "" {
		t.Errorf("the rows are %q and %q", one, two)
	}
}

// A completion arrives late, after its owner has decided on another outcome.
func TestAnOwnerIsToldOfItsOwnLateCompletion(t *testing.T) {
	failed := completed("sold out")
	failed.Status = persistence.StatusFailed
	for name, settle := range map[string]func(context.Context, planter, persistence.Lease) error{
		"by a failure": func(ctx context.Context, s planter, l persistence.Lease) error { return s.Complete(ctx, l, failed) },
		"by a release": func(ctx context.Context, s planter, l persistence.Lease) error { return s.Release(ctx, l) },
		"by a step": func(ctx context.Context, s planter, l persistence.Lease) error {
			return s.Checkpoint(ctx, l, "undone", nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, books, held := lateBank(t)
			lease := acquired(t, store, "me")
			if err := store.CompleteWith(t.Context(), lease, completed("sold"), writes(books.add("a", "1"))); err == nil {
				t.Error("the completion has been answered")
			}
			held.Release()
			err := settle(t.Context(), store, lease)
			settled, ok := errors.AsType[*persistence.SettledError](err)
			if !ok || !errors.Is(err, persistence.ErrLeaseLost) || string(settled.Record.Result) != "sold" {
				t.Errorf("got %v, want to be told of the sale", err)
			}
		})
	}
}

// In a format of others an outcome is compared as it is stored.
func TestSettledInAnotherFormat(t *testing.T) {
	_, store := formatted(t)
	lease := acquired(t, store, "ours")
	for i, result := range []string{"7", "7", "8"} {
		err := store.Complete(t.Context(), lease, numbered(result))
		if settled, told := errors.AsType[*persistence.SettledError](err); told != (i == 2) || err != nil && !told {
			t.Errorf("%d: %v", i, err)
		} else if told && string(settled.Record.Result) != "7" {
			t.Errorf("told of %q", settled.Record.Result)
		}
	}
}
