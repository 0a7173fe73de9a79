package batch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestABatchMayBeKilledAtAnyRequest(t *testing.T) {
	const items, concurrency = 5, 2
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		for requests := range 2*items + 1 {
			for _, applied := range []bool{false, true} {
				p := newPayroll(t, items, time.Second)
				p.batch.Name = fmt.Sprintf("killed after %d requests, the last one applied: %t", requests, applied)
				p.batch.Concurrency = concurrency
				dying := &killable{left: requests, applied: applied}
				_, err := p.start(within(t, time.Minute), lab.NewKeylessGuard(t, dying.on(store), idempotent.Config{}), dying.killed)
				if dying.killed() && !errors.Is(err, batch.ErrUnfinished) && dying.finished < items {
					t.Errorf("%s: %v", p.batch.Name, err)
				}
				finished := dying.finished
				time.Sleep(2 * time.Minute) // virtual: until the leases end

				guard := lab.NewKeylessGuard(t, lab.Another{Store: store}, idempotent.Config{})
				report, err := p.start(within(t, time.Minute), guard, alive)
				if err != nil || report.Replayed != finished || report.Done != items-finished {
					t.Errorf("%s: then %+v, %v, want %d replayed", p.batch.Name, report.Progress, err, finished)
				}
				p.allPaidOnce()
				if again := p.total() - items; again > concurrency {
					t.Errorf("%s: %d items ran again", p.batch.Name, again)
				}
			}
		}
	})
}

func TestConcurrencyBeyondTheItemsRunsAllAtOnce(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		p := newPayroll(t, 3, time.Second)
		p.batch.Concurrency = math.MaxInt
		report, err := p.start(within(t, time.Minute), lab.NewKeylessGuard(t, store, idempotent.Config{}), alive)
		if err != nil || report.Done != 3 || report.Elapsed >= 2*time.Second {
			t.Errorf("%+v, %v", report.Progress, err)
		}
		p.allPaidOnce()
	})
}

func TestTwoStartsAtOnceShareTheWork(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		p := newPayroll(t, 40, 0)
		var starts sync.WaitGroup
		var reports [2]batch.Report[employee]
		var errs [2]error
		for i, pause := range []time.Duration{70 * time.Millisecond, 110 * time.Millisecond} {
			guard := lab.NewKeylessGuard(t, lab.Another{Store: store}, idempotent.Config{})
			starts.Go(func() {
				reports[i], errs[i] = batch.Each(within(t, time.Minute), guard, p.batch, p.staff, func(ctx context.Context, e employee) error {
					time.Sleep(pause) // virtual
					return p.pay(ctx, e, alive)
				})
			})
		}
		starts.Wait()
		p.allPaidOnce()
		if done := reports[0].Done + reports[1].Done; done != 40 || p.total() != 40 {
			t.Errorf("%d done, and %d runs", done, p.total())
		}
		for i, report := range reports {
			if report.Done == 0 {
				t.Errorf("start %d had no share", i)
			}
			if left := report.Held > 0; left != errors.Is(errs[i], batch.ErrUnfinished) || len(report.Left) != report.Held {
				t.Errorf("start %d: %+v, %d left, %v", i, report.Progress, len(report.Left), errs[i])
			}
		}
		report, err := p.start(within(t, time.Minute), lab.NewKeylessGuard(t, lab.Another{Store: store}, idempotent.Config{}), alive)
		if err != nil || report.Replayed != 40 {
			t.Errorf("afterwards: %+v, %v", report.Progress, err)
		}
	})
}

func TestNoItemIsStartedTooLate(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		deadline, slowest time.Duration
		takes, acquiring  time.Duration // for each item
		concurrency       int
		done              int
		lastStart         time.Duration // at the latest
	}{
		"as given":                       {deadline: 1050 * ms, slowest: 300 * ms, takes: 100 * ms, concurrency: 2, done: 14, lastStart: 645 * ms},
		"to the moment":                  {deadline: 1000 * ms, slowest: 300 * ms, takes: 100 * ms, concurrency: 1, done: 7, lastStart: 600 * ms},
		"the record comes too late":      {deadline: 1050 * ms, slowest: 300 * ms, takes: 100 * ms, acquiring: 200 * ms, concurrency: 2, done: 4, lastStart: 645 * ms},
		"more than there ever is":        {deadline: 1000 * ms, slowest: 1001 * ms, takes: 100 * ms, concurrency: 1, done: 6, lastStart: 500 * ms},
		"twice the slowest":              {deadline: 5000 * ms, takes: 800 * ms, concurrency: 1, done: 4, lastStart: 2900 * ms},
		"a second, where there is much":  {deadline: 10000 * ms, takes: 400 * ms, concurrency: 1, done: 20, lastStart: 8000 * ms},
		"twice, where there is much":     {deadline: 10000 * ms, takes: 500 * ms, concurrency: 1, done: 17, lastStart: 8000 * ms},
		"a tenth, where all are fast":    {deadline: 5000 * ms, takes: 250 * ms, concurrency: 1, done: 17, lastStart: 4000 * ms},
		"a tenth, where there is little": {deadline: 500 * ms, takes: 25 * ms, concurrency: 1, done: 17, lastStart: 400 * ms},
		"time for all":                   {deadline: time.Minute, takes: 25 * ms, concurrency: 1, done: 20, lastStart: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guard := lab.NewKeylessGuard(t, lab.Before(persistence.NewMemory(), "acquire", func() error { time.Sleep(test.acquiring); return nil }), idempotent.Config{}) // virtual
				p := newPayroll(t, 20, test.takes)
				p.batch.Concurrency, p.batch.Slowest = test.concurrency, test.slowest
				began := time.Now()
				report, err := p.start(within(t, test.deadline), guard, alive)
				if report.Done != test.done || report.Pending != 20-test.done || !slices.Equal(report.Left, p.staff[test.done:]) {
					t.Errorf("%+v, left %v, want %d done", report.Progress, report.Left, test.done)
				}
				if len(p.started) != test.done {
					t.Errorf("%d were started, %d are done", len(p.started), test.done)
				}
				for _, at := range p.started {
					if at.Sub(began) > test.lastStart {
						t.Errorf("one was started after %v", at.Sub(began))
					}
				}
				if report.Elapsed != time.Since(began) || report.Elapsed > test.deadline {
					t.Errorf("took %v", report.Elapsed)
				}
				if test.done == 20 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				unfinished, _ := errors.AsType[*batch.UnfinishedError](err)
				if unfinished == nil || !errors.Is(err, idempotent.ErrNotStarted) || unfinished.Progress != report.Progress {
					t.Fatal(err)
				}
				p.batch.Slowest = 0
				if report, err := p.start(within(t, time.Hour), guard, alive); err != nil || report.Replayed != test.done {
					t.Errorf("at once after it: %+v, %v", report.Progress, err)
				}
				p.allPaidOnce()
			})
		})
	}
}

