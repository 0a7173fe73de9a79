package idempotent_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// These tests hold docs/cost.md to what happens: its tables are read, and compared
// with what dynamotest counts.

// costPath is how a call comes to take one of the page's paths.
type costPath struct {
	config idempotent.Config
	cached bool
	// fails is what the function returns instead of a result, and firstFails what it
	// returns in the other environment. Defaults to fails.
	fails, firstFails error
	// panics says that the function does.
	panics bool
	// does is what the function does before it returns. Defaults to nothing.
	does func(context.Context, *costLab) error
	// together is how many checkpoints come at the same time. Defaults to one after
	// the other.
	together int
	// tooLarge makes the result one that no item holds.
	tooLarge bool
	// before is what has happened when the call is made.
	before func(*costLab)
	// event is that of the call. Defaults to costEvent.
	event string
	// call is what is counted. Defaults to an invocation with the event.
	call func(*costLab)
}

const (
	costEvent    = `{"id":"1","amount":1}`
	otherPayload = `{"id":"1","amount":2}`
	withoutKey   = `{"amount":1}`
)

var costPaths = map[string]costPath{
	"first run":                                          {},
	"first run with `ReadFirst`":                         {config: idempotent.Config{ReadFirst: true}},
	"first run over an expired record":                   {before: expiredRun},
	"first run over an expired record, with `ReadFirst`": {before: expiredRun, config: idempotent.Config{ReadFirst: true}},
	"permanent failure":                                  {fails: idempotent.Permanent(errTryAgain)},
	"handler error":                                      {fails: errTryAgain},
	"panic":                                              {panics: true},
	"result too large to store":                          {tooLarge: true},

	"replay":                                   {before: finishedRun},
	"replay with `ReadFirst`":                  {before: finishedRun, config: idempotent.Config{ReadFirst: true}},
	"replay from `Cached`":                     {before: func(l *costLab) { l.here.invoke(costEvent) }, cached: true},
	"duplicate of a permanent failure":         {before: finishedRun, fails: idempotent.Permanent(errTryAgain)},
	"duplicate of a result that was too large": {before: finishedRun, tooLarge: true},
	"duplicate of a result that was too large, with `Cached`": {
		before: func(l *costLab) { l.here.invoke(costEvent) }, tooLarge: true, cached: true,
	},

	"in progress, turned away":      {before: runUnderWay},
	"in progress, with `ReadFirst`": {before: runUnderWay, config: idempotent.Config{ReadFirst: true}},
	"in progress, `Wait` until the outcome": {
		config: idempotent.Config{Wait: 20 * time.Second},
		before: func(l *costLab) {
			runUnderWay(l)
			time.AfterFunc(3*time.Second, l.there.resume)
		},
	},
	"in progress, `Wait` until the first run fails, and run": {
		config: idempotent.Config{Wait: 20 * time.Second}, firstFails: errTryAgain,
		before: func(l *costLab) {
			runUnderWay(l)
			time.AfterFunc(3*time.Second, l.there.resume)
		},
	},
	"in progress, `Wait` in vain":                         {before: runUnderWay, config: idempotent.Config{Wait: 3 * time.Second}},
	"other payload, first run finished":                   {before: finishedRun, event: otherPayload},
	"other payload, first run finished, with `ReadFirst`": {before: finishedRun, event: otherPayload, config: idempotent.Config{ReadFirst: true}},
	"other payload, first run under way":                  {before: runUnderWay, event: otherPayload},

	"take-over":                        {before: deadRun},
	"take-over with `ReadFirst`":       {before: deadRun, config: idempotent.Config{ReadFirst: true}},
	"ended lease with `RefuseUnknown`": {before: deadRun, config: idempotent.Config{RefuseUnknown: true}},
	"first run, the reply to its PutItem lost": {before: func(l *costLab) {
		l.db.Inject(dynamotest.Fault{Operation: "PutItem", Do: dynamotest.LoseReply()})
	}},
	"the end of a run whose lease was lost to one that has finished": {
		before: func(l *costLab) {
			l.here.begin(costEvent)
			time.Sleep(leaseOver)
			l.there.invoke(costEvent)
		},
		call: func(l *costLab) { l.here.resume() },
	},

	"acquiring refused by the store":                  {before: refusePut},
	"acquiring refused by the store, with `FailOpen`": {before: refusePut, config: idempotent.Config{FailOpen: true}},
	"key missing":                  {event: withoutKey},
	"key missing, `RunWithoutKey`": {event: withoutKey, config: idempotent.Config{RunWithoutKey: true}},
	"no time left to run": {call: func(l *costLab) {
		over, cancel := context.WithDeadline(context.Background(), time.Now())
		defer cancel()
		_, _ = l.here.handler.Invoke(over, []byte(costEvent))
	}},
}

