package saga_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestAFinishedStepIsNotRunAgain(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		events := new(lab.EventLog)
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("reserve"), lab.Named[string]("charge")), Observe: events.Observe})
		var did diary
		down := true
		call := func() (string, error) {
			return idempotent.Do(t.Context(), guard, "order-1", func(ctx context.Context) (string, error) {
				box, err := did.step(ctx, "reserve")
				if err != nil {
					return "", err
				}
				if down {
					_, err := did.failing(ctx, "charge", errBroken)
					return "", err
				}
				paid, err := did.step(ctx, "charge")
				return box + " " + paid, err
			})
		}
		_, err := call()
		partial, ok := errors.AsType[*saga.PartialSuccessError](err)
		if !ok || !errors.Is(err, errBroken) || !errors.Is(err, saga.ErrPartialSuccess) || !slices.Equal(partial.Done, []string{"reserve"}) {
			t.Fatalf("error %v of %T", err, err)
		}
		did.wants(t, "reserve", "charge fails")
		wantKinds(t, events, idempotent.EventStepExecuted, idempotent.EventPartialSuccess)
		down = false
		out, err := call()
		if err != nil || out != "RESERVE CHARGE" {
			t.Fatalf("got %q, %v", out, err)
		}
		did.wants(t, "charge")
		wantKinds(t, events, idempotent.EventResumed, idempotent.EventStepReplayed, idempotent.EventStepExecuted, idempotent.EventExecuted)
		if out, err := call(); err != nil || out != "RESERVE CHARGE" {
			t.Fatalf("replay: %q, %v", out, err)
		}
		did.wants(t)
	})
}

func TestARunThatDiesIsResumedAfterItsLastStep(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"), lab.Named[string]("b"), lab.Named[string]("c")), LeaseWholeRuns: true, Lease: time.Minute, ClockSkew: time.Second})
		var did diary
		frozen := make(chan struct{})
		go func() {
			_, err := idempotent.Do(context.Background(), guard, "k", func(ctx context.Context) (string, error) {
				_, _ = did.step(ctx, "a")
				_, _ = did.step(ctx, "b")
				<-frozen // until long after its lease
				_, err := did.step(ctx, "c")
				return "zombie", err
			})
			if !errors.Is(err, idempotent.ErrNotStarted) {
				t.Errorf("the zombie's step: %v", err)
			}
		}()
		synctest.Wait()
		time.Sleep(time.Minute + time.Second)
		second := lab.NewKeylessGuard(t, elsewhere(store), idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"), lab.Named[string]("b"), lab.Named[string]("c"))})
		did.wants(t, "a", "b")
		out, err := idempotent.Do(t.Context(), second, "k", func(ctx context.Context) (string, error) {
			for _, name := range []string{"a", "b", "c"} {
				if _, err := did.step(ctx, name); err != nil {
					return "", err
				}
			}
			close(frozen)
			synctest.Wait()
			return "second", nil
		})
		if err != nil || out != "second" {
			t.Fatalf("got %q, %v", out, err)
		}
		did.wants(t, "c")
	})
}

// A record that somebody has deleted by hand, and that is acquired again, is not known
// to its first owner until it writes. From then on that owner starts nothing.
func TestASupersededOwnerCannotStartItsNextStep(t *testing.T) {
	store := persistence.NewMemory()
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"), lab.Named[string]("b"), lab.Named[string]("c"))})
	var did diary
	_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		if _, err := did.step(ctx, "a"); err != nil {
			return "", err
		}
		r := store.Records()[0]
		r.Owner = "somebody else"
		store.Put(r)
		_, err := did.step(ctx, "b")
		if lost, ok := errors.AsType[*saga.StepError](err); !ok || !errors.Is(err, idempotent.ErrLeaseLost) || !lost.Executed {
			t.Errorf("the step under way: %v", err)
		}
		return did.step(ctx, "c")
	})
	if !errors.Is(err, idempotent.ErrLeaseLost) || !errors.Is(err, saga.ErrStep) {
		t.Errorf("the next step: %v", err)
	}
	if _, partial := errors.AsType[*saga.PartialSuccessError](err); partial {
		t.Error("told of steps that are somebody else's")
	}
	did.wants(t, "a", "b")
}

