package idempotent_test

// One test for each field report (see the project's issues for the reports) that
// concerns the engine. The others are with the packages they concern.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
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
	"github.com/ikkai-go/idempotency/persistence/cached"
)

// Report 1: a run killed by its timeout locks its retries out until the TTL; and
// with a least lease configured nobody may take over before that ends.
func TestReport01OneOfTenCallersTakesAStaleRecordOver(t *testing.T) {
	tests := map[string]struct {
		config   idempotent.Config
		age      time.Duration // of the dead run, whose timeout was 3 s
		runs     int
		inFlight int
	}{
		"the lease has just ended":   {idempotent.Config{}, 4*time.Second + time.Millisecond, 1, 9},
		"the lease has not ended":    {idempotent.Config{}, 4 * time.Second, 0, 10},
		"the least lease still runs": {idempotent.Config{MinLease: time.Hour}, 5 * time.Minute, 0, 10},
		"the least lease has ended":  {idempotent.Config{MinLease: time.Hour}, time.Hour + time.Millisecond, 1, 9},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
				guard := lab.NewKeylessGuard(t, store, test.config)
				die(t, guard, "k", 3*time.Second)
				time.Sleep(test.age) // virtual
				var runs, inProgress atomic.Int32
				release := make(chan struct{})
				var callers sync.WaitGroup
				for range 10 {
					callers.Go(func() {
						_, err := idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) {
							runs.Add(1)
							<-release
							return "", nil
						})
						if errors.Is(err, idempotent.ErrInProgress) {
							inProgress.Add(1)
						}
					})
				}
				synctest.Wait()
				if int(runs.Load()) != test.runs || int(inProgress.Load()) != test.inFlight {
					t.Errorf("%d runs and %d in progress, want %d and %d", runs.Load(), inProgress.Load(), test.runs, test.inFlight)
				}
				close(release)
				callers.Wait()
			})
		})
	}
}

// Report 3: seconds and milliseconds mixed up. The engine's half: what it asks
// of the store is whole seconds and whole milliseconds, rounded up.
func TestReport03ExpiryIsInWholeSecondsAndTheLeaseInWholeMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(250*time.Millisecond + 300*time.Microsecond) // virtual
		memory := persistence.NewMemory()
		guard := lab.NewKeylessGuard(t, memory, idempotent.Config{TTL: time.Hour})
		now := time.Now()
		_, _ = idempotent.Do(within(t, 30500*time.Millisecond), guard, "k", func(context.Context) (string, error) {
			r := memory.Records()[0]
			if want := ceil(now.Add(31500*time.Millisecond), time.Millisecond); !r.LeaseUntil.Equal(want) {
				t.Errorf("lease until %v, want %v", r.LeaseUntil, want)
			}
			if want := ceil(now.Add(time.Hour), time.Second); !r.ExpiresAt.Equal(want) {
				t.Errorf("expires at %v, want %v", r.ExpiresAt, want)
			}
			return "", nil
		})
	})
}

func ceil(t time.Time, unit time.Duration) time.Time {
	return t.Add(unit - 1).Truncate(unit)
}

// Report 6: the handler changes its event; the key was computed again.
func TestReport06AHandlerThatChangesItsEventChangesNoKey(t *testing.T) {
	type event struct {
		ID        string `json:"id"`
		Email     string `json:"email"`
		Processed bool   `json:"processed,omitempty"`
	}
	raw := []byte(`{"id":"a","email":"X@Y"}`)
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprintf("fails=%v", fails), func(t *testing.T) {
			lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
				guard := newTestGuard(t, store, idempotent.Config{
					Key:         idempotency.MustJMESPath("@"),
					Fingerprint: idempotency.MustJMESPath("email"),
				})
				runs := 0
				changing := func(_ context.Context, e *event) (map[string]any, error) {
					runs++
					e.Email, e.Processed = strings.ToLower(e.Email), true
					if fails && runs == 1 {
						return nil, errors.New("try again")
					}
					return map[string]any{"email": e.Email}, nil
				}
				wantRuns := 1
				if fails {
					wantRuns = 2
				}
				handler := guard.Handler(changing)
				for range 2 {
					_, _ = handler.Invoke(t.Context(), raw)
				}
				if runs != wantRuns {
					t.Errorf("the handler ran %d times, want %d", runs, wantRuns)
				}
				if response, err := handler.Invoke(t.Context(), raw); err != nil || string(response) != `{"email":"x@y"}` {
					t.Errorf("replay %s, %v", response, err)
				}
				// The typed function is given a pointer, and changes what it points to.
				runs = 0
				typed := idempotent.Func(newTestGuard(t, store, idempotent.Config{
					Operation: "typed",
					Key:       idempotency.MustJMESPath("@"),
				}), changing)
				for range 2 {
					_, _ = typed(t.Context(), &event{ID: "a", Email: "X@Y"})
				}
				if runs != wantRuns {
					t.Errorf("the function ran %d times, want %d", runs, wantRuns)
				}
			})
		})
	}
}