func TestACancelledBatchWaitsForWhatIsUnderWay(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
		p := newPayroll(t, 10, 100*time.Millisecond)
		p.batch.Concurrency = 2
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(150*time.Millisecond, cancel)
		report, err := p.start(ctx, guard, alive)
		if !errors.Is(err, batch.ErrUnfinished) || !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if report.Done != 4 || report.Pending != 6 || !slices.Equal(report.Left, p.staff[4:]) {
			t.Errorf("%+v, left %v", report.Progress, report.Left)
		}
		if report, err := p.start(ctx, guard, alive); !errors.Is(err, context.Canceled) || report.Pending != 10 {
			t.Errorf("a context that is over from the start: %+v, %v", report.Progress, err)
		}
		if report, err := p.start(t.Context(), guard, alive); err != nil || report.Replayed != 4 || report.Done != 6 {
			t.Errorf("the next start: %+v, %v", report.Progress, err)
		}
		p.allPaidOnce()
	})
}

func TestProgressComesAfterEachItemAndNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
		p := newPayroll(t, 60, 0)
		var seen []batch.Progress // without a lock: one call at a time, on this goroutine
		p.batch.Progress = func(now batch.Progress) { seen = append(seen, now) }
		report, err := batch.Each(t.Context(), guard, p.batch, p.staff, func(_ context.Context, e employee) error {
			number, _ := strconv.Atoi(strings.TrimPrefix(e.Number, "e-"))
			time.Sleep(time.Duration(number*37%11) * time.Millisecond) // virtual
			return []error{nil, nil, errTryAgain, idempotent.Permanent(errTryAgain)}[number%4]
		})
		if !errors.Is(err, batch.ErrUnfinished) || len(seen) != 60 || seen[59] != report.Progress {
			t.Fatalf("%d calls, the last one %+v, and in the end %+v, %v", len(seen), seen[len(seen)-1], report.Progress, err)
		}
		before := batch.Progress{Total: 60, Pending: 60}
		for _, now := range seen {
			if now.Done < before.Done || now.Failed < before.Failed || now.Permanent < before.Permanent || now.Elapsed < before.Elapsed ||
				now.Pending != before.Pending-1 || sum(now) != 60 || now.Total != 60 {
				t.Errorf("%+v after %+v", now, before)
			}
			before = now
		}
		if report.Done != 30 || report.Failed != 15 || report.Permanent != 15 {
			t.Errorf("%+v", report.Progress)
		}
	})
}

func TestRequestsOfABatch(t *testing.T) {
	const items = 25
	for name, test := range map[string]struct {
		config         idempotent.Config
		first, restart map[string]int
	}{
		"by itself": {
			idempotent.Config{},
			map[string]int{"BatchGetItem": 1, "PutItem": items, "UpdateItem": items}, map[string]int{"BatchGetItem": 2},
		},
		"claiming at once": {
			idempotent.Config{NoLookAhead: true},
			map[string]int{"PutItem": items, "UpdateItem": items}, map[string]int{"PutItem": items},
		},
		"reading first": {
			idempotent.Config{ReadFirst: true},
			map[string]int{"BatchGetItem": 1, "PutItem": items, "UpdateItem": items}, map[string]int{"BatchGetItem": 1},
		},
		"reading first, one by one": {
			idempotent.Config{ReadFirst: true, NoLookAhead: true},
			map[string]int{"GetItem": items, "PutItem": items, "UpdateItem": items}, map[string]int{"GetItem": items},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				guard := lab.NewKeylessGuard(t, store, test.config)
				p := newPayroll(t, items, time.Millisecond)
				for _, want := range []map[string]int{test.first, test.restart} {
					db.ResetLog()
					if _, err := p.start(within(t, time.Minute), guard, alive); err != nil {
						t.Fatal(err)
					}
					if got := operations(db); !reflect.DeepEqual(got, want) {
						t.Errorf("sent %v, want %v", got, want)
					}
				}
				if records := len(db.Items(table)); records != items {
					t.Errorf("%d records", records)
				}
			})
		})
	}
}

