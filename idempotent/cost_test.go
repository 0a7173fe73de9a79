package idempotent_test

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/dynamolocal"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// These tests hold docs/cost.md to what happens: its tables are read, and compared
// with what dynamolocal counts.

// costPath is how a call comes to take one of the page's paths.
type costPath struct {
	config idempotent.Config
	cached bool
	// fails is what the function returns instead of a result, and firstFails what it
	// returns in the other environment. Defaults to fails.
	fails, firstFails error
	// panics says that the function does.
	panics bool
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
	"ended lease with `RefuseUnknown`": {before: deadRun, config: idempotent.Config{OnEndedLease: persistence.RefuseUnknown}},
	"first run, the reply to its PutItem lost": {before: func(l *costLab) {
		l.db.Inject(dynamolocal.Fault{Operation: "PutItem", Do: dynamolocal.DropReply()})
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
	"acquiring refused by the store, with `FailOpen`": {before: refusePut, config: idempotent.Config{OnStoreFault: idempotent.FailOpen}},
	"key missing":                   {event: withoutKey},
	"key missing, `RunUnprotected`": {event: withoutKey, config: idempotent.Config{OnMissingKey: idempotent.RunUnprotected}},
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
	l.db.Inject(dynamolocal.Fault{Operation: "PutItem", Do: dynamolocal.Fail("AccessDeniedException", "not allowed", http.StatusBadRequest)})
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
	sizes := formula{"P": float64(l.processing), "n": float64(looks)}
	switch {
	case path.tooLarge:
		sizes["O"] = float64(l.finished)
	case l.finished > 0:
		sizes["F"] = float64(l.finished)
	}
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
			Result: "r", ResultEncoding: "e", Steps: "t", Attempt: "a", Version: "v",
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
					if l.processing != processing || l.finished != finished {
						t.Errorf("%d and %d bytes with a result of %d, the page says %d and %d", l.processing, l.finished, result, processing, finished)
					}
					if inOneUnit := firstRun.used.Write == 2; inOneUnit != (result <= largest) {
						t.Errorf("a result of %d bytes fits into one write unit: %v", result, inOneUnit)
					}
				})
			}
		})
	}
}

// From which share of replays on ReadFirst is cheaper, by what the paths cost.
func TestReadFirstBreaksEvenWhereTheModelSays(t *testing.T) {
	const writeUnit, readUnit = 5, 1 // the page's assumption
	page := readCostPage(t)
	for _, row := range page.table("finished record, KB") {
		number := func(column int) float64 { return page.number(row[column]) }
		costs := func(name string) (taken bill) {
			synctest.Test(t, func(t *testing.T) {
				path := costPaths[name]
				taken = newCostLab(t, dynamostore.Config{}, path, int(number(0))<<10-page.finishedSize("the defaults", 0)).bill(path)
			})
			return taken
		}
		price := func(b bill) float64 { return b.used.Write*writeUnit + b.used.Read*readUnit }
		replay, looked := costs("replay"), costs("replay with `ReadFirst`")
		dearer := price(costs("first run with `ReadFirst`")) - price(costs("first run"))
		share, err := strconv.ParseFloat(strconv.FormatFloat(100*dearer/(dearer+price(replay)-price(looked)), 'g', 2, 64), 64)
		if err != nil {
			t.Fatal(err)
		}
		if replay.used.Write != number(1) || looked.used.Read != number(2) || math.Abs(share-number(3)) > 1e-9 {
			t.Errorf("%v KB: a replay takes %v write units or %v read units, and reading first is cheaper beyond %v %%; the page says %v", number(0), replay.used.Write, looked.used.Read, share, row)
		}
	}
}