// Report 14: a result too large to store was not stored, and a retry ran again.
func TestReport14AResultTooLargeToStoreIsNotRunAgain(t *testing.T) {
	for name, body := range map[string]string{
		"ASCII":      strings.Repeat("x", 450_000),
		"multi-byte": strings.Repeat("回", 150_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, store := lab.NewDynamo(t)
			var seen lab.EventLog
			guard := newTestGuard(t, store, idempotent.Config{Observe: seen.Observe})
			runs := 0
			handler := guard.Handler(func(context.Context, order) (string, error) {
				runs++
				return body, nil
			})
			first, err := handler.Invoke(t.Context(), []byte(`{"id":"a"}`))
			if err != nil || string(first) != `"`+body+`"` {
				t.Errorf("the first caller got %d bytes, %v", len(first), err)
			}
			if kinds := seen.Kinds(); !slices.Equal(kinds, []idempotent.EventKind{idempotent.EventNotStored}) {
				t.Errorf("events %v", kinds)
			}
			_, err = handler.Invoke(t.Context(), []byte(`{"id":"a"}`))
			var notStored *idempotent.ResultNotStoredError
			if !errors.As(err, &notStored) || !errors.Is(err, idempotent.ErrResultNotStored) || runs != 1 {
				t.Errorf("the repeat got %v after %d runs", err, runs)
			}
		})
	}
}

// Report 15: the tamper check was missing on one of the ways to meet a record.
func TestReport15EveryWayToMeetARecordComparesThePayload(t *testing.T) {
	ways := map[string]func(t *testing.T) (persistence.Store, idempotent.Config){
		"condition's item": func(t *testing.T) (persistence.Store, idempotent.Config) {
			_, store := lab.NewDynamo(t)
			return store, idempotent.Config{}
		},
		"read first": func(t *testing.T) (persistence.Store, idempotent.Config) {
			_, store := lab.NewDynamo(t)
			return store, idempotent.Config{ReadFirst: true}
		},
		"no item with the condition": func(t *testing.T) (persistence.Store, idempotent.Config) {
			db, store := lab.NewDynamo(t)
			omitItems(db)
			return store, idempotent.Config{}
		},
		"cache": func(t *testing.T) (persistence.Store, idempotent.Config) {
			_, store := lab.NewDynamo(t)
			return cached.New(store, cached.Limits{}), idempotent.Config{}
		},
		"memory": func(*testing.T) (persistence.Store, idempotent.Config) {
			return persistence.NewMemory(), idempotent.Config{}
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			store, config := way(t)
			config.Fingerprint = idempotency.MustJMESPath("amount")
			guard := newTestGuard(t, store, config)
			var handler lambda.Handler
			runs := 0
			tamper := func(when string) {
				_, err := handler.Invoke(t.Context(), []byte(`{"id":"1","amount":11}`))
				var mismatch *idempotent.MismatchError
				if !errors.As(err, &mismatch) || mismatch.Record.Fingerprint == "" {
					t.Errorf("%s: got %v, want a MismatchError with the record", when, err)
				}
			}
			handler = guard.Handler(func(context.Context, order) (string, error) {
				if runs++; runs == 1 {
					tamper("while the first runs")
				}
				return "charged", nil
			})
			first, _ := handler.Invoke(t.Context(), []byte(`{"id":"1","amount":10}`))
			tamper("after the first")
			again, err := handler.Invoke(t.Context(), []byte(`{"id":"1","amount":10}`))
			if err != nil || !bytes.Equal(first, again) || runs != 1 {
				t.Errorf("the honest retry got %s, %v after %d runs", again, err, runs)
			}
		})
	}
}