func TestNoMoreItemsRunAtOnceThanSaid(t *testing.T) {
	for concurrency, want := range map[int]int{0: 8, 1: 1, 3: 3, 100: 30} {
		synctest.Test(t, func(t *testing.T) {
			guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
			p := newPayroll(t, 30, time.Second)
			p.batch.Concurrency = concurrency
			if _, err := p.start(t.Context(), guard, alive); err != nil || p.most != want {
				t.Errorf("concurrency %d: %d at once, want %d, %v", concurrency, p.most, want, err)
			}
		})
	}
}

func TestItemsThatFail(t *testing.T) {
	lost := errors.New("the connection was reset")
	for name, test := range map[string]struct {
		fails, fault error // of item e-1, of the store's answer to its outcome
		want         batch.Progress
		left         bool
		runs         int // of e-1, in two starts
	}{
		"for now":               {fails: errTryAgain, want: batch.Progress{Failed: 1}, left: true, runs: 2},
		"like a duplicate":      {fails: errors.Join(errTryAgain, &idempotent.InProgressError{}), want: batch.Progress{Failed: 1}, left: true, runs: 2},
		"like a late one":       {fails: errors.Join(errTryAgain, &idempotent.NotStartedError{Err: lost}), want: batch.Progress{Failed: 1}, left: true, runs: 2},
		"like one that is done": {fails: errors.Join(errTryAgain, idempotent.ErrResultNotStored), want: batch.Progress{Failed: 1}, left: true, runs: 2},
		"for good":              {fails: idempotent.Permanent(errTryAgain), want: batch.Progress{Permanent: 1}, runs: 1},
		"unrecorded":            {fails: idempotent.Permanent(errTryAgain), fault: lost, want: batch.Progress{Failed: 1}, left: true, runs: 2},
		"never":                 {want: batch.Progress{Done: 1}, runs: 1},
		"to be stored":          {fault: lost, want: batch.Progress{Failed: 1}, left: true, runs: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPayroll(t, 3, 0)
				badKey, err := idempotency.ItemKey("payment", "2026-11", "e-1")
				if err != nil {
					t.Fatal(err)
				}
				store := faulty(func(op, key string) error {
					if op == "complete" && key == badKey {
						return test.fault
					}
					return nil
				})
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
				fn := func(ctx context.Context, e employee) error {
					if e.Number != "e-1" {
						return p.pay(ctx, e, alive)
					}
					return errors.Join(p.pay(ctx, e, alive), test.fails)
				}
				test.want.Total, test.want.Done = 3, test.want.Done+2
				report, err := batch.Each(within(t, time.Minute), guard, p.batch, p.staff, fn)
				if report.Progress != test.want {
					t.Errorf("%+v, want %+v", report.Progress, test.want)
				}
				switch {
				case test.left && (!errors.Is(err, batch.ErrUnfinished) || !slices.Equal(report.Left, p.staff[1:2])):
					t.Errorf("left %v, %v", report.Left, err)
				case !test.left && (err != nil || len(report.Left) > 0):
					t.Errorf("left %v, %v", report.Left, err)
				case errors.Is(err, idempotent.ErrPermanent):
					t.Errorf("a call around the batch would be recorded as failed: %v", err)
				}
				wantErrs := []string{"e-1"}
				if test.want.Done == 3 {
					wantErrs = nil
				}
				if got := failedIDs(report); !slices.Equal(got, wantErrs) {
					t.Fatalf("errors of %v, want %v", got, wantErrs)
				}
				if test.fails != nil && !errors.Is(report.Errors[0], errTryAgain) {
					t.Error(report.Errors[0])
				}
				time.Sleep(2 * time.Minute) // virtual: until the leases end
				test.fails, test.fault = nil, nil
				again, err := batch.Each(within(t, time.Minute), guard, p.batch, p.staff, fn)
				if err != nil || again.Permanent != test.want.Permanent || len(again.Errors) != again.Permanent || p.runs["e-1"] != test.runs {
					t.Errorf("again: %+v, %v, %d runs of e-1", again.Progress, err, p.runs["e-1"])
				}
				if again.Permanent > 0 && !errors.Is(again.Errors[0], idempotent.ErrPermanent) {
					t.Error(again.Errors[0])
				}
			})
		})
	}
}

