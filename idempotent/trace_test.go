package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// spans is a Config.Trace that keeps a book of parts: which have begun, in which other
// part, and how each has ended.
type spans struct {
	mu    sync.Mutex
	lines []string
	open  map[string]int
	ended map[string]int
	bad   []string
}

type spanKey struct{}

func (s *spans) trace(ctx context.Context, e idempotent.Event) (context.Context, func(idempotent.Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open, s.ended = make(map[string]int), make(map[string]int)
	}
	parent, _ := ctx.Value(spanKey{}).(string)
	name := strings.Join(strings.Fields(fmt.Sprint(string(e.Kind), " ", e.Step, e.Request)), " ")
	path := strings.TrimPrefix(parent+" > "+name, " > ")
	if e.Operation == "" || e.Err != nil || e.Elapsed != 0 {
		s.bad = append(s.bad, fmt.Sprintf("%s begins as %+v", name, e))
	}
	s.open[path]++
	done := false
	return context.WithValue(ctx, spanKey{}, path), func(end idempotent.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if done {
			s.bad = append(s.bad, name+" has ended twice")
		}
		if end.Elapsed < 0 || end.Kind != e.Kind || end.Key != e.Key {
			s.bad = append(s.bad, fmt.Sprintf("%s ends as %+v", name, end))
		}
		done = true
		s.ended[path]++
		s.lines = append(s.lines, path+": "+string(end.Code()))
	}
}

// check holds the book against what should have ended, in any order.
func (s *spans) check(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !maps.Equal(s.open, s.ended) {
		t.Errorf("have begun %v, have ended %v", s.open, s.ended)
	}
	for _, fault := range s.bad {
		t.Error(fault)
	}
	if got := slices.Sorted(slices.Values(s.lines)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("have ended\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(slices.Sorted(slices.Values(want)), "\n"))
	}
}

// Every part that begins has its end, whatever way is taken out of it.
func TestEveryPartThatBeginsEnds(t *testing.T) {
	key := idempotency.MustJMESPath("id")
	errDown := errors.New("down")
	type story struct {
		deny     bool // what the store asks for
		config   idempotent.Config
		disabled bool
		payload  string
		fn       func(context.Context) (int, error)
		calls    int // more than one
		want     []string
	}
	one := func(context.Context) (int, error) { return 1, nil }
	a := saga.NewStep(saga.Spec[int]{Name: "a", Compensate: func(context.Context, saga.Call, int) error { return nil }})
	step := func(err error) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			if _, failed := a.Run(ctx, func(context.Context, saga.Call) (int, error) { return 1, nil }); failed != nil {
				return 0, failed
			}
			return 1, err
		}
	}
	for name, test := range map[string]story{
		"a run": {fn: one, want: []string{
			"call > request acquire: completed", "call > run: completed", "call > request complete: completed", "call: completed"}},
		"a run and a replay": {fn: one, calls: 2, want: []string{
			"call > request acquire: completed", "call > run: completed", "call > request complete: completed", "call: completed",
			"call > request acquire: completed", "call: completed"}},
		"a look first": {fn: one, config: idempotent.Config{ReadFirst: true}, want: []string{
			"call > request read: completed",
			"call > request acquire: completed", "call > run: completed", "call > request complete: completed", "call: completed"}},
		"a failure": {fn: func(context.Context) (int, error) { return 0, errDown }, want: []string{
			"call > request acquire: completed", "call > run: function_failed", "call > request release: completed", "call: function_failed"}},
		"a failure for good": {fn: func(context.Context) (int, error) { return 0, idempotent.Permanent(errDown) }, want: []string{
			"call > request acquire: completed", "call > run: failed", "call > request complete: completed", "call: failed"}},
		"a panic": {fn: func(context.Context) (int, error) { panic("!") }, want: []string{
			"call > request acquire: completed", "call > run: function_failed", "call > request release: completed", "call: function_failed"}},
		"a goroutine that is ended": {fn: func(context.Context) (int, error) { runtime.Goexit(); return 1, nil }, want: []string{
			"call > request acquire: completed", "call > run: function_failed", "call > request release: completed", "call: function_failed"}},
		"no key":      {fn: one, payload: `{}`, want: []string{"call: key_missing"}},
		"no key, run": {fn: one, payload: `{}`, config: idempotent.Config{RunWithoutKey: true}, want: []string{"call > run: completed", "call: completed"}},
		"switched off": {fn: one, disabled: true, want: []string{
			"call > run: completed", "call: completed"}},
		"switched off, a panic": {fn: func(context.Context) (int, error) { panic("!") }, disabled: true, want: []string{
			"call > run: function_failed", "call: function_failed"}},
		"no store": {fn: one, deny: true, want: []string{
			"call > request acquire: store_failed", "call: store_failed"}},
		"no store, run": {fn: one, deny: true, config: idempotent.Config{FailOpen: true}, want: []string{
			"call > request acquire: store_failed", "call > run: completed", "call > request complete: store_failed", "call: completed"}},
		"the short form": {fn: one, config: idempotent.Config{OnlyEnlists: true}, want: []string{
			"call > run: completed", "call > request complete: completed", "call: completed"}},
		"the short form, a panic": {fn: func(context.Context) (int, error) { panic("!") }, config: idempotent.Config{OnlyEnlists: true}, want: []string{
			"call > run: function_failed", "call: function_failed"}},
		"a step": {fn: step(nil), config: idempotent.Config{Steps: saga.Steps(a)}, want: []string{
			"call > request acquire: completed",
			"call > run > step a > request checkpoint: completed", "call > run > step a: completed", "call > run: completed",
			"call > request complete: completed", "call: completed"}},
		"a step that is resumed": {fn: step(errDown), config: idempotent.Config{Steps: saga.Steps(a)}, calls: 2, want: []string{
			"call > request acquire: completed",
			"call > run > step a > request checkpoint: completed", "call > run > step a: completed", "call > run: function_failed",
			"call > request release: completed", "call: partial_success",
			"call > request acquire: completed", "call > run > step a: completed", "call > run: function_failed",
			"call > request release: completed", "call: partial_success"}},
		"a step that is undone": {fn: step(idempotent.Permanent(errDown)), config: idempotent.Config{Steps: saga.Steps(a)}, want: []string{
			"call > request acquire: completed",
			"call > run > step a > request checkpoint: completed", "call > run > step a: completed", "call > run: failed",
			"call > request checkpoint: completed",
			"call > compensation a > request checkpoint: completed", "call > compensation a: completed",
			"call > request complete: completed", "call: failed"}},
		"a panic in a step": {
			fn: func(ctx context.Context) (int, error) {
				return a.Run(ctx, func(context.Context, saga.Call) (int, error) { panic("!") })
			},
			config: idempotent.Config{Steps: saga.Steps(a)}, want: []string{
				"call > request acquire: completed",
				"call > run > step a: function_failed", "call > run: function_failed",
				"call > request release: completed", "call: function_failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.disabled {
				t.Setenv("IDEMPOTENCY_DISABLED", "1")
			}
			var book spans
			test.config.Operation, test.config.Key, test.config.Trace = "payment", key, book.trace
			test.config.Logger = slog.New(slog.DiscardHandler)
			db, store := lab.NewDynamo(t)
			if test.deny {
				db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.Deny()})
			}
			guard, err := idempotent.New(store, test.config)
			if err != nil {
				t.Fatal(err)
			}
			payload := test.payload
			if payload == "" {
				payload = `{"id":"o1"}`
			}
			handler := guard.Handler(test.fn)
			for range max(test.calls, 1) {
				relay.Run(func() { _, _ = handler.Invoke(t.Context(), []byte(payload)) })
			}
			book.check(t, test.want...)
		})
	}
}