func TestReport15TheCallersOwnFingerprintIsCompared(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
		pay := func(fingerprint string) (string, error) {
			return idempotent.DoAs(t.Context(), guard, guard.Identity("1", fingerprint), func(context.Context) (string, error) {
				return "paid " + fingerprint, nil
			})
		}
		for _, test := range []struct {
			fingerprint, want string
			err               error
		}{
			{"10", "paid 10", nil},
			{"11", "", idempotent.ErrMismatch},
			{"10", "paid 10", nil},
			{"", "paid 10", nil}, // there is nothing to compare
		} {
			if got, err := pay(test.fingerprint); got != test.want || !errors.Is(err, test.err) {
				t.Errorf("%q: got %q, %v, want %q, %v", test.fingerprint, got, err, test.want, test.err)
			}
		}
	})
}

// Report 18: a missing key was stored as null and shared by all.
func TestReport18AMissingKeyIsNoKey(t *testing.T) {
	for _, expression := range []string{`headers."x-id"`, `body.id`} {
		for _, payload := range []string{`{}`, `{"body":{"a":1}}`, `{"body":{"id":null},"headers":{"x-id":""}}`} {
			t.Run(expression+" "+payload, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				var seen lab.EventLog
				runs := 0
				count := func(context.Context, json.RawMessage) (int, error) { runs++; return runs, nil }
				lax := newTestGuard(t, store, idempotent.Config{
					Operation: "lax", Key: idempotency.MustJMESPath(expression),
					RunWithoutKey: true, Observe: seen.Observe,
				}).Handler(count)
				for want := 1; want <= 2; want++ {
					if _, err := lax.Invoke(t.Context(), []byte(payload)); err != nil || runs != want {
						t.Errorf("not required: %v after %d runs", err, runs)
					}
				}
				if kinds := seen.Kinds(); !slices.Equal(kinds, []idempotent.EventKind{idempotent.EventUnprotected, idempotent.EventUnprotected}) {
					t.Errorf("events %v", kinds)
				}
				strict := newTestGuard(t, store, idempotent.Config{
					Operation: "strict", Key: idempotency.MustJMESPath(expression),
				}).Handler(count)
				_, err := strict.Invoke(t.Context(), []byte(payload))
				var key *idempotent.KeyError
				if !errors.As(err, &key) || !errors.Is(err, idempotent.ErrKey) || !errors.Is(err, idempotency.ErrMissing) || runs != 2 {
					t.Errorf("required: %v after %d runs", err, runs)
				}
				if requests := db.Requests(); len(requests) != 0 {
					t.Errorf("%d requests to the store", len(requests))
				}
			})
		}
	}
}

// The kind behind report 18: what can't be understood is refused whatever the
// policy for missing keys, and a fingerprint can't be dodged by leaving it out.
func TestReport18AnUnusablePayloadIsNotAMissingKey(t *testing.T) {
	tests := map[string]string{
		"not JSON":            `{"id":`,
		"body is not JSON":    `{"id":"1","body":"not json","amount":1}`,
		"fingerprint missing": `{"id":"1","body":"{\"id\":\"1\"}"}`,
	}
	for name, payload := range tests {
		t.Run(name, func(t *testing.T) {
			guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{
				Key:           idempotency.MustJMESPath("powertools_json(body).id"),
				Fingerprint:   idempotency.MustJMESPath("amount"),
				RunWithoutKey: true,
			})
			handler := guard.Handler(func(context.Context, json.RawMessage) error {
				t.Error("ran")
				return nil
			})
			if _, err := handler.Invoke(t.Context(), []byte(payload)); !errors.Is(err, idempotent.ErrKey) {
				t.Errorf("got %v, want ErrKey", err)
			}
		})
	}
}