func TestStepsAreKnownByNameNotByPosition(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"), lab.Named[string]("b"), lab.Named[string]("new"))})
		var did diary
		run := func(names ...string) error {
			_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
				for _, name := range names {
					if got, err := did.step(ctx, name); err != nil || got != strings.ToUpper(name) {
						return "", fmt.Errorf("%s: %q, %w", name, got, err)
					}
				}
				return "", errBroken
			})
			return err
		}
		if err := run("a", "b"); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		did.wants(t, "a", "b")
		if err := run("b", "new", "a"); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		did.wants(t, "new")
	})
}

func TestWhatIsWrongWithAStepIsSaidBeforeItRuns(t *testing.T) {
	guarded := func(t *testing.T, fn func(context.Context) error) error {
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"), lab.Named[string]("b"), lab.FamilyNamed[string]("mail/"))})
		_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) { return "", fn(ctx) })
		return err
	}
	var did diary
	for name, test := range map[string]struct {
		call func(t *testing.T) error
		want error
		done []string
	}{
		"outside of a guarded call": {func(t *testing.T) error {
			_, err := did.step(t.Context(), "a")
			return err
		}, saga.ErrStepMisuse, nil},
		"in a call that declares none": {func(t *testing.T) error {
			guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
			_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) { return did.step(ctx, "a") })
			return err
		}, saga.ErrStepMisuse, nil},
		"in a call inside of one that declares it": {func(t *testing.T) error {
			inner := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
			return guarded(t, func(ctx context.Context) error {
				_, err := idempotent.Do(ctx, inner, "k", func(ctx context.Context) (string, error) { return did.step(ctx, "a") })
				return err
			})
		}, saga.ErrStepMisuse, nil},
		"not declared": {func(t *testing.T) error {
			return guarded(t, func(ctx context.Context) error { _, err := did.step(ctx, "c"); return err })
		}, saga.ErrStepMisuse, nil},
		"a family without a member": {func(t *testing.T) error {
			return guarded(t, func(ctx context.Context) error { _, err := did.step(ctx, "mail/"); return err })
		}, saga.ErrStepMisuse, nil},
		"twice": {func(t *testing.T) error {
			return guarded(t, func(ctx context.Context) error {
				_, _ = did.step(ctx, "a")
				_, err := did.step(ctx, "a")
				return err
			})
		}, saga.ErrStepMisuse, []string{"a"}},
		"inside of another": {func(t *testing.T) error {
			return guarded(t, func(ctx context.Context) error {
				_, err := lab.Named[string]("a").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) { return did.step(ctx, "b") })
				return err
			})
		}, saga.ErrStepMisuse, nil},
		"an input that is no JSON": {func(t *testing.T) error {
			return guarded(t, func(ctx context.Context) error {
				_, err := lab.Named[string]("a").RunFor(ctx, func() {}, func(context.Context, saga.Call) (string, error) {
					did.note("a")
					return "", nil
				})
				return err
			})
		}, saga.ErrStepMisuse, nil},
		"after the call": {func(t *testing.T) error {
			var late context.Context
			_ = guarded(t, func(ctx context.Context) error {
				late = ctx //nolint:fatcontext // that is the point
				return nil
			})
			_, err := did.step(late, "a")
			return err
		}, saga.ErrStepMisuse, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.call(t)
			if _, ok := errors.AsType[*saga.StepError](err); !ok || !errors.Is(err, test.want) || !errors.Is(err, saga.ErrStep) {
				t.Errorf("error %v", err)
			}
			did.wants(t, test.done...)
		})
	}
}

func TestAStepOfAFamilyIsDeclaredByIts(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.FamilyNamed[string]("mail/"))})
	var did diary
	if _, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		_, err := did.step(ctx, "mail/1")
		if err != nil {
			return "", err
		}
		return did.step(ctx, "mail/2")
	}); err != nil {
		t.Fatal(err)
	}
	did.wants(t, "mail/1", "mail/2")
}

