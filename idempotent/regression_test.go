package idempotent_test

// What reviewers have broken; one test for each kind.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// A refusal can follow a try that was applied: its claim must be given up too.
func TestARefusalAfterALostReplyLocksNobodyOut(t *testing.T) {
	for name, first := range map[string]dynamotest.Effect{
		"reply dropped":      dynamotest.LoseReply(),
		"500 after applying": dynamotest.FailAfter(),
		"reply late":         dynamotest.DelayAfter(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				db.Inject(
					dynamotest.Fault{Operation: "PutItem", Do: first},
					dynamotest.Fault{Operation: "PutItem", Nth: 2, Do: dynamotest.Fail("ExpiredTokenException", "expired", http.StatusBadRequest)},
				)
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
				run := func(context.Context) (string, error) { return "ran", nil }
				if _, err := idempotent.Do(within(t, time.Minute), guard, "k", run); !errors.Is(err, idempotent.ErrStore) {
					t.Fatalf("got %v, want ErrStore", err)
				}
				if got, err := idempotent.Do(within(t, time.Minute), guard, "k", run); err != nil || got != "ran" {
					t.Errorf("its retry got %q, %v", got, err)
				}
			})
		})
	}
}

// An invocation that has to wait for its turn must not hold a lease meanwhile, and
// must leave when its context does.
func TestAnInvocationWaitsForItsTurnWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := persistence.NewMemory()
		end := make(chan struct{})
		var ran atomic.Int32
		handler := newTestGuard(t, memory, idempotent.Config{}).Handler(lambda.NewHandler(func(_ context.Context, o order) (string, error) {
			ran.Add(1)
			if o.ID == "a" {
				<-end
			}
			return o.ID, nil
		}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = handler.Invoke(within(t, time.Minute), []byte(`{"id":"a"}`))
		}()
		synctest.Wait()
		_, err := handler.Invoke(within(t, 50*time.Millisecond), []byte(`{"id":"b"}`))
		if !errors.Is(err, idempotent.ErrNotStarted) || len(memory.Records()) != 1 {
			t.Errorf("got %v, with %d records", err, len(memory.Records()))
		}
		close(end)
		<-done
		if ran.Load() != 1 {
			t.Errorf("ran %d times", ran.Load())
		}
	})
}

// A handler's response may be in a buffer that its next invocation writes to.
func TestAResponseIsCopiedBeforeAnythingElseHappens(t *testing.T) {
	shared := &sharedBuffer{}
	store := lab.Before(persistence.NewMemory(), "complete", func() error { copy(shared.buffer, "other"); return nil })
	handler := newTestGuard(t, store, idempotent.Config{}).Handler(shared)
	for range 2 {
		if got, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`)); err != nil || string(got) != "first" {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

// lambda.NewHandler answers in a buffer that its next invocation writes to.
func TestAResponseOfAFunctionIsItsOwn(t *testing.T) {
	meanwhile := func() {}
	store := lab.Before(persistence.NewMemory(), "complete", func() error { meanwhile(); return nil })
	handler := newTestGuard(t, store, idempotent.Config{}).Handler(func(_ context.Context, o order) (string, error) { return "for " + o.ID, nil })
	meanwhile = func() {
		meanwhile = func() {}
		if got, err := handler.Invoke(t.Context(), []byte(`{"id":"2"}`)); err != nil || string(got) != `"for 2"` {
			t.Errorf("the one in between: %s, %v", got, err)
		}
	}
	for range 2 {
		if got, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`)); err != nil || string(got) != `"for 1"` {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

type sharedBuffer struct{ buffer []byte }

func (s *sharedBuffer) Invoke(context.Context, []byte) ([]byte, error) {
	s.buffer = append(s.buffer[:0], "first"...)
	return s.buffer, nil
}

var errDown = &persistence.Fault{Op: "test", Retryable: true, Err: errors.New("down")}

// A look that fails decides nothing, whatever the policy: the claim does.
func TestAFailedReadLeavesTheDecisionToTheClaim(t *testing.T) {
	for _, policy := range []bool{false, true} {
		store := lab.Before(persistence.NewMemory(), "read", func() error { return errDown })
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{ReadFirst: true, FailOpen: policy})
		runs := 0
		for range 2 {
			got, err := idempotent.Do(t.Context(), guard, "k", func(context.Context) (int, error) { runs++; return runs, nil })
			if err != nil || got != 1 {
				t.Errorf("policy %v: got %v, %v", policy, got, err)
			}
		}
	}
}