// A renewal is a request of its own, beside the run.
func TestARenewalIsAPartOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var book spans
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Trace: book.trace})
		_, err := idempotent.Do(t.Context(), guard, "o1", func(context.Context) (int, error) {
			time.Sleep(45 * time.Second)
			return 1, nil
		})
		if err != nil {
			t.Error(err)
		}
		book.check(t, "call > request acquire: completed", "call > request renew: completed", "call > run: completed",
			"call > request complete: completed", "call: completed")
	})
}

// What a cache answers is a request too, though none that leaves the process.
func TestACacheIsAsked(t *testing.T) {
	var book spans
	store := cached.New(persistence.NewMemory(), cached.Limits{})
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Trace: book.trace, ReadFirst: true})
	for range 2 {
		if _, err := idempotent.Do(t.Context(), guard, "o1", func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Error(err)
		}
	}
	book.check(t,
		"call > request read: completed", "call > request acquire: completed", "call > run: completed", "call > request complete: completed", "call: completed",
		"call > request read: completed", "call: completed")
}

// A hook that returns nothing changes nothing.
func TestATraceMayReturnNothing(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{
		Trace: func(context.Context, idempotent.Event) (context.Context, func(idempotent.Event)) { return nil, nil },
	})
	if got, err := idempotent.Do(t.Context(), guard, "o1", func(context.Context) (int, error) { return 1, nil }); got != 1 || err != nil {
		t.Error(got, err)
	}
}

// Where nobody is told, nothing is allocated for it.
func TestPartsCostNothingWhereNobodyIsTold(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		_, end := guard.Begin(ctx, idempotent.Event{Kind: idempotent.EventBatch})
		end(nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// DynamoDB says what it charges for what it carries out.
func TestARequestTellsWhatItWasCharged(t *testing.T) {
	charged := make(map[string]float64)
	_, store := lab.NewDynamo(t)
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Trace: func(ctx context.Context, _ idempotent.Event) (context.Context, func(idempotent.Event)) {
		return ctx, func(e idempotent.Event) { charged[string(e.Kind)+" "+e.Request] += e.Units }
	}})
	for range 2 {
		if _, err := idempotent.Do(t.Context(), guard, "o1", func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Error(err)
		}
	}
	// The second acquire is refused by its condition, which is charged, and not told.
	want := map[string]float64{"request acquire": 1, "request complete": 1, "run ": 0, "call ": 0}
	if !maps.Equal(charged, want) {
		t.Errorf("charged %v, want %v", charged, want)
	}
}