func TestAStoreThatIsDownStopsTheBatch(t *testing.T) {
	const items, concurrency = 100, 3
	fault := func(op string, retryable bool, err error) error {
		return &persistence.Fault{Op: op, Retryable: retryable, Err: err}
	}
	refused := errors.New("access denied")
	inTurn := func(op string, times int, retryable bool) func(string, string) error {
		return func(asked, _ string) error {
			if asked != op || times == 0 {
				return nil
			}
			times--
			return fault(op, retryable, refused)
		}
	}
	ofOne := func(op string, err error) func(string, string) error {
		first := ""
		return func(asked, key string) error {
			first = cmp.Or(first, key)
			if asked != op || key != first {
				return nil
			}
			return fault(op, false, err)
		}
	}
	always := -1
	for name, test := range map[string]struct {
		config  idempotent.Config
		fault   func(op, key string) error
		fails   error
		failed  int // 0 where the batch is finished
		stopped bool
	}{
		"for good":              {fault: inTurn("acquire", always, false), failed: concurrency, stopped: true},
		"for longer":            {fault: inTurn("acquire", always, true), failed: 2 * concurrency, stopped: true},
		"for a moment":          {fault: inTurn("acquire", concurrency, true), failed: concurrency},
		"when completing":       {fault: inTurn("complete", always, false), failed: concurrency, stopped: true},
		"when releasing":        {fault: inTurn("release", always, false), fails: errTryAgain, failed: concurrency, stopped: true},
		"by choice no matter":   {config: idempotent.Config{FailOpen: true}, fault: inTurn("acquire", always, false)},
		"for the function only": {fault: inTurn("none", always, false), fails: &idempotent.StoreError{Err: refused}, failed: items},
		"for a moment, often": {fault: func() func(string, string) error {
			asked := 0
			return func(op, _ string) error {
				if op != "acquire" {
					return nil
				}
				if asked++; asked%4 != 0 {
					return nil
				}
				return fault(op, true, refused)
			}
		}(), failed: items / 4},
		"by choice no matter, when completing": {config: idempotent.Config{FailOpen: true}, fault: inTurn("complete", always, false)},
		"by a record that it can't read":       {failed: 1, fault: ofOne("acquire", persistence.ErrUnreadable)},
		"by a claim that it can't serve":       {failed: 1, fault: ofOne("acquire", persistence.ErrInvalid)},
		"by a record that gets too large":      {failed: 1, fault: ofOne("complete", persistence.ErrTooLarge)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guard := lab.NewKeylessGuard(t, faulty(test.fault), test.config)
				p := newPayroll(t, items, time.Millisecond)
				p.batch.Concurrency = concurrency
				report, err := batch.Each(within(t, time.Minute), guard, p.batch, p.staff, func(ctx context.Context, e employee) error {
					return errors.Join(p.pay(ctx, e, alive), test.fails)
				})
				if report.Failed != test.failed || len(report.Left) != report.Failed+report.Pending || sum(report.Progress) != items {
					t.Errorf("%+v, want %d failed", report.Progress, test.failed)
				}
				if stopped := report.Pending > 0; stopped != test.stopped || stopped != errors.Is(err, refused) {
					t.Errorf("%+v, %v", report.Progress, err)
				}
				if (err == nil) != (test.failed == 0) {
					t.Error(err)
				}
			})
		})
	}
}

// storm is what functions panic with here.
type storm struct{}

func (storm) Error() string { return "storm" }

func TestAPanicGoesOnWhenTheOthersAreSettled(t *testing.T) {
	for name, test := range map[string]struct {
		fn       func() // of e-1
		later    func() // of e-2, while e-0 is under way still
		progress func()
		want     func(recovered any, returned bool) bool
	}{
		"a panic": {fn: func() { panic(storm{}) }, want: func(recovered any, _ bool) bool {
			panicked, _ := recovered.(*batch.ItemPanic)
			return panicked != nil && panicked.ID == "e-1" && panicked.Value == storm{} && errors.Is(panicked, storm{}) &&
				strings.Contains(panicked.Error(), "TestAPanicGoesOnWhenTheOthersAreSettled")
		}},
		"a panic of nil": {fn: func() { panic(nil) }, want: func(recovered any, _ bool) bool {
			panicked, _ := recovered.(*batch.ItemPanic)
			_, ofNil := errors.AsType[*runtime.PanicNilError](panicked)
			return ofNil
		}},
		"a panic, and then an exit": {fn: func() { panic(storm{}) }, later: runtime.Goexit, want: func(recovered any, _ bool) bool { return recovered != nil }},
		"an exit, and then a panic": {fn: runtime.Goexit, later: func() { panic(storm{}) }, want: func(recovered any, _ bool) bool { return recovered != nil }},
		"an exit":                   {fn: runtime.Goexit, want: func(recovered any, returned bool) bool { return recovered == nil && !returned }},
		"a panic of the progress callback": {
			fn: func() {}, progress: func() { panic("no terminal") },
			want: func(recovered any, _ bool) bool { return recovered == "no terminal" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
				p := newPayroll(t, 5, time.Second)
				p.batch.Concurrency = 3
				if test.progress != nil {
					p.batch.Progress = func(batch.Progress) { test.progress() }
				}
				var recovered any
				returned := false
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer func() {
						recovered = recover()
						if p.now != 0 {
							t.Errorf("%d are under way still", p.now)
						}
					}()
					_, _ = batch.Each(within(t, time.Minute), guard, p.batch, p.staff, func(ctx context.Context, e employee) error {
						if e.Number == "e-1" {
							test.fn()
						}
						if e.Number == "e-2" && test.later != nil {
							time.Sleep(time.Second / 2) // virtual
							test.later()
						}
						return p.pay(ctx, e, alive)
					})
					returned = true
				}()
				<-ended
				if !test.want(recovered, returned) {
					t.Errorf("recovered %v, returned: %t", recovered, returned)
				}
				settled := p.total()
				if settled > 3 {
					t.Errorf("%d were run", settled)
				}
				p.batch.Progress = nil
				if report, err := p.start(within(t, time.Minute), guard, alive); err != nil || report.Replayed != settled {
					t.Errorf("the next start: %+v, %v, want %d replayed", report.Progress, err, settled)
				}
				p.allPaidOnce()
			})
		})
	}
}