// A duplicate that has seen a run under way never runs beside it, not even where
// the guard fails open.
func TestAWaitingDuplicateNeverFailsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		store := lab.Around(persistence.NewMemory(), func(_, _ string, do func() error) error {
			if down.Load() {
				return errDown
			}
			return do()
		})
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Wait: 10 * time.Second, FailOpen: true})
		die(t, guard, "k", time.Minute)
		time.AfterFunc(time.Second, func() { down.Store(true) })
		_, err := idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) {
			t.Error("ran beside the first run")
			return "", nil
		})
		if !errors.Is(err, idempotent.ErrStore) {
			t.Errorf("got %v, want ErrStore", err)
		}
	})
}

// Whatever panics while the record is owned, the record is settled.
func TestWhateverPanicsTheRecordIsSettled(t *testing.T) {
	observePanics := func(kind idempotent.EventKind) func(context.Context, idempotent.Event) {
		first := true
		return func(_ context.Context, e idempotent.Event) {
			if e.Kind == kind && first {
				first = false
				panic("observer")
			}
		}
	}
	tests := map[string]struct {
		config  idempotent.Config
		prepare func(*testing.T, *idempotent.Guard)
		err     error
		want    string // what the retry gets
	}{
		"error that can't be inspected": {err: (*fragile)(nil), want: "second"},
		"typed nil permanent error":     {err: (*idempotent.PermanentError)(nil), want: "second"},
		"observer of the take-over": {
			config:  idempotent.Config{Observe: observePanics(idempotent.EventTakenOver)},
			prepare: func(t *testing.T, g *idempotent.Guard) { die(t, g, "k", time.Second); time.Sleep(3 * time.Second) },
			want:    "second",
		},
		"observer of the end":     {config: idempotent.Config{Observe: observePanics(idempotent.EventExecuted)}, want: "first"},
		"observer of the release": {config: idempotent.Config{Observe: observePanics(idempotent.EventReleased)}, err: errTryAgain, want: "second"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guard := lab.NewKeylessGuard(t, persistence.NewMemory(), test.config)
				if test.prepare != nil {
					test.prepare(t, guard)
				}
				outcomeOf(func() {
					_, _ = idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) { return "first", test.err })
				})
				got, err := idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) { return "second", nil })
				if err != nil || got != test.want {
					t.Errorf("the retry got %q, %v, want %q", got, err, test.want)
				}
			})
		})
	}
}

// fragile is an error that panics when it is looked into.
type fragile struct{ cause error }

func (f *fragile) Error() string { return "fragile" }
func (f *fragile) Unwrap() error { return f.cause }

// A store that hangs takes no more than half of the time there is: the rest is for
// running, where the guard fails open, or for saying what is wrong.
func TestAHungStoreLeavesTimeToAct(t *testing.T) {
	for _, policy := range []bool{false, true} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.DelayBefore(time.Hour)})
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{FailOpen: policy})
				started := time.Now()
				got, err := idempotent.Do(within(t, 3*time.Second), guard, "k", func(context.Context) (string, error) { return "ran", nil })
				if took := time.Since(started); took >= 3*time.Second {
					t.Errorf("took %v of 3 s", took)
				}
				if open := policy; open != (err == nil && got == "ran") || !open && !errors.Is(err, idempotent.ErrStore) {
					t.Errorf("got %q, %v", got, err)
				}
			})
		})
	}
}

