package records_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

var now = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

func claim(key, owner string, at time.Time) persistence.Claim {
	return persistence.Claim{
		Key: key, Owner: owner, Now: at, LeaseUntil: at.Add(time.Minute), ExpiresAt: at.Add(24 * time.Hour),
		Run: persistence.Run{StartedAt: at, Function: "payment:7", RequestID: "request of " + owner},
	}
}

// stores are the stores whose records can be listed, each with a new table.
var stores = map[string]func(t *testing.T) persistence.Store{
	"memory":   func(*testing.T) persistence.Store { return persistence.NewMemory() },
	"dynamodb": func(t *testing.T) persistence.Store { return table(t, dynamostore.Config{}) },
	"dynamodb with a sort key": func(t *testing.T) persistence.Store {
		return table(t, dynamostore.Config{Attributes: dynamostore.Attributes{Key: "pk", SortKey: "sk"}, PartitionValue: "app"})
	},
}

func table(t *testing.T, config dynamostore.Config) persistence.Store {
	t.Helper()
	_, store := embedded.Store(t, config)
	return store
}

func newDesk(t *testing.T, store persistence.Store, config records.Config) *records.Desk {
	t.Helper()
	if config.Now == nil {
		config.Now = func() time.Time { return now }
	}
	desk, err := records.New(store, config)
	if err != nil {
		t.Fatal(err)
	}
	return desk
}

func TestAListHasEachRecordOnce(t *testing.T) {
	for name, newStore := range stores {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			var want []string
			for n := range 50 {
				c := claim(fmt.Sprintf("payment#%02d", n), "o", now.Add(-time.Hour))
				if _, err := store.Acquire(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				want = append(want, c.Key)
			}
			for _, filter := range []records.Filter{{}, {PageSize: 7}, {Segments: 4, PageSize: 3}, {Operation: "payment", States: []records.State{records.StateDied}}} {
				var keys []string
				for record, err := range newDesk(t, store, records.Config{}).List(t.Context(), filter) {
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, record.Key)
				}
				slices.Sort(keys)
				if !slices.Equal(keys, want) {
					t.Errorf("%+v lists %q", filter, keys)
				}
			}
		})
	}
}

// many fills a store with records of a kilobyte each.
func many(t *testing.T, store persistence.Store, n int) {
	t.Helper()
	for i := range n {
		r, err := store.Acquire(t.Context(), claim(fmt.Sprintf("payment#%04d", i), "o", now.Add(-time.Hour)))
		if err == nil {
			err = store.Complete(t.Context(), r.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, Result: make([]byte, 3<<10), ExpiresAt: now.Add(time.Hour)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAListEndsAtItsLimitOfUnits, and says how far it has come.
func TestAListEndsAtItsLimitOfUnits(t *testing.T) {
	store := stores["dynamodb"](t)
	many(t, store, 40) // 3.3 KB each: about half a unit for each
	seen := 0
	var limit *records.LimitError
	var told records.Progress
	for _, err := range newDesk(t, store, records.Config{}).List(t.Context(), records.Filter{
		PageSize: 5, MaxUnits: 6, Progress: func(p records.Progress) { told = p },
	}) {
		if err != nil {
			if !errors.As(err, &limit) {
				t.Fatal(err)
			}
			break
		}
		seen++
	}
	if limit == nil || limit.Progress != told || told.Seen != seen || seen < 10 || seen >= 40 || told.Units < 6 || told.Units > 9 {
		t.Errorf("%d were seen, and it has ended with %v; told was %+v", seen, limit, told)
	}
}

// TestAListTakesNoMoreUnitsASecondThanItMay takes the time that it needs.
func TestAListTakesNoMoreUnitsASecondThanItMay(t *testing.T) {
	for _, segments := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			store := stores["dynamodb"](t)
			many(t, store, 40)
			begun := time.Now()
			var told records.Progress
			for _, err := range newDesk(t, store, records.Config{}).List(t.Context(), records.Filter{
				PageSize: 2, Segments: segments, UnitsPerSecond: 2, Progress: func(p records.Progress) { told = p },
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			// Each segment pauses after each page but its last.
			if took, least := time.Since(begun).Seconds(), told.Units/2-2.5; told.Seen != 40 || took < least {
				t.Errorf("%d segments: %+v in %v s, at least %v", segments, told, took, least)
			}
		})
	}
}

// TestBreakingOffEndsTheReading leaves nothing behind: the bubble would not end.
func TestBreakingOffEndsTheReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := stores["dynamodb"](t)
		many(t, store, 40)
		for _, err := range newDesk(t, store, records.Config{}).List(t.Context(), records.Filter{PageSize: 2, Segments: 8, UnitsPerSecond: 0.001}) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	})
}