func TestABadBatchIsRefusedBeforeAnythingRuns(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	pay := func(context.Context, string) error { t.Error("ran"); return nil }
	self := func(id string) string { return id }
	good := batch.Batch[string]{Name: "2026-11", ID: self}
	for name, test := range map[string]struct {
		guard *idempotent.Guard
		batch batch.Batch[string]
		items []string
		fn    func(context.Context, string) error
		want  []string // the faulty fields
		says  string
	}{
		"no guard":               {nil, good, []string{"a"}, pay, []string{"Each.guard"}, "Each.guard is nil"},
		"no function":            {guard, good, []string{"a"}, nil, []string{"Each.fn"}, "Each.fn is nil"},
		"no name":                {guard, batch.Batch[string]{ID: self}, nil, pay, []string{"Batch.Name"}, "empty"},
		"a name that is no text": {guard, batch.Batch[string]{Name: "\xff", ID: self}, nil, pay, []string{"Batch.Name"}, "UTF-8"},
		"an empty ID":            {guard, good, []string{"a", ""}, pay, []string{"Batch.ID"}, "is empty for items[1]"},
		"an ID that is no text":  {guard, good, []string{"\xff"}, pay, []string{"Batch.ID"}, `is "\xff" for items[0]`},
		"an ID twice":            {guard, good, []string{"a", "b", "a"}, pay, []string{"Batch.ID"}, `is "a" for both items[0] and items[2]`},
		"all at once": {
			nil, batch.Batch[string]{Concurrency: -1, Slowest: -1}, nil, nil,
			[]string{"Each.guard", "Each.fn", "Batch.Name", "Batch.Concurrency", "Batch.Slowest", "Batch.ID"}, "no function",
		},
		"very many": {guard, good, make([]string, 1000), pay, slices.Repeat([]string{"Batch.ID"}, 11), "wrong for 990 more items"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := batch.Each(t.Context(), test.guard, test.batch, test.items, test.fn)
			if !errors.Is(err, idempotent.ErrConfig) || !slices.Equal(lab.FaultyFields(err), test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if !reflect.ValueOf(report).IsZero() {
				t.Errorf("%+v", report)
			}
		})
	}
	if report, err := batch.Each(t.Context(), guard, good, nil, pay); err != nil || report.Total != 0 {
		t.Errorf("no items at all: %+v, %v", report, err)
	}
}

