package idempotent_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ikkai-go/idempotency/idempotent"
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
		t.Run(name, bubbled(func(t *testing.T) {
			db, store := newDynamo(t)
			guard := newKeylessGuard(t, store, idempotent.Config{Steps: []string{"a", "b"}})
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
			failed, ok := errors.AsType[*idempotent.StepError](err)
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
	db, store := newDynamo(t)
	guard := newKeylessGuard(t, store, idempotent.Config{Steps: []string{"a"}})
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
	db, store := newDynamo(t)
	events := new(eventLog)
	guard := newKeylessGuard(t, store, idempotent.Config{Steps: []string{"a"}, OnStoreFault: idempotent.FailOpen, Observe: events.observe})
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
	db, store := newDynamo(t)
	tr, _, call := newTrip(t, store)
	tr.fails["hotel"] = idempotent.Permanent(errSoldOut)
	db.Inject(dynamotest.Fault{Operation: "UpdateItem", Nth: 2, Times: dynamotest.Always, Do: dynamotest.LoseRequest()})
	_, err := call()
	if !errors.Is(err, idempotent.ErrCompensation) || !errors.Is(err, idempotent.ErrStore) || !errors.Is(err, errSoldOut) {
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
	_, store := newDynamo(t)
	events := new(eventLog)
	guard := newKeylessGuard(t, store, idempotent.Config{Steps: []string{"big", "next"}, Observe: events.observe})
	var did diary
	large := noise(500 << 10)
	call := func(reconcile func(context.Context) (string, bool, error)) (int, error) {
		return idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (int, error) {
			spec := idempotent.StepSpec[string]{Name: "big", Reconcile: reconcile}
			out, err := idempotent.StepAs(ctx, spec, func(context.Context) (string, error) { did.note("big"); return large, nil })
			if err != nil {
				return 0, err
			}
			_, err = did.failing(ctx, "next", errBroken)
			return len(out), err
		})
	}
	if _, err := call(nil); !errors.Is(err, idempotent.ErrPartialSuccess) || !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	wantKinds(t, events, idempotent.EventNotStored, idempotent.EventPartialSuccess)
	did.wants(t, "big", "next fails")
	if _, err := call(nil); !errors.Is(err, idempotent.ErrResultNotStored) || !errors.Is(err, idempotent.ErrStep) {
		t.Fatal(err)
	}
	did.wants(t)
	if _, err := call(func(context.Context) (string, bool, error) { return large, true, nil }); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	did.wants(t, "next fails")
}

func TestAStepForWhichThereIsNoRoomDoesNotRun(t *testing.T) {
	_, store := newDynamo(t)
	guard := newKeylessGuard(t, store, idempotent.Config{Steps: []string{"part/"}})
	var did diary
	full := false
	_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		for size := 100 << 10; ; {
			name := "part/" + rand.Text()
			ran := false
			_, err := idempotent.Step(ctx, name, func(context.Context) (string, error) {
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
		_, store := newDynamo(t)
		guard := newKeylessGuard(t, store, idempotent.Config{Steps: []string{"part/"}})
		undone := 0
		var parts []string
		_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
			for {
				name := "part/" + rand.Text()
				_, err := idempotent.StepAs(ctx, idempotent.StepSpec[string]{
					Name:       name,
					Compensate: func(context.Context, string) error { undone++; return nil },
				}, func(context.Context) (string, error) {
					parts = append(parts, name)
					return noise(20<<10 + len(parts)*97), nil
				})
				if err != nil {
					return "", idempotent.Permanent(errors.New(noise(4 << 10)))
				}
			}
		})
		if !errors.Is(err, idempotent.ErrPermanent) || errors.Is(err, idempotent.ErrCompensation) || undone != len(parts) {
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
		"empty name":            {persistence.NewMemory(), idempotent.Config{Steps: []string{""}}, "Steps"},
		"colon":                 {persistence.NewMemory(), idempotent.Config{Steps: []string{"a:b"}}, "Steps"},
		"control character":     {persistence.NewMemory(), idempotent.Config{Steps: []string{"a\n"}}, "Steps"},
		"no UTF-8":              {persistence.NewMemory(), idempotent.Config{Steps: []string{"\xff"}}, "Steps"},
		"long":                  {persistence.NewMemory(), idempotent.Config{Steps: []string{strings.Repeat("x", 201)}}, "Steps"},
		"twice":                 {persistence.NewMemory(), idempotent.Config{Steps: []string{"a", "b", "a"}}, "Steps"},
		"no checkpoints":        {&another{persistence.NewMemory()}, idempotent.Config{Steps: []string{"a"}}, "Steps"},
		"no checkpoints behind": {cached.New(&another{persistence.NewMemory()}, cached.Limits{}), idempotent.Config{Steps: []string{"a"}}, "Steps"},
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
	_, store := newDynamo(t)
	cached := cached.New(store, cached.Limits{})
	if _, err := idempotent.New(cached, idempotent.Config{Operation: "a", Steps: []string{"a"}}); err != nil {
		t.Error(err)
	}
	if _, err := idempotent.New(cached, idempotent.Config{Operation: "b", OnlyEnlists: true}); err != nil {
		t.Error(err)
	}
	if _, err := idempotent.New(cached, idempotent.Config{Operation: "c", OnlyEnlists: true, Steps: []string{"a"}}); err == nil {
		t.Error("a call without a record has steps")
	}
}

func TestTheDeclaredStepsAreTheGuards(t *testing.T) {
	steps := []string{"a"}
	guard := newKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: steps})
	steps[0] = "b"
	var did diary
	if _, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) { return did.step(ctx, "a") }); err != nil || !slices.Equal(did.entries, []string{"a"}) {
		t.Error(err)
	}
}