// Report 28: typed events gave null keys, because json tags were ignored.
func TestReport28ExpressionsSeeTheJSONOfTypedEvents(t *testing.T) {
	memory := persistence.NewMemory()
	byHeader := newTestGuard(t, memory, idempotent.Config{
		Operation: "header",
		Key:       idempotency.MustJMESPath(`headers."idempotency-key"`).Verbatim(),
	})
	api := idempotent.Func(byHeader, func(_ context.Context, r events.APIGatewayV2HTTPRequest) (string, error) { return r.Body, nil })
	if _, err := api(t.Context(), events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "h-1"}}); err != nil {
		t.Error(err)
	}
	type placed struct {
		OrderID string `json:"order_id"`
	}
	byTag := newTestGuard(t, memory, idempotent.Config{
		Operation: "tag",
		Key:       idempotency.MustJMESPath("order_id").Verbatim(),
	})
	place := idempotent.Func(byTag, func(context.Context, placed) (string, error) { return "", nil })
	if _, err := place(t.Context(), placed{OrderID: "o-1"}); err != nil {
		t.Error(err)
	}
	var keys []string
	for _, r := range memory.Records() {
		keys = append(keys, r.Key)
	}
	if want := []string{"header#=h-1", "tag#=o-1"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
}

// Report 32: two functions shared a record and answered for each other.
func TestReport32TwoOperationsNeverShareARecord(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		charge := idempotent.Func(newTestGuard(t, store, idempotent.Config{Operation: "charge"}),
			func(context.Context, order) (int, error) { return 42, nil })
		email := idempotent.Func(newTestGuard(t, store, idempotent.Config{Operation: "email"}),
			func(context.Context, order) (string, error) { return "sent", nil })
		for range 2 {
			if got, err := charge(t.Context(), order{ID: "1"}); err != nil || got != 42 {
				t.Errorf("charge: %v, %v", got, err)
			}
			if got, err := email(t.Context(), order{ID: "1"}); err != nil || got != "sent" {
				t.Errorf("email: %v, %v", got, err)
			}
		}
		_, err := idempotent.New(store, idempotent.Config{Operation: "charge"})
		if !errors.Is(err, idempotent.ErrDuplicateOperation) || !errors.Is(err, idempotent.ErrConfig) {
			t.Errorf("a second guard for the operation: %v", err)
		}
		if _, err := idempotent.New(store, idempotent.Config{}); !errors.Is(err, idempotency.ErrOperation) {
			t.Errorf("a guard without an operation: %v", err)
		}
		if _, err := idempotent.New(&lab.Another{Store: store}, idempotent.Config{Operation: "charge"}); err != nil {
			t.Errorf("another store's guard: %v", err)
		}
	})
}