// leaseOver is longer than the lease of an invocation of the lab.
const leaseOver = 2 * invocationTimeout

func finishedRun(l *costLab) { l.there.invoke(costEvent) }

func expiredRun(l *costLab) {
	finishedRun(l)
	time.Sleep(25 * time.Hour) // virtual, as all time here
}

func runUnderWay(l *costLab) { l.there.begin(costEvent) }

func deadRun(l *costLab) {
	runUnderWay(l)
	time.Sleep(leaseOver)
}

func refusePut(l *costLab) {
	l.db.Inject(dynamotest.Fault{Operation: "PutItem", Do: dynamotest.Fail("AccessDeniedException", "not allowed", http.StatusBadRequest)})
}

// Requests and units of every path, for records around the borders of the units, also
// where the PROCESSING record alone takes several.
func TestRequestsAndCapacityOfEveryPath(t *testing.T) {
	page := readCostPage(t)
	empty := page.finishedSize("the defaults", 0)
	tables := []struct {
		config  dynamostore.Config
		results []int
	}{
		{results: []int{0, 1024 - empty, 1025 - empty, 4096 - empty, 4097 - empty, 100 << 10}},
		{config: longNames(), results: []int{0, 3000}},
		{config: longKey(), results: []int{0, 3000}},
	}
	rows := page.table("path")
	if len(rows) != len(costPaths) {
		t.Errorf("the page has %d paths, the test %d", len(rows), len(costPaths))
	}
	for _, row := range rows {
		path, known := costPaths[row[0]]
		if !known {
			t.Errorf("nothing takes the path %q", row[0])
			continue
		}
		t.Run(row[0], func(t *testing.T) {
			for _, table := range tables {
				for _, result := range table.results {
					synctest.Test(t, func(t *testing.T) {
						checkPath(newCostLab(t, table.config, path, result), path, row)
					})
				}
			}
		})
	}
}

// longNames is of a table whose PROCESSING records take several write units.
func longNames() dynamostore.Config {
	name := func(letter string) string { return strings.Repeat(letter, 250) }
	return dynamostore.Config{Attributes: dynamostore.Attributes{
		Key: name("k"), Status: name("s"), Owner: name("o"), LeaseUntil: name("l"), ExpireAt: name("x"),
		Fingerprint: name("f"), Attempt: name("a"), Version: name("v"),
	}}
}

// longKey is of one whose PROCESSING records take several read units as well.
func longKey() dynamostore.Config {
	config := longNames()
	config.Attributes.SortKey, config.PartitionValue = "sort", strings.Repeat("p", 2000)
	return config
}

// checkPath compares what a path costs with its row on the page.
func checkPath(l *costLab, path costPath, row []string) {
	t := l.t
	got := l.bill(path)
	looks := got.count("GetItem")
	sizes := formula{"A": float64(l.item), "n": float64(looks)}
	maps.Copy(sizes, l.sizes)
	if want := requestsOf(row[1], looks); !slices.Equal(got.requests, want) {
		t.Errorf("%v: sent %v, the page says %v", sizes, got.requests, want)
	}
	if want := sizes.value(t, row[2]); got.used.Write != want {
		t.Errorf("%v: took %v write units, the page says %v", sizes, got.used.Write, want)
	}
	if want := sizes.value(t, row[3]); got.used.Read != want {
		t.Errorf("%v: took %v read units, the page says %v", sizes, got.used.Read, want)
	}
}

// Sizes are those of the items, to the byte, and the sums of the attributes'.
func TestRecordsHaveTheSizeThatTheModelSays(t *testing.T) {
	page := readCostPage(t)
	for names, test := range map[string]struct {
		attributes dynamostore.Attributes
		length     func(name string) int
	}{
		"the defaults": {dynamostore.Attributes{}, func(name string) int { return len(name) }},
		"of one letter each": {dynamostore.Attributes{
			Key: "k", Status: "s", Owner: "o", LeaseUntil: "l", ExpireAt: "x", Fingerprint: "f",
			Result: "r", ResultEncoding: "e", Steps: "t", Attempt: "a", Version: "v", StartedAt: "d", Function: "u", RequestID: "i",
		}, func(string) int { return 1 }},
	} {
		t.Run(names, func(t *testing.T) {
			largest := page.largestInAUnit(names)
			for _, result := range []int{0, 1, 300, 5000, largest, largest + 1} {
				processing, finished := page.processingSize(names), page.finishedSize(names, result)
				if p, f := page.sums(test.length, result); p != processing || f != finished {
					t.Errorf("%d and %d bytes with a result of %d, but the attributes have %d and %d", processing, finished, result, p, f)
				}
				synctest.Test(t, func(t *testing.T) {
					l := newCostLab(t, dynamostore.Config{Attributes: test.attributes}, costPath{}, result)
					firstRun := l.bill(costPath{})
					if p, f := l.sizes["P"], l.sizes["F"]; p != float64(processing) || f != float64(finished) {
						t.Errorf("%v and %v bytes with a result of %d, the page says %d and %d", p, f, result, processing, finished)
					}
					if inOneUnit := firstRun.used.Write == 2; inOneUnit != (result <= largest) {
						t.Errorf("a result of %d bytes fits into one write unit: %v", result, inOneUnit)
					}
				})
			}
		})
	}
}

