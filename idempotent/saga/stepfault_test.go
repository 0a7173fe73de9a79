package saga_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Whatever happens to the write of a checkpoint, the step has had its effect: the
// next attempt runs it again, with the same token, unless the checkpoint is there.
func TestACheckpointThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		effect func() dynamotest.Effect
		times  int
		kept   bool // although the store did not say so
		fails  bool
	}{
		"one reply is lost":       {dynamotest.LoseReply, 1, true, false},
		"no reply ever comes":     {dynamotest.LoseReply, dynamotest.Always, true, true},
		"no request ever arrives": {dynamotest.LoseRequest, dynamotest.Always, false, true},
	} {
		t.Run(name, lab.Bubbled(func(t *testing.T) {
			db, store := lab.NewDynamo(t)
			guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"), lab.Named[string]("b"))})
			var did diary
			call := func() (string, error) {
				return idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
					_, err := did.step(ctx, "a")
					if err != nil {
						return "", err
					}
					return did.step(ctx, "b")
				})
			}
			db.Inject(dynamotest.Fault{Operation: "UpdateItem", Times: test.times, Do: test.effect()})
			_, err := call()
			db.ClearFaults()
			if !test.fails {
				if err != nil {
					t.Fatal(err)
				}
				did.wants(t, "a", "b")
				return
			}
			failed, ok := errors.AsType[*saga.StepError](err)
			if !ok || failed.Step != "a" || !failed.Executed || !errors.Is(err, idempotent.ErrStore) {
				t.Fatalf("error %v", err)
			}
			did.wants(t, "a")
			if out, err := call(); err != nil || out != "B" {
				t.Fatalf("got %q, %v", out, err)
			}
			if test.kept {
				did.wants(t, "b")
			} else {
				did.wants(t, "a", "b")
			}
		}))
	}
}

// The function may try a step again whose output was not recorded. Its effect has
// happened, so only the record is written.
func TestACheckpointIsTriedAgainWithoutTheStep(t *testing.T) {
	synctest.Test(t, aCheckpointIsTriedAgainWithoutTheStep)
}

func aCheckpointIsTriedAgainWithoutTheStep(t *testing.T) {
	db, store := lab.NewDynamo(t)
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"))})
	var did diary
	out, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		db.Inject(dynamotest.Fault{Operation: "UpdateItem", Times: dynamotest.Always, Do: dynamotest.LoseRequest()})
		if _, err := did.step(ctx, "a"); !errors.Is(err, idempotent.ErrStore) {
			t.Error(err)
		}
		db.ClearFaults()
		return did.step(ctx, "a")
	})
	if err != nil || out != "A" {
		t.Fatalf("got %q, %v", out, err)
	}
	did.wants(t, "a")
}

func TestFailOpenGoesOnWithoutACheckpoint(t *testing.T) {
	synctest.Test(t, failOpenGoesOnWithoutACheckpoint)
}

func failOpenGoesOnWithoutACheckpoint(t *testing.T) {
	db, store := lab.NewDynamo(t)
	events := new(lab.EventLog)
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("a")), FailOpen: true, Observe: events.Observe})
	var did diary
	out, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		db.Inject(dynamotest.Fault{Operation: "UpdateItem", Times: dynamotest.Always, Do: dynamotest.LoseRequest()})
		defer db.ClearFaults()
		return did.step(ctx, "a")
	})
	if err != nil || out != "A" {
		t.Fatalf("got %q, %v", out, err)
	}
	wantKinds(t, events, idempotent.EventNotStored, idempotent.EventExecuted)
}

// A failure for good is not undone before the record says so: a process that died in
// the midst of it would leave a successor that goes forward again.
func TestNothingIsUndoneThatCannotBeRecordedFirst(t *testing.T) {
	synctest.Test(t, nothingIsUndoneThatCannotBeRecordedFirst)
}

func nothingIsUndoneThatCannotBeRecordedFirst(t *testing.T) {
	db, store := lab.NewDynamo(t)
	tr, _, call := newTrip(t, store)
	tr.fails["hotel"] = idempotent.Permanent(errSoldOut)
	db.Inject(dynamotest.Fault{Operation: "UpdateItem", Nth: 2, Times: dynamotest.Always, Do: dynamotest.LoseRequest()})
	_, err := call()
	if !errors.Is(err, saga.ErrCompensation) || !errors.Is(err, idempotent.ErrStore) || !errors.Is(err, errSoldOut) {
		t.Fatal(err)
	}
	tr.wants(t, "flight", "hotel")
	db.ClearFaults()
}

// noise is text that does not compress.
func noise(n int) string {
	var text strings.Builder
	for text.Len() < n {
		text.WriteString(rand.Text())
	}
	return text.String()[:n]
}

func TestAnOutputThatIsTooLargeDoesNotUndoItsStep(t *testing.T) {
	_, store := lab.NewDynamo(t)
	events := new(lab.EventLog)
	var did diary
	large := noise(500 << 10)
	call := func(reconcile func(context.Context, saga.Call) (string, bool, error)) (int, error) {
		big := saga.NewStep(saga.Spec[string]{Name: "big", Reconcile: reconcile})
		steps := saga.Steps(big, lab.Named[string]("next"))
		guard := lab.NewKeylessGuard(t, elsewhere(store), idempotent.Config{Steps: steps, Observe: events.Observe})
		return idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (int, error) {
			out, err := big.Run(ctx, func(context.Context, saga.Call) (string, error) { did.note("big"); return large, nil })
			if err != nil {
				return 0, err
			}
			_, err = did.failing(ctx, "next", errBroken)
			return len(out), err
		})
	}
	if _, err := call(nil); !errors.Is(err, saga.ErrPartialSuccess) || !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	wantKinds(t, events, idempotent.EventNotStored, idempotent.EventPartialSuccess)
	did.wants(t, "big", "next fails")
	if _, err := call(nil); !errors.Is(err, idempotent.ErrResultNotStored) || !errors.Is(err, saga.ErrStep) {
		t.Fatal(err)
	}
	did.wants(t)
	if _, err := call(func(context.Context, saga.Call) (string, bool, error) { return large, true, nil }); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	did.wants(t, "next fails")
}