// A failure of any size is replayed as a failure.
func TestAHugePermanentFailureIsReplayedAsOne(t *testing.T) {
	_, store := lab.NewDynamo(t)
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
	for range 2 {
		_, err := idempotent.Do(t.Context(), guard, "k", func(context.Context) (string, error) {
			return "", idempotent.Permanent(errors.New(strings.Repeat("回\xff", 200_000)))
		})
		var permanent *idempotent.PermanentError
		if !errors.As(err, &permanent) || !strings.HasPrefix(err.Error(), "回�回") || len(err.Error()) > 5_000 {
			t.Errorf("got %.20q… (%T)", err, err)
		}
	}
}

// Methods of the pointer count, as they do for a variable in a caller's hand.
func TestResultsWithPointerMarshalersAreReplayed(t *testing.T) {
	replaysAs(t, "value", *big.NewInt(1 << 40))
	replaysAs(t, "field", struct{ Amount big.Int }{*big.NewInt(42)})
	guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{})
	mustPanic(t, "can't be stored", func() {
		idempotent.Func(guard, func(context.Context, order) (fmt.Stringer, error) { return time.Second, nil })
	})
	mustPanic(t, "nil function", func() { idempotent.Func[order, string](guard, nil) })
}

// A function that runs unprotected is not taken for part of the call around it.
func TestAnUnprotectedCallHidesTheCallAroundIt(t *testing.T) {
	outer := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Operation: "outer"})
	inner := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Operation: "inner", RunWithoutKey: true})
	_, err := idempotent.Do(t.Context(), outer, "k", func(ctx context.Context) (string, error) {
		return idempotent.Do(ctx, inner, "", func(ctx context.Context) (string, error) {
			if call, guarded := idempotent.CallFrom(ctx); guarded {
				t.Errorf("runs as part of %+v", call)
			}
			return "", nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// A stream behind an interface is found out when it comes: it is neither stored
// nor answered without its content type.
func TestAStreamBehindAnInterfaceIsRefused(t *testing.T) {
	for name, bare := range map[string]any{
		"any": func() (any, error) {
			return &events.LambdaFunctionURLStreamingResponse{StatusCode: 200, Body: strings.NewReader("hello")}, nil
		},
		"io.Reader": func() (io.Reader, error) {
			return &events.LambdaFunctionURLStreamingResponse{StatusCode: 200, Body: strings.NewReader("hello")}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			handler := newTestGuard(t, persistence.NewMemory(), idempotent.Config{}).Handler(bare)
			if got, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`)); err == nil {
				t.Errorf("answered %q", got)
			}
			if _, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`)); !errors.Is(err, idempotent.ErrResultNotStored) {
				t.Errorf("the repeat got %v", err)
			}
		})
	}
}

// Handlers with odd signatures give what they give without a guard.
func TestOddSignatures(t *testing.T) {
	for name, bare := range map[string]any{
		"variadic":            func(_ context.Context, all ...any) (any, error) { return all, nil },
		"error of its own":    func() (string, *fragile) { return "", &fragile{} },
		"error struct":        func() (string, failing) { return "", failing{} },
		"wrong number of in":  func(context.Context, order, order) (string, error) { return "", nil },
		"wrong number of out": func() (string, string, error) { return "", "", nil },
		"only a result":       func() string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			payload := []byte(`{"id":"1"}`)
			want, wantErr := lambda.NewHandler(bare).Invoke(t.Context(), payload)
			handler := newTestGuard(t, persistence.NewMemory(), idempotent.Config{}).Handler(bare)
			for range 2 {
				got, err := handler.Invoke(t.Context(), payload)
				if string(got) != string(want) || fmt.Sprintf("%T %v", err, err) != fmt.Sprintf("%T %v", wantErr, wantErr) {
					t.Errorf("got %s, %T %v, want %s, %T %v", got, err, err, want, wantErr, wantErr)
				}
			}
		})
	}
}

type failing struct{}

func (failing) Error() string { return "failing" }

// Odd stores are refused or served, but never make New panic.
func TestOddStores(t *testing.T) {
	var none *persistence.Memory
	if _, err := idempotent.New(none, idempotent.Config{Operation: "a"}); !errors.Is(err, idempotent.ErrConfig) {
		t.Errorf("typed nil: %v", err)
	}
	for range 2 {
		incomparable := lab.Another{Store: sliced{Memory: persistence.NewMemory()}}
		if _, err := idempotent.New(incomparable, idempotent.Config{Operation: "a"}); err != nil {
			t.Errorf("incomparable: %v", err)
		}
	}
}