// A deployment renames a step while a request is half done: the new name would run
// what has been done under the old one.
func TestAStepThatTheCodeNoLongerKnowsStopsTheCallBeforeItStarts(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		var did diary
		before := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("reserve"), lab.Named[string]("charge"))})
		_, err := idempotent.Do(t.Context(), before, "k", func(ctx context.Context) (string, error) {
			_, _ = did.step(ctx, "reserve")
			_, _ = did.step(ctx, "charge")
			return "", errBroken
		})
		if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		did.wants(t, "reserve", "charge")
		for range 2 {
			after := lab.NewKeylessGuard(t, elsewhere(store), idempotent.Config{Steps: saga.Steps(lab.Named[string]("reserve"), lab.Named[string]("charge-card"))})
			_, err = idempotent.Do(t.Context(), after, "k", func(ctx context.Context) (string, error) {
				did.note("runs")
				return did.step(ctx, "charge-card")
			})
			unknown, ok := errors.AsType[*saga.StepError](err)
			if !ok || !errors.Is(err, saga.ErrUnknownStep) || unknown.Key == "" || unknown.Step != "charge" {
				t.Errorf("error %v", err)
			}
			did.wants(t)
		}
		stepless := lab.NewKeylessGuard(t, elsewhere(store), idempotent.Config{})
		_, err = idempotent.Do(t.Context(), stepless, "k", func(context.Context) (string, error) { did.note("runs"); return "", nil })
		if v := idempotent.VerdictOf(err); !errors.Is(err, idempotent.ErrConfig) || v != (idempotent.Verdict{Code: idempotent.CodeStuck}) {
			t.Errorf("error %v, verdict %+v", err, v)
		}
		did.wants(t)
		again := lab.NewKeylessGuard(t, elsewhere(store), idempotent.Config{Steps: saga.Steps(lab.Named[string]("reserve"), lab.Named[string]("charge"), lab.Named[string]("charge-card"))})
		if _, err := idempotent.Do(t.Context(), again, "k", func(ctx context.Context) (string, error) { return did.step(ctx, "charge") }); err != nil {
			t.Errorf("nothing was lost, and yet: %v", err)
		}
		did.wants(t)
	})
}

func TestAStepWithAnotherInputIsRefused(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("charge"))})
		var did diary
		charge := func(input any) error {
			_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
				_, err := lab.Named[string]("charge").RunFor(ctx, input, func(context.Context, saga.Call) (string, error) {
					did.note("charge %v", input)
					return "", nil
				})
				if err != nil {
					return "", err
				}
				return "", errBroken
			})
			return err
		}
		type amount struct {
			Cents int64
		}
		if err := charge(amount{9007199254740993}); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		for _, other := range []any{amount{9007199254740992}, nil, 0, "", []int{}} {
			if err := charge(other); !errors.Is(err, saga.ErrStepInput) {
				t.Errorf("input %v: %v", other, err)
			}
		}
		if err := charge(map[string]any{"Cents": int64(9007199254740993)}); !errors.Is(err, errBroken) {
			t.Errorf("the same input in another type: %v", err)
		}
		if err := charge(maskedCard("4111")); !errors.Is(err, saga.ErrStepMisuse) {
			t.Errorf("an input of which all have the same JSON: %v", err)
		}
		did.wants(t, "charge {9007199254740993}")
	})
}

// maskedCard is a number that must not get into a log.
type maskedCard string

func (maskedCard) MarshalText() ([]byte, error) { return []byte("****"), nil }

func TestAStepHasATokenThatIsTheSameInEveryAttempt(t *testing.T) {
	store := persistence.NewMemory()
	seen := make(map[string][]string)
	note := func(ctx context.Context, where string) {
		call, ok := saga.CallFrom(ctx)
		if !ok || len(call.Token) != 32 {
			t.Errorf("%s: %+v, %t", where, call, ok)
		}
		seen[where] = append(seen[where], call.Token)
	}
	key := ""
	b := saga.NewStep(saga.Spec[string]{Name: "b", Compensate: func(ctx context.Context, _ saga.Call, _ string) error {
		note(ctx, key+" undo b")
		return errBroken
	}})
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("a"), b)})
	for _, key = range []string{"1", "1", "2"} {
		_, _ = idempotent.Do(t.Context(), guard, key, func(ctx context.Context) (string, error) {
			if _, ok := saga.CallFrom(ctx); ok {
				t.Error("a step outside of steps")
			}
			_, _ = lab.Named[string]("a").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) { note(ctx, key+" a"); return "", errBroken })
			_, _ = b.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) { note(ctx, key+" b"); return "", nil })
			return "", idempotent.Permanent(errBroken)
		})
	}
	want := map[string]int{"1 a": 1, "1 b": 1, "1 undo b": 2, "2 a": 1, "2 b": 1, "2 undo b": 1}
	tokens := make(map[string]bool)
	for where, times := range want {
		all := seen[where]
		if len(all) != times || len(slices.Compact(slices.Clone(all))) != 1 || tokens[all[0]] {
			t.Errorf("%s: tokens %q", where, all)
		}
		tokens[all[0]] = true
	}
	const golden = "a token is for ever: services keep it"
	if len(tokens) != len(want) {
		t.Error(golden)
	}
}