// Report 37: falsy results were stored as nothing.
func TestReport37EveryResultIsReplayedByteForByte(t *testing.T) {
	type empty struct{}
	var nilMap map[string]int
	big := json.RawMessage(`{"n":9007199254740993,"d":0.10000000000000000001,"e":1e400}`)
	handlers := map[string]any{
		"0":              func() (int, error) { return 0, nil },
		"false":          func() (bool, error) { return false, nil },
		"empty string":   func() (string, error) { return "", nil },
		"empty slice":    func() ([]int, error) { return []int{}, nil },
		"nil slice":      func() ([]int, error) { return nil, nil },
		"empty map":      func() (map[string]int, error) { return map[string]int{}, nil },
		"nil pointer":    func() (*order, error) { return nil, nil },
		"nil map":        func() (map[string]int, error) { return nilMap, nil },
		"nil interface":  func() (any, error) { return nil, nil },
		"empty struct":   func() (empty, error) { return empty{}, nil },
		"raw null":       func() (json.RawMessage, error) { return json.RawMessage("null"), nil },
		"only an error":  func() error { return nil },
		"nothing at all": func() {},
		"large numbers":  func() (json.RawMessage, error) { return big, nil },
		"int64":          func() (int64, error) { return math.MaxInt64, nil },
		"uint64":         func() (uint64, error) { return math.MaxUint64, nil },
		"HTML":           func() (string, error) { return "<a href='x'>&\u2028</a>", nil },
		"raw message":    func() (json.RawMessage, error) { return json.RawMessage(`{ "b" : 1,  "a":"<é>" }`), nil },
		"not UTF-8":      func() (string, error) { return "a\xffb", nil },
		"response": func() (events.APIGatewayV2HTTPResponse, error) {
			return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: `{"a":"<"}`}, nil
		},
		"a Handler's own bytes": rawHandler("\x00\xff not JSON"),
		"a Handler's nothing":   rawHandler(""),
	}
	for name, bare := range handlers {
		t.Run(name, func(t *testing.T) {
			lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
				want, err := lambda.NewHandler(bare).Invoke(t.Context(), []byte(`{"id":"1"}`))
				if err != nil {
					t.Fatal(err)
				}
				want = bytes.Clone(want)
				replays := 0
				var seen lab.EventLog
				handler := newTestGuard(t, store, idempotent.Config{
					Observe: seen.Observe,
					OnReplay: func(_ context.Context, r idempotent.Replay) ([]byte, error) {
						replays++
						return r.Record.Result, nil
					},
				}).Handler(bare)
				for try := range 3 {
					got, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`))
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("try %d: got %q, %v, want %q", try, got, err, want)
					}
				}
				if replays != 2 {
					t.Errorf("the replay hook was called %d times, want 2", replays)
				}
				if want, kinds := []idempotent.EventKind{idempotent.EventExecuted, idempotent.EventReplayed, idempotent.EventReplayed}, seen.Kinds(); !slices.Equal(kinds, want) {
					t.Errorf("events %v, want %v", kinds, want)
				}
			})
		})
	}
}

type rawHandler string

func (h rawHandler) Invoke(context.Context, []byte) ([]byte, error) { return []byte(h), nil }

// The same for typed functions: a replayed value encodes to the same bytes.
func TestReport37TypedResultsAreReplayed(t *testing.T) {
	type nested struct {
		Raw    json.RawMessage `json:"raw"`
		Any    any             `json:"any"`
		Number json.Number     `json:"number"`
		Time   time.Time       `json:"time"`
	}
	replaysAs(t, "0", 0)
	replaysAs(t, "false", false)
	replaysAs(t, "empty string", "")
	replaysAs(t, "nil pointer", (*order)(nil))
	replaysAs(t, "pointer", &order{ID: "a"})
	replaysAs(t, "nil map", map[string]int(nil))
	replaysAs(t, "empty map", map[string]int{})
	replaysAs(t, "empty struct", struct{}{})
	replaysAs(t, "bytes", []byte{0, 255})
	replaysAs(t, "raw null", json.RawMessage("null"))
	replaysAs(t, "nil raw", json.RawMessage(nil))
	replaysAs(t, "raw", json.RawMessage(`{ "a" : "<" }`))
	replaysAs(t, "large integer in any", any(map[string]any{"n": int64(9007199254740993)}))
	replaysAs(t, "nested", nested{Raw: json.RawMessage(`[1.50]`), Any: uint64(math.MaxUint64), Number: "1e400", Time: time.Unix(1, 5).UTC()})
}

func replaysAs[Out any](t *testing.T, name string, out Out) {
	t.Run(name, func(t *testing.T) {
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
		runs := 0
		for range 2 {
			got, err := idempotent.Do(t.Context(), guard, "k", func(context.Context) (Out, error) { runs++; return out, nil })
			if err != nil {
				t.Fatal(err)
			}
			first, _ := json.Marshal(out)
			again, _ := json.Marshal(got)
			if !bytes.Equal(first, again) {
				t.Errorf("got %s, want %s", again, first)
			}
		}
		if runs != 1 {
			t.Errorf("ran %d times", runs)
		}
	})
}

// Report 39: the runtime streams readers and encodes bytes; wrappers stored {}.
func TestReport39ReadersAndBytesAreReplayedAsTheBareHandlerGivesThem(t *testing.T) {
	for name, bare := range map[string]any{
		"reader":        func() (io.Reader, error) { return strings.NewReader("hello"), nil },
		"buffer":        func() (*bytes.Buffer, error) { return bytes.NewBufferString("hello"), nil },
		"empty reader":  func() (io.Reader, error) { return strings.NewReader(""), nil },
		"bytes":         func() ([]byte, error) { return []byte("hello"), nil },
		"reader in any": func() (any, error) { return strings.NewReader("hello"), nil },
	} {
		t.Run(name, func(t *testing.T) {
			want, err := lambda.NewHandler(bare).Invoke(t.Context(), []byte(`{"id":"1"}`))
			if err != nil {
				t.Fatal(err)
			}
			handler := newTestGuard(t, persistence.NewMemory(), idempotent.Config{}).Handler(bare)
			for try := range 2 {
				if got, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`)); err != nil || !bytes.Equal(got, want) {
					t.Errorf("try %d: got %q, %v, want %q", try, got, err, want)
				}
			}
		})
	}
	t.Run("streams are refused", func(t *testing.T) {
		guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{})
		mustPanic(t, "streamed", func() {
			guard.Handler(func() (*events.LambdaFunctionURLStreamingResponse, error) { return nil, nil })
		})
		mustPanic(t, "can't be stored", func() {
			idempotent.Func(guard, func(context.Context, order) (io.Reader, error) { return nil, nil })
		})
		mustPanic(t, "no Lambda handler", func() { guard.Handler("charge") })
		mustPanic(t, "no Lambda handler", func() { guard.Handler(nil) })
	})
	t.Run("a reader hidden in a typed result is not stored as nothing", func(t *testing.T) {
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
		read := func(context.Context) (any, error) { return strings.NewReader("hello"), nil }
		if _, err := idempotent.Do(t.Context(), guard, "k", read); err != nil {
			t.Error(err)
		}
		if _, err := idempotent.Do(t.Context(), guard, "k", read); !errors.Is(err, idempotent.ErrResultNotStored) {
			t.Errorf("got %v, want ErrResultNotStored", err)
		}
	})
}