func TestAStepForWhichThereIsNoRoomDoesNotRun(t *testing.T) {
	_, store := lab.NewDynamo(t)
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.FamilyNamed[string]("part/"))})
	var did diary
	full := false
	_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		for size := 100 << 10; ; {
			name := "part/" + rand.Text()
			ran := false
			_, err := lab.Named[string](name).Run(ctx, func(context.Context, saga.Call) (string, error) {
				ran = true
				return noise(size), nil
			})
			switch {
			case errors.Is(err, persistence.ErrTooLarge) && !ran:
				full = true
				return "", nil
			case err != nil:
				t.Fatal(err)
			}
			if size > 100 {
				size -= size / 4
			}
		}
	})
	if err != nil || !full {
		t.Errorf("full: %t, %v", full, err)
	}
	did.wants(t)
}

// A record that is full of what it has to hold can still be undone: room is kept for
// that.
func TestAFullRecordCanStillBeUndone(t *testing.T) {
	for range 5 {
		_, store := lab.NewDynamo(t)
		undone := 0
		family := saga.NewFamily(saga.Spec[string]{Name: "part/", Compensate: func(context.Context, saga.Call, string) error { undone++; return nil }})
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(family)})
		var parts []string
		_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
			for {
				name := rand.Text()
				_, err := family.Step(name).Run(ctx, func(context.Context, saga.Call) (string, error) {
					parts = append(parts, name)
					return noise(20<<10 + len(parts)*97), nil
				})
				if err != nil {
					return "", idempotent.Permanent(errors.New(noise(4 << 10)))
				}
			}
		})
		if !errors.Is(err, idempotent.ErrPermanent) || errors.Is(err, saga.ErrCompensation) || undone != len(parts) {
			t.Fatalf("%d of %d undone, %v", undone, len(parts), err)
		}
	}
}

func TestConfigOfStepsIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		store  persistence.Store
		config idempotent.Config
		field  string
	}{
		"no checkpoints":        {&lab.Another{Store: persistence.NewMemory()}, idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"))}, "Steps"},
		"no checkpoints behind": {cached.New(&lab.Another{Store: persistence.NewMemory()}, cached.Limits{}), idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"))}, "Steps"},
		"no transactions":       {persistence.NewMemory(), idempotent.Config{OnlyEnlists: true}, "OnlyEnlists"},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.Operation = "payment"
			_, err := idempotent.New(test.store, test.config)
			fault, ok := errors.AsType[*idempotent.ConfigError](err)
			if !ok || fault.Field != test.field {
				t.Errorf("error %v", err)
			}
		})
	}
	_, store := lab.NewDynamo(t)
	cached := cached.New(store, cached.Limits{})
	if _, err := idempotent.New(cached, idempotent.Config{Operation: "a", Steps: saga.Steps(lab.Named[string]("a"))}); err != nil {
		t.Error(err)
	}
	if _, err := idempotent.New(cached, idempotent.Config{Operation: "b", OnlyEnlists: true}); err != nil {
		t.Error(err)
	}
	if _, err := idempotent.New(cached, idempotent.Config{Operation: "c", OnlyEnlists: true, Steps: saga.Steps(lab.Named[string]("a"))}); err == nil {
		t.Error("a call without a record has steps")
	}
}

// Declarations are program text: what is wrong with one ends the program where it is made.
func TestWhatIsWrongWithADeclarationPanics(t *testing.T) {
	for name, declare := range map[string]func(){
		"a step needs a name": func() { saga.NewStep(saga.Spec[string]{}) },
		"a colon":             func() { saga.NewStep(saga.Spec[string]{Name: "a:b"}) },
		"printable":           func() { saga.NewStep(saga.Spec[string]{Name: "a\n"}) },
		"not printable":       func() { saga.NewStep(saga.Spec[string]{Name: "\xff"}) },
		"the limit is 200":    func() { saga.NewStep(saga.Spec[string]{Name: strings.Repeat("x", 201)}) },
		"use NewFamily":       func() { saga.NewStep(saga.Spec[string]{Name: "a/"}) },
		"ends in":             func() { saga.NewFamily(saga.Spec[string]{Name: "a"}) },
		"declared twice":      func() { saga.Steps(lab.Named[string]("a"), lab.Named[string]("b"), saga.Retired("a")) },
		"has a colon":         func() { saga.Retired("a:b") },
		"can't be stored":     func() { saga.NewStep(saga.Spec[chan int]{Name: "a"}) },
		"nil function":        func() { _, _ = lab.Named[string]("a").Run(t.Context(), nil) },
		"of a nil function":   func() { _ = lab.Named[string]("a").Do(t.Context(), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, strings.TrimPrefix(strings.TrimPrefix(name, "not "), "a colon")) {
					t.Errorf("panic %q", text)
				}
			}()
			declare()
		})
	}
	if saga.Steps() != nil {
		t.Error("no steps are some")
	}
}