func TestStepsRunInParallel(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.FamilyNamed[int]("part/"))})
		var did diary
		const parts = 20
		call := func(failing int) (int, error) {
			return idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (int, error) {
				results, errs := make([]int, parts), make([]error, parts)
				var group sync.WaitGroup
				for i := range parts {
					group.Go(func() {
						results[i], errs[i] = lab.Named[int](fmt.Sprint("part/", i)).Run(ctx, func(context.Context, saga.Call) (int, error) {
							did.note("%d", i)
							if i == failing {
								return 0, errBroken
							}
							return i, nil
						})
					})
				}
				group.Wait()
				sum := 0
				for _, r := range results {
					sum += r
				}
				return sum, errors.Join(errs...)
			})
		}
		_, err := call(7)
		partial, ok := errors.AsType[*saga.PartialSuccessError](err)
		if !ok || len(partial.Done) != parts-1 || slices.Contains(partial.Done, "part/7") {
			t.Fatalf("error %v", err)
		}
		sum, err := call(-1)
		if err != nil || sum != parts*(parts-1)/2 {
			t.Fatalf("sum %d, %v", sum, err)
		}
		if len(did.entries) != parts+1 || did.entries[parts] != "7" {
			t.Errorf("done: %v", did.entries)
		}
	})
}

// A function that returns while a step is under way would leave an effect that no
// record knows of, and a lock that is gone.
func TestTheCallWaitsForStepsUnderWay(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		for name, end := range map[string]func() (string, error){
			"result":  func() (string, error) { return "", nil },
			"error":   func() (string, error) { return "", errBroken },
			"failure": func() (string, error) { return "", idempotent.Permanent(errBroken) },
			"panic":   func() (string, error) { panic(errBroken) },
		} {
			guard := lab.NewKeylessGuard(t, store, idempotent.Config{Operation: name, Steps: saga.Steps(lab.Named[string]("slow"))})
			var did diary
			func() {
				defer func() { _ = recover() }()
				_, _ = idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
					go func() {
						_, _ = lab.Named[string]("slow").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
							<-ctx.Done()
							time.Sleep(time.Second)
							did.note("slow")
							return "", nil
						})
					}()
					synctest.Wait()
					return end()
				})
			}()
			did.wants(t, "slow")
		}
	})
}

// A request that the store's fault leaves unprotected, or that comes while the guards are
// off, is still the request that it is; one without a key is like no other.
func TestUnprotectedStepsShareNoTokens(t *testing.T) {
	tokens := make(map[string]int)
	call := func(guard *idempotent.Guard, key string) {
		t.Helper()
		_, err := idempotent.Do(t.Context(), guard, key, func(ctx context.Context) (string, error) {
			return lab.Named[string]("a").Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
				step, _ := saga.CallFrom(ctx)
				tokens[step.Token]++
				return "", nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	config := idempotent.Config{Steps: saga.Steps(lab.Named[string]("a")), FailOpen: true, RunWithoutKey: true}
	call(lab.NewKeylessGuard(t, persistence.NewMemory(), config), "1")
	down := lab.NewKeylessGuard(t, lab.Down(errBroken), config)
	for _, key := range []string{"1", "2", "", ""} {
		call(down, key)
	}
	t.Setenv("IDEMPOTENCY_DISABLED", "1")
	call(down, "1")
	call(down, "1")
	times := slices.Sorted(maps.Values(tokens))
	if want := []int{1, 1, 1, 4}; !slices.Equal(times, want) {
		t.Errorf("tokens were used %v times, want %v", times, want)
	}
}

func TestUnprotectedStepsRun(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "1")
	var did diary
	a := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: func(_ context.Context, _ saga.Call, out string) error { did.note("undo %s", out); return nil }})
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(a, lab.Named[string]("b"))})
	for range 2 {
		_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
			if _, err := a.Run(ctx, func(context.Context, saga.Call) (string, error) { did.note("a"); return "A", nil }); err != nil {
				return "", err
			}
			return did.failing(ctx, "b", idempotent.Permanent(errBroken))
		})
		if !errors.Is(err, errBroken) {
			t.Errorf("error %v", err)
		}
		did.wants(t, "a", "b fails", "undo A")
	}
}