func mustPanic(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := fmt.Sprint(recover()); !strings.Contains(p, text) {
			t.Errorf("panic %q, want one with %q", p, text)
		}
	}()
	f()
}

// Report 41: wrappers swallowed panics, or left locks behind.
func TestReport41PanicsGoOnAndLeaveNoLock(t *testing.T) {
	boom := errors.New("boom")
	var nilMap map[string]int
	for name, bad := range map[string]func(){
		"an error":  func() { panic(boom) },
		"a string":  func() { panic("boom") },
		"a nil map": func() { nilMap["a"] = 1 },
		"exit":      runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
				want := outcomeOf(bad)
				runs := 0
				guard := newTestGuard(t, store, idempotent.Config{})
				handler := guard.Handler(func(context.Context, order) (string, error) {
					if runs++; runs == 1 {
						bad()
					}
					return "fine", nil
				})
				invoke := func() { _, _ = handler.Invoke(t.Context(), []byte(`{"id":"1"}`)) }
				if got := outcomeOf(invoke); fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", want, want) {
					t.Errorf("ended with %T %v, want %T %v", got, got, want, want)
				}
				if response, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`)); err != nil || string(response) != `"fine"` || runs != 2 {
					t.Errorf("the retry got %s, %v after %d runs", response, err, runs)
				}
			})
		})
	}
}

// outcomeOf is the panic value that f ends with, "exited" if it ended its
// goroutine, and nil if it returned.
func outcomeOf(f func()) (outcome any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		outcome = "exited"
		defer func() {
			if p := recover(); p != nil {
				outcome = p
			}
		}()
		f()
		outcome = nil
	}()
	<-done
	return outcome
}

// The kind behind report 41: once the function has returned, nothing may make it
// run again, not even a panic of its result's encoding.
func TestReport41APanicAfterTheEffectDoesNotRunItAgain(t *testing.T) {
	runs := 0
	count := func() (panicking, error) { runs++; return panicking{}, nil }
	handler := newTestGuard(t, persistence.NewMemory(), idempotent.Config{}).Handler(count)
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	for name, call := range map[string]func() error{
		"Handler": func() error { _, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`)); return err },
		"Do": func() error {
			_, err := idempotent.Do(t.Context(), guard, "k", func(context.Context) (panicking, error) { return count() })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			runs = 0
			if got := outcomeOf(func() { _ = call() }); got != "no JSON for you" {
				t.Errorf("ended with %v", got)
			}
			if err := call(); !errors.Is(err, idempotent.ErrResultNotStored) || runs != 1 {
				t.Errorf("the repeat got %v after %d runs", err, runs)
			}
		})
	}
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("no JSON for you") }

