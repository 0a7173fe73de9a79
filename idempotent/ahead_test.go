package idempotent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// looking is a store that counts what is done to it, and whose looks at many records may go wrong.
type looking struct {
	*persistence.Memory
	look   func() // before it looks
	claims atomic.Int64
	asked  atomic.Int64 // for records, in all looks
}

func (l *looking) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	l.asked.Add(int64(len(keys)))
	if l.look != nil {
		l.look()
	}
	return l.Memory.ReadMany(ctx, keys)
}

func (l *looking) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	l.claims.Add(1)
	return l.Memory.Acquire(ctx, c)
}

// many are the calls of a batch of a guard.
type many struct {
	t     *testing.T
	guard *idempotent.Guard
	call  func(int) *idempotent.Guard
	ran   atomic.Int64
}

func newMany(t *testing.T, store persistence.Store, calls int, config idempotent.Config) *many {
	m := &many{t: t, guard: lab.NewKeylessGuard(t, store, config)}
	m.call = m.guard.LookingAhead(calls, m.identity)
	return m
}

func (m *many) identity(call int) idempotent.Identity { return m.guard.Identity(fmt.Sprint(call), "") }

func (m *many) do(ctx context.Context, call int) error {
	return m.call(call).DoAs(ctx, m.identity(call), func(context.Context) error {
		m.ran.Add(1)
		return nil
	})
}

func (m *many) all(ctx context.Context, calls int) {
	m.t.Helper()
	for call := range calls {
		if err := m.do(ctx, call); err != nil {
			m.t.Errorf("call %d: %v", call, err)
		}
	}
}

// A call that comes while another one looks waits for it, but no longer than it may: not beyond the
// end of its context, nor for as long as its own claim and run need.
func TestACallHeedsItsContextWhileAnotherOneLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := make(chan struct{})
		store := &looking{Memory: persistence.NewMemory(), look: func() { <-hanging }} // heeds no context
		m := newMany(t, store, 200, idempotent.Config{ReadFirst: true})
		first := make(chan error)
		go func() { first <- m.do(within(t, time.Hour), 0) }()
		synctest.Wait()

		cancelled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		began := time.Now()
		if err := m.do(cancelled, 1); !errors.Is(err, idempotent.ErrNotStarted) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("a cancelled call ended after %v with %v", time.Since(began), err)
		}
		began = time.Now()
		if err := m.do(within(t, 2*time.Second), 2); err != nil || time.Since(began) > time.Second {
			t.Errorf("a call of two seconds ended after %v with %v", time.Since(began), err)
		}
		began = time.Now()
		if err := m.do(t.Context(), 3); err != nil || time.Since(began) > m.guard.Config().StoreTimeout {
			t.Errorf("a call without a deadline ended after %v with %v", time.Since(began), err)
		}
		close(hanging)
		if err := <-first; err != nil || m.ran.Load() != 3 {
			t.Errorf("the first call ended with %v, after %d runs", err, m.ran.Load())
		}
	})
}

// What is known of a call does not wait for the look after it.
func TestWhatIsFoundDoesNotWaitForTheNextLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &looking{Memory: persistence.NewMemory()}
		newMany(t, store.Memory, 1, idempotent.Config{}).all(t.Context(), 1)
		m := newMany(t, store, 200, idempotent.Config{ReadFirst: true})
		if err := m.do(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		store.look = func() { time.Sleep(time.Second) } // virtual
		go func() { _ = m.do(t.Context(), 150) }()
		synctest.Wait()
		began := time.Now()
		if err := m.do(within(t, time.Minute), 0); err != nil || m.ran.Load() != 1 || time.Since(began) > time.Second {
			t.Errorf("%v after %v, %d runs", err, time.Since(began), m.ran.Load())
		}
		time.Sleep(time.Second) // virtual, until the look is over
	})
}

// Records that have expired are no sign of an earlier start: DynamoDB removes them days late.
func TestExpiredRecordsAreNotLookedForOnAndOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &looking{Memory: persistence.NewMemory()}
		newMany(t, store.Memory, 1, idempotent.Config{TTL: time.Hour}).all(t.Context(), 500)
		time.Sleep(2 * time.Hour) // virtual
		m := newMany(t, store, 500, idempotent.Config{TTL: time.Hour})
		m.all(t.Context(), 500)
		if asked, ran := store.asked.Load(), m.ran.Load(); asked != 16 || ran != 500 {
			t.Errorf("%d records were looked for, and %d calls ran", asked, ran)
		}
	})
}

// A look that does not return decides nothing, and is no other call's failure: each record is claimed, and
// the log says why.
func TestALookThatDoesNotReturnFailsNoCall(t *testing.T) {
	for way, ends := range map[string]func(){
		"a panic":            func() { panic("broken") },
		"an ended goroutine": runtime.Goexit,
	} {
		for policy, config := range map[string]idempotent.Config{"by itself": {}, "reading first": {ReadFirst: true}} {
			t.Run(way+", "+policy, func(t *testing.T) {
				var log bytes.Buffer
				config.Logger = slog.New(slog.NewJSONHandler(&log, nil))
				store := &looking{Memory: persistence.NewMemory()}
				newMany(t, store.Memory, 1, idempotent.Config{}).all(t.Context(), 150)
				store.look = ends
				m := newMany(t, store, 300, config)
				m.all(t.Context(), 300)
				if m.ran.Load() != 150 || store.claims.Load() < 150 {
					t.Errorf("%d ran, %d claims", m.ran.Load(), store.claims.Load())
				}
				if n := strings.Count(log.String(), `"event":"look_ahead_failed"`); n != 1 || !strings.Contains(log.String(), "ahead_test.go") && way == "a panic" {
					t.Errorf("logged %d times: %s", n, log.String())
				}
			})
		}
	}
}

// Between a look and the call that it was for, a record may expire, and it may not be the call's own: then the
// call is claimed, as one is whose record is still of a run.
func TestWhatWasFoundIsJudgedWhenItsCallComes(t *testing.T) {
	ofTenant := func(ctx context.Context, name string) context.Context {
		return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: name})
	}
	for name, test := range map[string]struct {
		died bool   // the run of the later call's record
		then func() // after the look
		as   string // the tenant of the later call
		runs int64
	}{
		"nothing has changed": {runs: 0, as: "a"},
		"it has expired":      {then: func() { time.Sleep(2 * time.Hour) }, as: "a", runs: 1}, // virtual
		"another tenant":      {as: "b", runs: 1},
		"a dead run":          {died: true, as: "a", runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &looking{Memory: persistence.NewMemory()}
				before := newMany(t, store.Memory, 1, idempotent.Config{TTL: time.Hour})
				before.all(ofTenant(t.Context(), "a"), 2)
				if test.died {
					key, err := before.identity(1).RecordKey(ofTenant(t.Context(), "a"))
					r, found, _ := store.Read(t.Context(), key)
					if err != nil || !found {
						t.Fatal(key, err)
					}
					r.Status, r.LeaseUntil = persistence.StatusProcessing, time.Now().Add(-time.Minute)
					store.Put(r)
				}
				m := newMany(t, store, 2, idempotent.Config{TTL: time.Hour, ReadFirst: true})
				if err := m.do(ofTenant(t.Context(), "a"), 0); err != nil || m.ran.Load() != 0 {
					t.Fatalf("%v, %d runs", err, m.ran.Load())
				}
				if test.then != nil {
					test.then()
				}
				if err := m.do(ofTenant(t.Context(), test.as), 1); err != nil || m.ran.Load() != test.runs {
					t.Errorf("%v, %d runs", err, m.ran.Load())
				}
			})
		})
	}
}