type sliced struct {
	*persistence.Memory
	_ []int
}

// Where the deadline has passed by the wall clock, nothing starts, even if a least
// lease goes on for long.
func TestAFrozenEnvironmentDoesNotStartAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := freezing(persistence.NewMemory())
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{MinLease: 5 * time.Hour})
		_, err := idempotent.Do(wallDeadline{time.Now().Add(time.Minute)}, guard, "k", func(context.Context) (string, error) {
			t.Error("ran")
			return "", nil
		})
		if !errors.Is(err, idempotent.ErrNotStarted) {
			t.Errorf("got %v, want ErrNotStarted", err)
		}
	})
}

// wallDeadline is a context whose timer stood still while its environment was
// frozen: the deadline has passed and nobody has noticed.
type wallDeadline struct{ at time.Time }

func (w wallDeadline) Deadline() (time.Time, bool) { return w.at, true }
func (wallDeadline) Done() <-chan struct{}         { return nil }
func (wallDeadline) Err() error                    { return nil }
func (wallDeadline) Value(any) any                 { return nil }

// A hook that fails is reported like any other replay.
func TestAFailingReplayHookIsReported(t *testing.T) {
	var seen lab.EventLog
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{
		Observe:  seen.Observe,
		OnReplay: func(context.Context, idempotent.Replay) ([]byte, error) { return nil, errTryAgain },
	})
	run := func(context.Context) (string, error) { return "ran", nil }
	_, _ = idempotent.Do(t.Context(), guard, "k", run)
	if _, err := idempotent.Do(t.Context(), guard, "k", run); err != errTryAgain {
		t.Errorf("got %v, want the hook's own error", err)
	}
	if want, kinds := []idempotent.EventKind{idempotent.EventExecuted, idempotent.EventReplayed}, seen.Kinds(); !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
}

// Bytes that are not UTF-8 are replaced by encoding/json; as keys they would all
// be one. They are refused instead, and a genuine U+FFFD is not.
func TestBytesThatAreNotTextGiveNoKey(t *testing.T) {
	guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{})
	take := idempotent.Func(guard, func(_ context.Context, o order) (string, error) { return o.ID, nil })
	for id, usable := range map[string]bool{"a\xff": false, "a\xfe": false, "a�": true, `a\ufffd`: true, `a\\ufffd` + "\xff": false, "": false} {
		_, err := take(t.Context(), order{ID: id, Amount: 1})
		if usable != (err == nil) || !usable && !errors.Is(err, idempotent.ErrKey) {
			t.Errorf("%q: %v", id, err)
		}
	}
	anywhere := newTestGuard(t, persistence.NewMemory(), idempotent.Config{Key: idempotency.MustJMESPath("amount")})
	count := idempotent.Func(anywhere, func(context.Context, order) (json.RawMessage, error) { return nil, nil })
	if _, err := count(t.Context(), order{ID: "a\xff", Amount: 1}); err != nil {
		t.Errorf("outside of the key: %v", err)
	}
}