// Report 42: odd deadlines gave negative or absurd leases.
func TestReport42OddDeadlines(t *testing.T) {
	tests := map[string]struct {
		deadline func(now time.Time) time.Time // zero: none
		lease    time.Duration                 // 0: must not start
	}{
		"none":        {func(time.Time) time.Time { return time.Time{} }, 15 * time.Minute},
		"1970":        {func(time.Time) time.Time { return time.Unix(0, 0) }, 0},
		"now":         {func(now time.Time) time.Time { return now }, 0},
		"soon":        {func(now time.Time) time.Time { return now.Add(time.Millisecond) }, time.Millisecond + time.Second},
		"in 10 years": {func(now time.Time) time.Time { return now.AddDate(10, 0, 0) }, 24 * time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				now := time.Now()
				if deadline := test.deadline(now); !deadline.IsZero() {
					var cancel context.CancelFunc
					ctx, cancel = context.WithDeadline(ctx, deadline)
					defer cancel()
				}
				memory := persistence.NewMemory()
				guard := lab.NewKeylessGuard(t, memory, idempotent.Config{LeaseWholeRuns: true})
				ran := false
				_, err := idempotent.Do(ctx, guard, "k", func(ctx context.Context) (string, error) {
					ran = true
					lease := memory.Records()[0].LeaseUntil
					if got := lease.Sub(now); got != test.lease {
						t.Errorf("lease of %v, want %v", got, test.lease)
					}
					if deadline, ok := ctx.Deadline(); !ok || deadline.After(lease.Add(-time.Second)) {
						t.Errorf("the run may go on until %v, %v, beyond its lease", deadline, ok)
					}
					return "", nil
				})
				if test.lease > 0 {
					if err != nil || !ran {
						t.Errorf("ran: %v, %v", ran, err)
					}
					return
				}
				var notStarted *idempotent.NotStartedError
				if !errors.As(err, &notStarted) || !errors.Is(err, context.DeadlineExceeded) || ran || len(memory.Records()) > 0 {
					t.Errorf("ran: %v, %v, %d records", ran, err, len(memory.Records()))
				}
			})
		})
	}
}

// Report 44: with the store down, requests were let through.
func TestReport44WithTheStoreDownNothingRunsUnlessConfigured(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				outage.strike(db)
				runs := 0
				count := func(context.Context) (int, error) { runs++; return runs, nil }
				closed := lab.NewKeylessGuard(t, store, idempotent.Config{})
				_, err := idempotent.Do(within(t, time.Minute), closed, "k", count)
				var failed *idempotent.StoreError
				if !errors.As(err, &failed) || failed.Executed || failed.Retryable != outage.retryable || runs != 0 {
					t.Errorf("fail closed: %v (%+v) after %d runs", err, failed, runs)
				}
				db.ResetLog()
				var seen lab.EventLog
				open := lab.NewKeylessGuard(t, store, idempotent.Config{
					Operation: "open", FailOpen: true, Observe: seen.Observe,
				})
				for want := 1; want <= 2; want++ {
					if _, err := idempotent.Do(within(t, time.Minute), open, "k", count); err != nil || runs != want {
						t.Errorf("fail open: %v after %d runs, want %d", err, runs, want)
					}
				}
				for _, r := range db.Requests() {
					// The run without a record is settled where its claim was applied after all.
					if r.Operation != "PutItem" && r.Operation != "UpdateItem" && r.Operation != "GetItem" {
						t.Errorf("fail open sent a %s", r.Operation)
					}
				}
				if kinds := seen.Kinds(); !slices.Contains(kinds, idempotent.EventUnprotected) {
					t.Errorf("events %v", kinds)
				}
			})
		})
	}
}