func TestNoTwoItemsShareAKey(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	keys := make(map[string]string)
	for _, pair := range [][2]string{
		{"a", "bc"}, {"ab", "c"}, {`a","b`, "c"}, {"a", `b","c`}, {`a\`, `"b`}, {"a", "b c"}, {"a b", "c"},
		{"a", "<"}, {"a", `\u003c`}, {"a", "\u2028"}, {"a", `\u2028`}, {"a", "\ufffd"}, {"1", "2"}, {"12", "\x00"},
	} {
		round := batch.Batch[string]{Name: pair[0], ID: func(id string) string { return id }}
		_, err := batch.Each(t.Context(), guard, round, []string{pair[1]}, func(ctx context.Context, _ string) error {
			call, _ := idempotent.CallFrom(ctx)
			if other, known := keys[call.Key]; known {
				t.Errorf("%q has the key of %s", pair, other)
			}
			keys[call.Key] = fmt.Sprintf("%q", pair)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if len(keys) != 14 {
		t.Errorf("%d keys", len(keys))
	}
}

func TestAnItemThatHasChangedIsRefused(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Fingerprint: idempotency.MustJMESPath("salary")})
	p := newPayroll(t, 3, 0)
	if _, err := p.start(t.Context(), guard, alive); err != nil {
		t.Fatal(err)
	}
	p.staff[1].Salary++
	report, err := p.start(t.Context(), guard, alive)
	if !errors.Is(err, batch.ErrUnfinished) || report.Replayed != 2 || !slices.Equal(report.Left, p.staff[1:2]) {
		t.Errorf("%+v, %v", report, err)
	}
	if len(report.Errors) != 1 || !errors.Is(report.Errors[0], idempotent.ErrMismatch) || report.Errors[0].ID != "e-1" {
		t.Error(report.Errors)
	}
	p.allPaidOnce()

	unreadable := batch.Batch[func()]{Name: "b", ID: func(func()) string { return "no JSON" }}
	nothing := func(context.Context, func()) error { t.Error("ran"); return nil }
	unread, err := batch.Each(t.Context(), guard, unreadable, []func(){nil}, nothing)
	if !errors.Is(err, batch.ErrUnfinished) || !errors.Is(unread.Errors[0], idempotent.ErrKey) {
		t.Error(unread, err)
	}
}

func TestAnItemIsDoneWhoseResultWasNotStored(t *testing.T) {
	store, now := persistence.NewMemory(), time.Now()
	p := newPayroll(t, 1, 0)
	key, err := idempotency.ItemKey("payment", "2026-11", "e-0")
	if err != nil {
		t.Fatal(err)
	}
	record, err := store.Acquire(t.Context(), persistence.Claim{Key: key, Owner: "another start", Now: now, LeaseUntil: now.Add(time.Minute), ExpiresAt: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	outcome := persistence.Outcome{Status: persistence.StatusCompleted, ResultOmitted: true, ExpiresAt: now.Add(time.Hour)}
	if err := store.Complete(t.Context(), record.Lease(), outcome); err != nil {
		t.Fatal(err)
	}
	if report, err := p.start(t.Context(), lab.NewKeylessGuard(t, store, idempotent.Config{}), alive); err != nil || report.Replayed != 1 || p.total() != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestNoCallHasTheKeyOfAnItem(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	runs := 0
	for _, key := range []string{`["2026-11","e-0"]`, `["a","b"]`} {
		_, err := idempotent.Do(t.Context(), guard, key, func(context.Context) (int, error) { runs++; return 1, nil })
		if !errors.Is(err, idempotent.ErrKey) || !errors.Is(err, idempotency.ErrPayload) || runs != 0 {
			t.Errorf("Do with the key %s: %d runs, %v", key, runs, err)
		}
	}
}

func TestAReplayThatHadToWaitIsNoSlowItem(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		first, all := newPayroll(t, 1, 1500*time.Millisecond), newPayroll(t, 3, time.Millisecond)
		all.batch.Concurrency = 1
		other := lab.NewKeylessGuard(t, lab.Another{Store: store}, idempotent.Config{})
		var starts sync.WaitGroup
		starts.Go(func() {
			if _, err := first.start(within(t, time.Minute), other, alive); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		waiting := lab.NewKeylessGuard(t, store, idempotent.Config{Wait: time.Minute})
		report, err := all.start(within(t, 4*time.Second), waiting, alive)
		if err != nil || report.Replayed != 1 || report.Done != 2 || report.Elapsed < time.Second {
			t.Errorf("%+v, %v", report.Progress, err)
		}
		starts.Wait()
	})
}

func TestAnItemGoesOnAfterItsFinishedSteps(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		transfer, payslip := saga.NewStep(saga.Spec[saga.None]{Name: "transfer"}), saga.NewStep(saga.Spec[saga.None]{Name: "payslip"})
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(transfer, payslip)})
		p := newPayroll(t, 3, 0)
		ran := make(map[string]int)
		p.batch.Concurrency = 1 // for the map
		printerBroken := true
		fn := func(ctx context.Context, e employee) error {
			for _, step := range []*saga.Step[saga.None]{transfer, payslip} {
				err := step.Do(ctx, func(context.Context, saga.Call) error {
					if step == payslip && e.Number == "e-1" && printerBroken {
						return errTryAgain
					}
					ran[e.Number+" "+step.Name()]++
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}
		report, err := batch.Each(t.Context(), guard, p.batch, p.staff, fn)
		if !errors.Is(err, batch.ErrUnfinished) || !slices.Equal(report.Left, p.staff[1:2]) || !errors.Is(report.Errors[0], saga.ErrPartialSuccess) {
			t.Errorf("%+v, %v", report, err)
		}
		late, err := batch.Each(within(t, 0), guard, p.batch, p.staff, fn)
		if !errors.Is(err, idempotent.ErrNotStarted) || late.Pending != 3 {
			t.Errorf("%+v, %v", late, err)
		}
		printerBroken = false
		report, err = batch.Each(t.Context(), guard, p.batch, p.staff, fn)
		if err != nil || report.Done != 1 || report.Replayed != 2 {
			t.Errorf("%+v, %v", report, err)
		}
		for step, times := range ran {
			if times != 1 {
				t.Errorf("%s ran %d times", step, times)
			}
		}
		if len(ran) != 6 {
			t.Errorf("ran %v", ran)
		}
	})
}

// A guard of one request runs the function in every start; only one of them has done it.
func TestOfTwoStartsWithOneRequestOneHasDoneTheItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, _ := lab.NewDynamo(t)
		var starts sync.WaitGroup
		var done, replayed atomic.Int64
		for range 2 {
			guard := lab.NewKeylessGuard(t, lab.NewStoreOn(t, db), idempotent.Config{OnlyEnlists: true})
			p := newPayroll(t, 10, time.Second)
			starts.Go(func() {
				report, err := p.start(within(t, time.Minute), guard, alive)
				if err != nil {
					t.Error(err)
				}
				done.Add(int64(report.Done))
				replayed.Add(int64(report.Replayed))
			})
		}
		starts.Wait()
		if done.Load() != 10 || replayed.Load() != 10 {
			t.Errorf("%d done, %d replayed", done.Load(), replayed.Load())
		}
	})
}

func TestABatchHoldsNoMoreErrorsThanItMay(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	p := newPayroll(t, 500, 0)
	report, err := batch.Each(t.Context(), guard, p.batch, p.staff, func(context.Context, employee) error { return errTryAgain })
	if !errors.Is(err, batch.ErrUnfinished) || report.Failed != 500 || len(report.Left) != 500 || len(report.Errors) != 100 {
		t.Errorf("%+v, %d left, %d errors, %v", report.Progress, len(report.Left), len(report.Errors), err)
	}
	if ids := failedIDs(report); !slices.IsSortedFunc(ids, func(a, b string) int { return number(a) - number(b) }) {
		t.Error(ids)
	}
}

func TestAnObserverSeesTheItemsOfABatch(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
	p := newPayroll(t, 3, 0)
	var seen lab.EventLog
	observed := guard.Observing(seen.Observe)
	for _, want := range []idempotent.EventKind{idempotent.EventExecuted, idempotent.EventReplayed} {
		if _, err := p.start(t.Context(), observed, alive); err != nil {
			t.Fatal(err)
		}
		if kinds := seen.Kinds(); !slices.Equal(kinds, slices.Repeat([]idempotent.EventKind{want}, 3)) {
			t.Errorf("saw %q", kinds)
		}
	}
}

// Whatever happens to the starts of a batch, nobody is paid twice, nothing that a report
// calls settled runs again, and starting it often enough finishes it.
func TestABatchIsFinishedThroughRandomFailures(t *testing.T) {
	seeds := 150
	happened := make(map[string]int)
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			store := persistence.NewMemory()
			if err := finishThroughFailures(t, uint64(seed), store, happened); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		})
	}
	db, direct := newDirect(t)
	synctest.Test(t, func(t *testing.T) {
		if err := finishThroughFailures(t, 1, direct, happened); err != nil {
			t.Fatalf("on DynamoDB: %v", err)
		}
	})
	if len(db.Items(table)) == 0 {
		t.Error("DynamoDB was not asked")
	}
	for _, what := range []string{"killed", "deadline", "panic", "done", "replayed", "permanent", "failed", "held", "pending", "ran again"} {
		if happened[what] == 0 {
			t.Errorf("in %d seeds there was no %q", seeds, what)
		}
	}
	t.Log(happened)
}