// TestPagesGoOnWhereTheLastOneEnded, by a cursor that a web page can hand on.
func TestPagesGoOnWhereTheLastOneEnded(t *testing.T) {
	for name, newStore := range stores {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			many(t, store, 10)
			desk := newDesk(t, store, records.Config{})
			seen := make(map[string]bool)
			for cursor, pages := "", 1; ; pages++ {
				page, err := desk.Page(t.Context(), records.Filter{PageSize: 4}, cursor)
				if err != nil || len(page.Records) > 4 || pages > 4 {
					t.Fatalf("page %d has %d records (%v)", pages, len(page.Records), err)
				}
				for _, r := range page.Records {
					if seen[r.Key] || r.Result != nil {
						t.Errorf("%+v is shown again, or with its result", r)
					}
					seen[r.Key] = true
				}
				if cursor = page.Cursor; cursor == "" {
					break
				}
			}
			if len(seen) != 10 {
				t.Errorf("%d records were shown", len(seen))
			}
		})
	}
}

// TestAFilterLetsThroughWhatItSays has a record of each kind.
func TestAFilterLetsThroughWhatItSays(t *testing.T) {
	for name, newStore := range stores {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			begin := func(key string, at time.Time) persistence.Record { return acquire(t, store, claim(key, "o-"+key, at)) }
			end := func(r persistence.Record, status persistence.Status, until time.Time) {
				if err := store.Complete(t.Context(), r.Lease(), persistence.Outcome{Status: status, Result: []byte("1"), ExpiresAt: until}); err != nil {
					t.Fatal(err)
				}
			}
			begin("payment#running", now)
			begin("payment#died", now.Add(-time.Hour))
			end(begin("payment#completed", now.Add(-time.Hour)), persistence.StatusCompleted, now.Add(time.Hour))
			end(begin("order#failed", now.Add(-2*time.Hour)), persistence.StatusFailed, now.Add(time.Hour))
			end(begin("order#expired", now.Add(-3*time.Hour)), persistence.StatusCompleted, now.Add(-time.Hour))
			for key, age := range map[string]time.Duration{"payment#@blue#partial": time.Hour, "payment#@blue#fresh": 5 * time.Minute} {
				r := begin(key, now.Add(-age))
				if err := store.(persistence.Checkpointer).Checkpoint(t.Context(), r.Lease(), "reserve", []byte(`{"order":1}`)); err != nil {
					t.Fatal(err)
				}
				r.Steps = map[string][]byte{"reserve": nil}
				if err := store.Release(t.Context(), r.Lease()); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range []struct {
				filter records.Filter
				want   []string
			}{
				{records.Filter{Operation: "order"}, []string{"order#expired", "order#failed"}},
				{records.Filter{Operation: "pay"}, nil},
				{records.Filter{Operation: "payment", Tenant: "blue"}, []string{"payment#@blue#fresh", "payment#@blue#partial"}},
				{records.Filter{Stuck: true}, []string{"payment#@blue#partial", "payment#died"}},
				{records.Filter{Reason: records.StuckPartial}, []string{"payment#@blue#partial"}},
				{records.Filter{States: []records.State{records.StateRunning}}, []string{"payment#running"}},
				{records.Filter{States: []records.State{records.StateExpired}}, []string{"order#expired"}},
				{records.Filter{States: []records.State{records.StateFailed, records.StateCompleted}}, []string{"order#failed", "payment#completed"}},
				{records.Filter{StartedBefore: now.Add(-90 * time.Minute)}, []string{"order#expired", "order#failed"}},
				{records.Filter{StartedAfter: now.Add(-10 * time.Minute)}, []string{"payment#@blue#fresh", "payment#running"}},
			} {
				var keys []string
				for r, err := range newDesk(t, store, records.Config{}).List(t.Context(), c.filter) {
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, r.Key)
				}
				slices.Sort(keys)
				if !slices.Equal(keys, c.want) {
					t.Errorf("%+v lists %q, want %q", c.filter, keys, c.want)
				}
			}
		})
	}
}