// What keeps a value out of logs writes the same for all of them: as keys they would be one
// request, and kept as an event it would be another.
func TestAnEventThatIsMaskedGivesNoKey(t *testing.T) {
	type (
		card  struct{ Number masked }
		inner struct{ Cards []*card }
		paid  struct {
			ID    string
			Price rounded `json:"-"` // JSON has none of it
		}
	)
	byNumber := idempotent.Config{Key: idempotency.MustJMESPath("Number")}
	for name, identify := range map[string]func(*idempotent.Guard) error{
		"a key":                func(g *idempotent.Guard) error { return take(t, g, card{"4111"}) },
		"a key that is found":  func(g *idempotent.Guard) error { return take(t, g, any(card{"4111"})) },
		"a key behind a map":   func(g *idempotent.Guard) error { return take(t, g, map[string]inner{"Number": {[]*card{{"4111"}}}}) },
		"text":                 func(g *idempotent.Guard) error { return take(t, g, struct{ Number maskedText }{"4111"}) },
		"a struct":             func(g *idempotent.Guard) error { return take(t, g, struct{ Number *rounded }{&rounded{5}}) },
		"text that reads back": func(g *idempotent.Guard) error { return take(t, g, struct{ Number maskedBack }{"4111"}) },
	} {
		if err := identify(newTestGuard(t, persistence.NewMemory(), byNumber)); !errors.Is(err, idempotent.ErrKey) || strings.Contains(err.Error(), "4111") {
			t.Errorf("%s: %v", name, err)
		}
	}
	compares := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Fingerprint: byNumber.Key})
	if _, err := compares.IdentifyItem("2026-11", "1", card{"4111"}).RecordKey(t.Context()); !errors.Is(err, idempotent.ErrKey) {
		t.Errorf("an item that is compared: %v", err)
	}
	byID := newTestGuard(t, persistence.NewMemory(), idempotent.Config{Key: idempotency.MustJMESPath("ID")})
	if err := take(t, byID, paid{"a", rounded{5}}); err != nil {
		t.Errorf("beside what JSON leaves out: %v", err)
	}
}

func take[In any](t *testing.T, g *idempotent.Guard, in In) error {
	t.Helper()
	_, err := idempotent.Func(g, func(context.Context, In) (bool, error) { return true, nil })(t.Context(), in)
	return err
}

// A look that hangs leaves time for the claim.
func TestAHungLookLeavesTimeForTheClaim(t *testing.T) {
	for _, policy := range []bool{false, true} {
		for _, timeout := range []time.Duration{3 * time.Second, 6 * time.Second, 30 * time.Second} {
			t.Run(fmt.Sprint(policy, timeout), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db, store := lab.NewDynamo(t)
					db.Inject(dynamotest.Fault{Operation: "GetItem", Times: dynamotest.Always, Do: dynamotest.DelayBefore(time.Hour)})
					var seen lab.EventLog
					guard := lab.NewKeylessGuard(t, store, idempotent.Config{ReadFirst: true, FailOpen: policy, Observe: seen.Observe})
					for range 2 {
						got, err := idempotent.Do(within(t, timeout), guard, "k", func(context.Context) (string, error) { return "ran", nil })
						if err != nil || got != "ran" {
							t.Errorf("got %q, %v", got, err)
						}
					}
					if want, kinds := []idempotent.EventKind{idempotent.EventExecuted, idempotent.EventReplayed}, seen.Kinds(); !slices.Equal(kinds, want) {
						t.Errorf("events %v, want %v", kinds, want)
					}
				})
			})
		}
	}
}

// A duplicate that waits answers while somebody can still hear it.
func TestWaitingLeavesTimeToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Wait: time.Minute})
		die(t, guard, "k", time.Hour)
		started := time.Now()
		_, err := idempotent.Do(within(t, 10*time.Second), guard, "k", func(context.Context) (string, error) { return "second", nil })
		if took := time.Since(started); !errors.Is(err, idempotent.ErrInProgress) || took > 6*time.Second {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// A finished effect is not run again because the store panics.
func TestAPanickingStoreDoesNotRunAFinishedEffectAgain(t *testing.T) {
	runs := 0
	count := func(context.Context, order) (string, error) { runs++; return "done", nil }
	fail := func(context.Context, order) (string, error) { runs++; return "", idempotent.Permanent(errTryAgain) }
	for name, bare := range map[string]any{"function": count, "handler": lambda.NewHandler(count), "permanent failure": fail} {
		t.Run(name, func(t *testing.T) {
			runs = 0
			panics := true
			store := lab.Before(persistence.NewMemory(), "complete", func() error {
				if panics {
					panics = false
					panic("store")
				}
				return nil
			})
			handler := newTestGuard(t, store, idempotent.Config{}).Handler(bare)
			for range 2 {
				outcomeOf(func() { _, _ = handler.Invoke(t.Context(), []byte(`{"id":"1"}`)) })
			}
			if runs != 1 {
				t.Errorf("ran %d times", runs)
			}
		})
	}
}