// Records of other shapes have their size too.
func TestOtherRecordsHaveTheSizeThatTheModelSays(t *testing.T) {
	page := readCostPage(t)
	shapes := map[string]struct {
		config  dynamostore.Config
		change  func(*persistence.Claim)
		steps   map[string]string
		outcome func(*persistence.Outcome)
		sizes   formula
	}{
		"without a fingerprint": {change: func(c *persistence.Claim) { c.Fingerprint = "" }},
		"with a sort key": {
			config: dynamostore.Config{PartitionValue: "payments", Attributes: dynamostore.Attributes{SortKey: "sort"}},
			sizes:  formula{"k": float64(len("sort") + len("payments"))},
		},
		"without its result, which was too large": {outcome: func(o *persistence.Outcome) { o.ResultOmitted = true }},
		"with its result compressed":              {config: dynamostore.Config{Compress: true}},
		"with steps": {
			steps: map[string]string{"reserve": "r-1", "charge": "c-22"},
			sizes: formula{"s": float64(len("reserve") + len("r-1") + 1 + len("charge") + len("c-22") + 1)},
		},
	}
	rows := page.table("record")
	if len(rows) != len(shapes) {
		t.Errorf("the page has %d records, the test %d", len(rows), len(shapes))
	}
	for _, row := range rows {
		t.Run(row[0], func(t *testing.T) {
			shape, known := shapes[row[0]]
			if !known {
				t.Fatal("nothing has this shape")
			}
			r := newCostRecord(t, shape.config)
			if shape.change != nil {
				shape.change(&r.claim)
			}
			outcome := persistence.Outcome{Status: persistence.StatusCompleted, Result: bytes.Repeat([]byte("paid"), 1000), ExpiresAt: r.claim.ExpiresAt}
			if shape.outcome != nil {
				shape.outcome(&outcome)
			}
			sizes := formula{"n": 0}
			maps.Copy(sizes, shape.sizes)
			finished, stored := r.finish(shape.steps, outcome)
			sizes["n"] = float64(stored)
			if want := int(sizes.value(t, row[1])); finished != want {
				t.Errorf("%d bytes, the page says %d", finished, want)
			}
		})
	}
}

// What compressing saves, for a result that shrinks to almost nothing.
func TestCompressionSavesWhatTheModelSays(t *testing.T) {
	page := readCostPage(t)
	for _, row := range page.table("with `Compress`") {
		path, known := costPaths[row[0]]
		if !known {
			t.Errorf("nothing takes the path %q", row[0])
			continue
		}
		costs := func(config dynamostore.Config) (taken bill, finished float64) {
			synctest.Test(t, func(t *testing.T) {
				l := newCostLab(t, config, path, 20<<10)
				taken, finished = l.bill(path), l.sizes["F"]
			})
			return taken, finished
		}
		plain, large := costs(dynamostore.Config{})
		compressed, small := costs(dynamostore.Config{Compress: true})
		sizes := formula{"F": large, "C": small}
		if saved, want := plain.used.Write-compressed.used.Write, sizes.value(t, row[1]); saved != want {
			t.Errorf("%s: saves %v write units, the page says %v", row[0], saved, want)
		}
		if saved, want := plain.used.Read-compressed.used.Read, sizes.value(t, row[2]); saved != want {
			t.Errorf("%s: saves %v read units, the page says %v", row[0], saved, want)
		}
	}
}