// finishThroughFailures starts a batch, sometimes twice at once, until it is finished.
func finishThroughFailures(t *testing.T, seed uint64, store persistence.Store, happened map[string]int) error {
	dice := &dice{rand: rand.New(rand.NewPCG(seed, 0))}
	p := newPayroll(t, 1+dice.roll(25), 0)
	p.batch.Concurrency = 1 + dice.roll(5)
	settled := make(map[string]string) // what the first report said that knew
	for start := 0; ; start++ {
		if start == 60 {
			return errors.New("60 starts were not enough")
		}
		calm := start > 20
		process := &killable{left: -1, faults: dice}
		if calm {
			process.faults = nil
		} else if dice.oneIn(3) {
			process.left, process.applied = dice.roll(2*len(p.staff)), dice.oneIn(2)
		}
		deadline := time.Minute
		if !calm && dice.oneIn(4) {
			deadline = time.Duration(1+dice.roll(5000)) * time.Millisecond
		}
		known := make(map[string]int)
		for number := range settled {
			known[number] = p.runs[number]
		}
		var report batch.Report[employee]
		var err error
		panicked := func() (value any) {
			defer func() { value = recover() }()
			guard := lab.NewKeylessGuard(t, process.on(store), idempotent.Config{})
			report, err = batch.Each(within(t, deadline), guard, p.batch, p.staff, func(ctx context.Context, e employee) error {
				time.Sleep(time.Duration(dice.roll(900)) * time.Millisecond) // virtual
				switch {
				case number(e.Number)%7 == 6:
					p.ran(e)
					return idempotent.Permanent(errTryAgain)
				case calm:
				case dice.oneIn(8):
					return errTryAgain
				case dice.oneIn(40):
					panic(storm{})
				}
				return p.pay(ctx, e, process.killed)
			})
			return nil
		}()
		for number, runs := range known {
			if p.runs[number] != runs {
				return fmt.Errorf("start %d: %s was %s, and ran again", start, number, settled[number])
			}
		}
		switch {
		case panicked != nil:
			if p.now != 0 {
				return fmt.Errorf("start %d: %d under way after a panic", start, p.now)
			}
			happened["panic"]++
		case process.killed():
			happened["killed"]++
			fallthrough
		default:
			if err := adds(p, report, err); err != nil {
				return fmt.Errorf("start %d: %w", start, err)
			}
			if errors.Is(err, idempotent.ErrNotStarted) {
				happened["deadline"]++
			}
			for what, count := range map[string]int{
				"done": report.Done, "replayed": report.Replayed, "permanent": report.Permanent,
				"failed": report.Failed, "held": report.Held, "pending": report.Pending,
			} {
				happened[what] += count
			}
			for _, e := range p.staff {
				if !slices.Contains(report.Left, e) {
					settled[e.Number] = fmt.Sprintf("settled in start %d", start)
				}
			}
		}
		if panicked == nil && err == nil {
			break
		}
		time.Sleep(time.Duration(dice.roll(90)) * time.Second) // virtual; leases last up to a minute
	}
	for _, e := range p.staff {
		if p.runs[e.Number] > 1 {
			happened["ran again"]++
		}
		want := 1
		if number(e.Number)%7 == 6 {
			want = 0
		}
		if p.paid[e.Number] != want {
			return fmt.Errorf("%s was paid %d times", e.Number, p.paid[e.Number])
		}
	}
	return nil
}

// adds tells what does not add up in a report.
func adds(p *payroll, r batch.Report[employee], err error) error {
	switch {
	case r.Total != len(p.staff) || sum(r.Progress) != r.Total:
		return fmt.Errorf("%+v does not add up", r.Progress)
	case len(r.Left) != r.Failed+r.Held+r.Pending:
		return fmt.Errorf("%d left of %+v", len(r.Left), r.Progress)
	case (err == nil) != (len(r.Left) == 0) || err != nil && !errors.Is(err, batch.ErrUnfinished):
		return fmt.Errorf("%d left, and %w", len(r.Left), err)
	case len(r.Errors) != r.Failed+r.Permanent:
		return fmt.Errorf("%d errors of %+v", len(r.Errors), r.Progress)
	case !slices.IsSortedFunc(r.Left, func(a, b employee) int { return number(a.Number) - number(b.Number) }):
		return fmt.Errorf("left are %v", r.Left)
	default:
		return nil
	}
}

// payroll is a batch, and a bank that knows downstream keys: a key is paid once.
type payroll struct {
	t     *testing.T
	batch batch.Batch[employee]
	staff []employee
	takes time.Duration // a payment

	mu      sync.Mutex
	keys    map[string]bool
	paid    map[string]int // by employee
	runs    map[string]int // of the function, by employee
	started []time.Time
	now     int // under way
	most    int // at once
	who     map[string]bool
}