// TestWhatCantBeUnderstoodIsListedAndLeftAlone has a record of a format to come.
func TestWhatCantBeUnderstoodIsListedAndLeftAlone(t *testing.T) {
	db, store := embedded.Store(t, dynamostore.Config{})
	db.Seed("idempotency", map[string]types.AttributeValue{
		"idempotency_key": &types.AttributeValueMemberS{Value: "payment#1"},
		"status":          &types.AttributeValueMemberS{Value: "PROCESSING"},
		"version":         &types.AttributeValueMemberN{Value: "99"},
	})
	desk := newDesk(t, store, records.Config{})
	for r, err := range desk.List(t.Context(), records.Filter{Operation: "payment"}) {
		if err != nil || r.Key != key || r.Unreadable == "" {
			t.Fatalf("it lists %+v (%v)", r, err)
		}
		for name, a := range map[string]act{"settle": settle(records.Complete([]byte("1"))), "forget": forget, "resume": resume} {
			if got := outcomeOf(t, desk, r, a); got != "refused" {
				t.Errorf("%s: %s", name, got)
			}
		}
		return
	}
	t.Error("it is not listed")
}

// unlisted is a store that does not return from listing.
type unlisted struct {
	*persistence.Memory
	list func()
}

func (u unlisted) List(context.Context, storekit.Query) (storekit.Page, error) {
	u.list()
	return storekit.Page{}, nil
}

// Segments are read on goroutines of their own; what does not return there ends the list's caller, not the process.
func TestAListThatDoesNotReturnIsItsCallersAffair(t *testing.T) {
	for way, ends := range map[string]func(){"a panic": func() { panic("broken") }, "an ended goroutine": runtime.Goexit} {
		t.Run(way, func(t *testing.T) {
			desk := newDesk(t, unlisted{persistence.NewMemory(), ends}, records.Config{})
			ended := relay.Run(func() {
				for range desk.List(t.Context(), records.Filter{Segments: 4}) {
				}
			})
			if ended.Returned() || ended.Panicked != (way == "a panic") {
				t.Errorf("ended with %+v", ended)
			}
		})
	}
}

// stuttering is a store that shows every record in two pages, and in each of them twice, as Redis' SCAN may.
type stuttering struct{ *persistence.Memory }

func (s stuttering) List(_ context.Context, q storekit.Query) (page storekit.Page, err error) {
	if q.Segment > 0 {
		return page, nil
	}
	if q.Cursor == "" {
		page.Cursor = "second"
	}
	page.Records = append(s.Records(), s.Records()...)
	page.Unreadable = []storekit.Unreadable{{Key: "payment#odd", Err: persistence.ErrUnreadable}}
	page.Seen = len(page.Records) + 1
	return page, nil
}

// A record that the store shows twice is listed, counted and dealt with once in a pass.
func TestARecordThatIsShownTwiceCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := persistence.NewMemory()
		for n := range 3 {
			c := claim(fmt.Sprintf("payment#%d", n), "owner", time.Now())
			c.Event = []byte(theEvent)
			if _, err := memory.Acquire(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Minute) // virtual
		listed, progress := 0, records.Progress{}
		desk := newDesk(t, stuttering{memory}, records.Config{Now: time.Now})
		for _, err := range desk.List(t.Context(), records.Filter{Progress: func(p records.Progress) { progress = p }}) {
			if listed++; err != nil {
				t.Fatal(err)
			}
		}
		if listed != 4 || progress.Matched != 4 || progress.Seen != 14 {
			t.Errorf("%d listed, %+v", listed, progress)
		}
		told := make(map[string]int)
		_, sum, err := swept(t, stuttering{memory}, records.Sweep{
			Send: func(_ context.Context, r records.Record, _ []byte) error {
				told[r.Key]++
				return errors.New("not reached")
			},
			Abandon: func(_ context.Context, c records.Case) error { told[c.Record.Key]++; return nil },
		})
		if err != nil || sum.Left != 3 || sum.Sent != 3 || sum.Abandoned != 1 || sum.Seen != 14 {
			t.Errorf("%+v, %v", sum, err)
		}
		for key, times := range told {
			if times != 1 {
				t.Errorf("%s was dealt with %d times", key, times)
			}
		}
	})
}