// How often a duplicate looks while it waits in vain.
func TestAWaitLooksAsOftenAsTheModelSays(t *testing.T) {
	const waits = 200
	for _, row := range readCostPage(t).table("wait in vain, seconds") {
		number := func(column int) float64 { return readCostPage(t).number(row[column]) }
		synctest.Test(t, func(t *testing.T) {
			store := &countingReader{Memory: persistence.NewMemory()}
			guard := lab.NewKeylessGuard(t, store, idempotent.Config{Lease: 10 * time.Hour, Wait: time.Duration(number(0)) * time.Second})
			running := make(chan struct{})
			go func() {
				_, _ = idempotent.Do(context.Background(), guard, "k", func(context.Context) (string, error) { <-running; return "", nil })
			}()
			synctest.Wait()
			all := 0
			for range waits {
				store.looks = 0
				if _, err := idempotent.Do(t.Context(), guard, "k", func(context.Context) (string, error) { return "", nil }); !errors.Is(err, idempotent.ErrInProgress) {
					t.Fatal(err)
				}
				if looks := float64(store.looks); looks < number(2) || looks > number(3) {
					t.Errorf("%v looks in %v s, the page says %v to %v", looks, number(0), number(2), number(3))
				}
				all += store.looks
			}
			if average := float64(all) / waits; math.Abs(average-number(1)) > 0.5 {
				t.Errorf("%v looks in %v s on average, the page says %v", average, number(0), number(1))
			}
			close(running)
		})
	}
}

// countingReader counts its reads.
type countingReader struct {
	*persistence.Memory
	looks int
}

func (c *countingReader) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	c.looks++
	return c.Memory.Read(ctx, key)
}

// Figures between the tables follow from the tables, or from what the paths cost.
func TestTheProseHasTheFiguresOfTheModel(t *testing.T) {
	page := readCostPage(t)
	saved := page.finishedSize("the defaults", 0) - page.finishedSize("of one letter each", 0)
	page.says("Names of one letter save %d bytes of a finished record.", saved)
	page.says("no more than %d bytes over a whole KB", saved)
	page.says("between %d and %d bytes", page.largestInAUnit("the defaults")+1, page.largestInAUnit("of one letter each"))

	const size, readUnit = 900, 1.0 / writeUnit
	price := func(name string) float64 {
		b := costOf(t, costPaths[name], size)
		return b.used.Write + b.used.Read*readUnit
	}
	without := func(replays float64) float64 { return (1-replays)*price("first run") + replays*price("replay") }
	with := func(replays float64) float64 {
		return (1-replays)*price("first run with `ReadFirst`") + replays*price("replay with `ReadFirst`")
	}
	page.says("a record of %d bytes, 2 %% replays", size)
	page.says("= %.2f *p*. With it", without(0.02))
	page.says("= %.2f *p*, %.0f %% more", with(0.02), 100*(with(0.02)/without(0.02)-1))
	page.says("With 30 %% replays it is %.2f *p* without, and %.2f *p* with it, %.0f %% less", without(0.3), with(0.3), 100*(1-with(0.3)/without(0.3)))
}

// writeUnit is what a write unit costs, in read units: the page's assumption.
const writeUnit = 5

// costOf is the bill of a path where the finished record has that size.
func costOf(t *testing.T, path costPath, finished int) (taken bill) {
	t.Helper()
	result := finished - readCostPage(t).finishedSize("the defaults", 0)
	synctest.Test(t, func(t *testing.T) {
		taken = newCostLab(t, dynamostore.Config{}, path, result).bill(path)
	})
	return taken
}

// From which share of replays on ReadFirst is cheaper, by what the paths cost and by the
// page's formula.
func TestReadFirstBreaksEvenWhereTheModelSays(t *testing.T) {
	page := readCostPage(t)
	page.says("The table assumes *w* = %d", writeUnit)
	for _, row := range page.table("finished record, KB") {
		number := func(column int) float64 { return page.number(row[column]) }
		size := int(number(0)) << 10
		price := func(name string) float64 {
			b := costOf(t, costPaths[name], size)
			return b.used.Write*writeUnit + b.used.Read
		}
		dearer := price("first run with `ReadFirst`") - price("first run")
		cheaper := price("replay") - price("replay with `ReadFirst`")
		share := dearer / (dearer + cheaper)
		if byFormula := (formula{"w": writeUnit, "F": float64(size)}).value(t, page.breakEven()); math.Abs(share-byFormula) > 1e-9 {
			t.Errorf("%v KB: reading first is cheaper beyond a share of %v, by the page's formula of %v", number(0), share, byFormula)
		}
		replay, looked := costOf(t, costPaths["replay"], size).used.Write, costOf(t, costPaths["replay with `ReadFirst`"], size).used.Read
		if rounded := page.number(strconv.FormatFloat(100*share, 'g', 2, 64)); replay != number(1) || looked != number(2) || rounded != number(3) {
			t.Errorf("%v KB: a replay takes %v write units or %v read units, and reading first is cheaper beyond %v %%; the page says %v", number(0), replay, looked, rounded, row)
		}
	}
}