type employee struct {
	Number string `json:"number"`
	Salary int    `json:"salary"`
}

func newPayroll(t *testing.T, employees int, takes time.Duration) *payroll {
	t.Helper()
	p := &payroll{
		t: t, takes: takes,
		keys: make(map[string]bool), paid: make(map[string]int), runs: make(map[string]int), who: make(map[string]bool),
		batch: batch.Batch[employee]{Name: "2026-11", ID: func(e employee) string { return e.Number }},
	}
	for i := range employees {
		p.staff = append(p.staff, employee{Number: fmt.Sprintf("e-%d", i), Salary: 3000 + i})
	}
	return p
}

// start starts the batch in a process that is dead once killed says so.
func (p *payroll) start(ctx context.Context, guard *idempotent.Guard, killed func() bool) (batch.Report[employee], error) {
	return batch.Each(ctx, guard, p.batch, p.staff, func(ctx context.Context, e employee) error { return p.pay(ctx, e, killed) })
}

// pay takes its time, and pays unless the process has been killed by then.
func (p *payroll) pay(ctx context.Context, e employee, killed func() bool) error {
	p.ran(e)
	p.enter(e)
	defer p.leave(e)
	time.Sleep(p.takes) // virtual
	if killed() {
		return errKilled
	}
	call, _ := idempotent.CallFrom(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if call.Key == "" || !p.keys[call.Key] {
		p.keys[call.Key] = true
		p.paid[e.Number]++
	}
	return nil
}

func (p *payroll) ran(e employee) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[e.Number]++
}

func (p *payroll) enter(e employee) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.who[e.Number] {
		p.t.Errorf("%s is being paid already", e.Number)
	}
	p.who[e.Number] = true
	p.started = append(p.started, time.Now())
	p.now++
	p.most = max(p.most, p.now)
}

func (p *payroll) leave(e employee) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.who, e.Number)
	p.now--
}

func (p *payroll) allPaidOnce() {
	p.t.Helper()
	for _, e := range p.staff {
		if paid := p.paid[e.Number]; paid != 1 {
			p.t.Errorf("%s: %s was paid %d times", p.batch.Name, e.Number, paid)
		}
	}
}

// total is how often the function was run.
func (p *payroll) total() (runs int) {
	for _, n := range p.runs {
		runs += n
	}
	return runs
}

var errKilled = errors.New("killed")

func alive() bool { return false }

// killable is the store of a process that is killed at a request: nothing that it
// asks for later gets out.
type killable struct {
	applied bool  // the last request
	faults  *dice // of the network; nil for none

	mu       sync.Mutex
	left     int // requests; never killed if negative
	finished int
}

func (k *killable) on(store persistence.Store) persistence.Store {
	return lab.Around(lab.Another{Store: store}, k.request)
}

func (k *killable) killed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.left == 0
}

func (k *killable) request(op, _ string, do func() error) error {
	k.mu.Lock()
	if k.left == 0 {
		k.mu.Unlock()
		return &persistence.Fault{Op: op, Err: errKilled}
	}
	k.left--
	last := k.left == 0
	k.mu.Unlock()
	switch {
	case last && !k.applied, k.faults != nil && k.faults.oneIn(15):
		return &persistence.Fault{Op: op, Retryable: true, Err: errKilled}
	}
	err := do()
	if err == nil && op == "complete" {
		k.mu.Lock()
		k.finished++
		k.mu.Unlock()
	}
	if last || k.faults != nil && k.faults.oneIn(15) {
		return &persistence.Fault{Op: op, Retryable: true, Err: errKilled}
	}
	return err
}

// faulty is a store whose calls fail as fault says, before they are applied.
func faulty(fault func(op, key string) error) persistence.Store {
	var mu sync.Mutex
	ask := func(op, key string) error {
		mu.Lock()
		defer mu.Unlock()
		return fault(op, key)
	}
	return lab.Around(lab.Another{Store: persistence.NewMemory()}, func(op, key string, do func() error) error {
		if err := ask(op, key); err != nil {
			return err
		}
		return do()
	})
}

// dice is thrown by many goroutines.
type dice struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.IntN(n)
}

func (d *dice) oneIn(n int) bool { return d.roll(n) == 0 }

// newDirect returns an embedded DynamoDB with an idempotency table, and a store on it
// without a wire.
func newDirect(t *testing.T) (*dynamotest.DB, persistence.Store) {
	t.Helper()
	db := dynamotest.New(t)
	config := dynamostore.Config{Table: table}
	if err := dynamostore.CreateTable(t.Context(), db.Client(), config); err != nil {
		t.Fatal(err)
	}
	store, err := dynamostore.New(db.Direct(), config)
	if err != nil {
		t.Fatal(err)
	}
	return db, store
}

func sum(p batch.Progress) int {
	return p.Done + p.Replayed + p.Permanent + p.Failed + p.Held + p.Pending
}

func number(id string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "e-"))
	return n
}

func failedIDs(r batch.Report[employee]) (ids []string) {
	for _, failure := range r.Errors {
		ids = append(ids, failure.ID)
	}
	return ids
}

// operations counts the requests in the log.
func operations(db *dynamotest.DB) map[string]int {
	counts := make(map[string]int)
	for _, r := range db.Requests() {
		counts[r.Operation]++
	}
	return counts
}
