package batch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

// lookup is how a batch is started.
type lookup struct {
	items  int
	config idempotent.Config
	done   func(item int) bool // items that another start has finished
	faults []dynamotest.Fault
}

func noItem(int) bool { return false }

func everyItem(int) bool { return true }

// cost starts the batch, and returns what that takes.
func (l lookup) cost(t *testing.T) (requests map[string]int, used dynamotest.Capacity) {
	t.Helper()
	items := l.items
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		p := newPayroll(t, items, time.Millisecond)
		staff := p.staff
		p.staff = nil
		for i, e := range staff {
			if l.done(i) {
				p.staff = append(p.staff, e)
			}
		}
		finished := len(p.staff)
		if _, err := p.start(within(t, time.Minute), lab.NewKeylessGuard(t, lab.NewStoreOn(t, db), idempotent.Config{}), alive); err != nil {
			t.Fatal(err)
		}
		p.staff = staff
		db.ResetLog()
		db.Inject(l.faults...)
		report, err := p.start(within(t, time.Minute), lab.NewKeylessGuard(t, store, l.config), alive)
		if err != nil || report.Replayed != finished || report.Done != items-finished {
			t.Errorf("%+v, %v", report.Progress, err)
		}
		p.everybodyPaidOnce()
		requests, used = operations(db), db.Capacity()
	})
	return requests, used
}

func (p *payroll) everybodyPaidOnce() {
	p.t.Helper()
	for _, e := range p.staff {
		if p.paid[e.Number] != 1 {
			p.t.Errorf("%s was paid %d times", e.Number, p.paid[e.Number])
		}
	}
}

// The figures of docs/cost.md.
func TestWhatABatchOfAThousandTakes(t *testing.T) {
	page, err := os.ReadFile("../../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	always, never := idempotent.Config{ReadFirst: true}, idempotent.Config{NoLookAhead: true}
	for _, test := range []struct {
		start string
		lookup
		requests, write, read float64 // at most
	}{
		{"nothing is finished", lookup{items: 1000, done: noItem}, 2001, 2000, 0.015 * 2000},
		{"all are finished", lookup{items: 1000, done: everyItem}, 12, 0, 500},
		{"the first 500 are finished", lookup{items: 1000, done: func(i int) bool { return i < 500 }}, 1020, 1000, 500},
		{"every 50th is finished", lookup{items: 1000, done: func(i int) bool { return i%50 == 49 }}, 2000, 2000, 500},
		{"nothing is finished, `ReadFirst`", lookup{items: 1000, config: always, done: noItem}, 2010, 2000, 500},
		{"all are finished, `NoLookAhead`", lookup{items: 1000, config: never, done: everyItem}, 1000, 1000, 0},
		{"all are finished, `ReadFirst`", lookup{items: 1000, config: idempotent.Config{ReadFirst: true}, done: everyItem}, 12, 0, 500},
	} {
		t.Run(test.start, func(t *testing.T) {
			requests, used := test.cost(t)
			sum := 0
			for _, n := range requests {
				sum += n
			}
			if float64(sum) > test.requests || used.Write > test.write || used.Read > test.read {
				t.Errorf("%v, %v: want at most %v, %v, %v", requests, used, test.requests, test.write, test.read)
			}
			row := fmt.Sprintf("| %s | %d | %v | %v |", test.start, sum, used.Write, used.Read)
			if !strings.Contains(strings.ReplaceAll(string(page), ",", ""), strings.ReplaceAll(row, ",", "")) {
				t.Errorf("the page has no row %s", row)
			}
		})
	}
}

// Looking ahead saves requests and decides nothing: whatever becomes of it, each item is
// claimed as without it.
func TestALookAheadThatFailsFailsNoItem(t *testing.T) {
	for name, fault := range map[string]dynamotest.Effect{
		"not allowed":     dynamotest.Fail("AccessDeniedException", "not allowed", http.StatusBadRequest),
		"throttled":       dynamotest.Fail("ProvisionedThroughputExceededException", "too much", http.StatusBadRequest),
		"out of order":    dynamotest.Fail("InternalServerError", "sorry", http.StatusInternalServerError),
		"no reply":        dynamotest.LoseReply(),
		"takes too long":  dynamotest.DelayAfter(time.Hour),
		"no such request": dynamotest.Fail("UnknownOperationException", "", http.StatusBadRequest),
	} {
		for policy, config := range map[string]idempotent.Config{
			"by itself": {}, "reading first": {ReadFirst: true},
		} {
			t.Run(name+", "+policy, func(t *testing.T) {
				requests, _ := lookup{items: 200, config: config, done: everyItem, faults: []dynamotest.Fault{{Operation: "BatchGetItem", Times: dynamotest.Always, Do: fault}}}.cost(t)
				if claims := requests["PutItem"] + requests["GetItem"]; claims != 200 || requests["BatchGetItem"] > 50 {
					t.Errorf("sent %v", requests)
				}
			})
		}
	}
}

// A look that fails once is not the last one.
func TestALookAheadGoesOnAfterAFault(t *testing.T) {
	requests, _ := lookup{
		items: 200, config: idempotent.Config{ReadFirst: true}, done: everyItem,
		faults: []dynamotest.Fault{{Operation: "BatchGetItem", Nth: 2, Times: 4, Do: dynamotest.Fail("ThrottlingException", "too much", http.StatusBadRequest)}},
	}.cost(t)
	if requests["PutItem"] != 0 && requests["PutItem"] != 100 {
		t.Errorf("sent %v", requests)
	}
}

// What keys DynamoDB leaves unprocessed is asked for again.
func TestWhatIsUnprocessedIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{ReadFirst: true})
		large := strings.Repeat("x", 390<<10) // of which 42 fit into an answer
		var keys []string
		for i := range 100 {
			key := fmt.Sprint(i)
			if _, err := idempotent.Do(within(t, time.Minute), guard, key, func(context.Context) (string, error) { return large, nil }); err != nil {
				t.Fatal(err)
			}
			record, err := idempotency.Key("payment", key)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, record)
		}
		db.ResetLog()
		// Also keys that come twice, and such as no record has.
		records, err := store.ReadMany(t.Context(), append(keys, keys[0], "", "absent", strings.Repeat("k", 3000)))
		if got := operations(db)["BatchGetItem"]; err != nil || len(records) != 100 || got < 3 || got > 4 {
			t.Errorf("%d records in %d requests, %v", len(records), got, err)
		}
	})
}

// DynamoDB reads 1 MB of a partition for one request, and leaves the rest unprocessed. Whoever
// keeps all records in one partition gets large ones a few at a time.
func TestALookGoesOnWhileSomeOfItComes(t *testing.T) {
	for at, want := range map[int]int{8: 100, 1: 100, 0: 0} {
		t.Run(fmt.Sprint(at, " at a time"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
				var keys []string
				for i := range 100 {
					key, err := idempotency.Key("payment", fmt.Sprint(i))
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, key)
					if _, err := idempotent.Do(t.Context(), guard, fmt.Sprint(i), func(context.Context) (int, error) { return i, nil }); err != nil {
						t.Fatal(err)
					}
				}
				few, err := dynamostore.New(fewAtATime{db.Client(), at}, dynamostore.Config{Table: lab.Table})
				if err != nil {
					t.Fatal(err)
				}
				db.ResetLog()
				records, err := few.ReadMany(t.Context(), keys)
				if len(records) != want || (err == nil) != (want == 100) {
					t.Errorf("%d records, %v", len(records), err)
				}
				if got := len(db.Requests()); at > 0 && got != (100+at-1)/at {
					t.Errorf("%d requests", got)
				}
			})
		})
	}
}

// fewAtATime is a client whose table reads no more than some items for one request.
type fewAtATime struct {
	*dynamodb.Client
	most int
}

func (c fewAtATime) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	asked := in.RequestItems[lab.Table]
	some, rest := asked, asked
	some.Keys, rest.Keys = asked.Keys[:min(c.most, len(asked.Keys))], asked.Keys[min(c.most, len(asked.Keys)):]
	out := new(dynamodb.BatchGetItemOutput)
	if len(some.Keys) > 0 {
		var err error
		if out, err = c.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{lab.Table: some}}, options...); err != nil {
			return nil, err
		}
	}
	if len(rest.Keys) > 0 {
		out.UnprocessedKeys = map[string]types.KeysAndAttributes{lab.Table: rest}
	}
	return out, nil
}

// What is found ahead answers as what a claim finds: by its own time, fingerprint and tenant.
func TestWhatIsFoundAheadIsJudgedLikeWhatIsClaimed(t *testing.T) {
	aes, err := sealed.NewAES(sealed.Key{ID: "1", Secret: bytes.Repeat([]byte("k"), 32)})
	if err != nil {
		t.Fatal(err)
	}
	for front, in := range map[string]func(persistence.Store) persistence.Store{
		"DynamoDB": func(s persistence.Store) persistence.Store { return s },
		"sealed": func(s persistence.Store) persistence.Store {
			store, err := sealed.New(s, aes, sealed.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
		"cached": func(s persistence.Store) persistence.Store { return cached.New(s, cached.Limits{}) },
	} {
		t.Run(front, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, _ := lab.NewDynamo(t)
				told := make(map[bool][]string)
				for _, ahead := range []bool{false, true} {
					told[ahead] = storyOfAMonth(t, db, in, ahead)
				}
				if !reflect.DeepEqual(told[false], told[true]) {
					t.Errorf("claiming:\n%s\nlooking ahead:\n%s", strings.Join(told[false], "\n"), strings.Join(told[true], "\n"))
				}
			})
		})
	}
}

// storyOfAMonth plays the same starts of a batch with looking ahead or without, and returns what was told of
// them.
func storyOfAMonth(t *testing.T, db *dynamotest.DB, in func(persistence.Store) persistence.Store, ahead bool) (told []string) {
	newGuard := func(observe func(context.Context, idempotent.Event)) *idempotent.Guard {
		return lab.NewKeylessGuard(t, in(lab.NewStoreOn(t, db)), idempotent.Config{
			Operation: fmt.Sprintf("salary-%t", ahead), ReadFirst: ahead, NoLookAhead: !ahead, Observe: observe,
			TTL: time.Hour, Fingerprint: idempotency.MustJMESPath("salary"),
		})
	}
	var log lab.EventLog
	p := newPayroll(t, 20, time.Millisecond)
	p.batch.Concurrency = 1
	tenant := func(name string) context.Context {
		return lambdacontext.NewContext(within(t, time.Minute), &lambdacontext.LambdaContext{TenantID: name})
	}
	tell := func(what string, report batch.Report[employee], err error) {
		report.Elapsed = 0
		text := fmt.Sprintf("%s: %+v %v %v %v", what, report.Progress, report.Errors, err, log.Kinds())
		told = append(told, strings.ReplaceAll(text, fmt.Sprintf("salary-%t", ahead), "salary"))
	}
	start := func(what, name string) {
		report, err := batch.Each(tenant(name), newGuard(log.Observe), p.batch, p.staff, func(_ context.Context, e employee) error {
			if e.Number == "e-3" {
				return idempotent.Permanent(errTryAgain)
			}
			if e.Number == "e-4" && what == "first" {
				return errTryAgain
			}
			return nil
		})
		tell(what, report, err)
	}
	start("first", "a")
	p.staff[7].Salary++
	start("again, with another salary", "a")
	start("another tenant", "b")
	time.Sleep(2 * time.Hour) // virtual
	start("once it has expired", "a")
	return told
}

// A guard that may not look says so, once for each start.
func TestALookAheadThatIsNotAllowedIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		db.Inject(dynamotest.Fault{Operation: "BatchGetItem", Times: dynamotest.Always, Do: dynamotest.Fail("AccessDeniedException", "not allowed", http.StatusBadRequest)})
		var log bytes.Buffer
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		p := newPayroll(t, 300, time.Millisecond)
		if _, err := p.start(within(t, time.Minute), guard, alive); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), `"event":"look_ahead_failed"`); n != 1 {
			t.Errorf("logged %d times: %s", n, log.String())
		}
	})
}

// A client that can't read many, such as one that wraps another, is no obstacle.
func TestAStoreThatCannotReadManyIsClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dynamotest.New(t)
		config := dynamostore.Config{Table: table}
		if err := dynamostore.CreateTable(t.Context(), db.Client(), config); err != nil {
			t.Fatal(err)
		}
		store, err := dynamostore.New(struct{ dynamostore.API }{db.Client()}, config)
		if err != nil {
			t.Fatal(err)
		}
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
		p := newPayroll(t, 40, time.Millisecond)
		for range 2 {
			if _, err := p.start(within(t, time.Minute), guard, alive); err != nil {
				t.Fatal(err)
			}
		}
		p.everybodyPaidOnce()
		if sent := operations(db); sent["PutItem"] != 80 || slices.Contains(operationNames(sent), "BatchGetItem") {
			t.Errorf("sent %v", sent)
		}
	})
}

func operationNames(sent map[string]int) (names []string) {
	for name := range sent {
		names = append(names, name)
	}
	return names
}

// volatile is an item whose JSON form can't be made.
type volatile struct{ id string }

func (v volatile) MarshalJSON() ([]byte, error) {
	if v.id == "b" {
		panic("volatile")
	}
	return []byte(`{"amount":1}`), nil
}

// An item whose identity panics is the one that has panicked, whoever looks for its record.
func TestLookingAheadBlamesNoOtherItem(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{ReadFirst: true, Fingerprint: idempotency.MustJMESPath("amount")})
	var ran []string
	defer func() {
		failed, ok := recover().(*batch.ItemPanic)
		if !ok || failed.ID != "b" || failed.Value != "volatile" || !slices.Equal(ran, []string{"a"}) {
			t.Errorf("got %v, after %v", failed, ran)
		}
	}()
	round := batch.Batch[volatile]{Name: "round", Concurrency: 1, ID: func(v volatile) string { return v.id }}
	_, _ = batch.Each(t.Context(), guard, round, []volatile{{"a"}, {"b"}, {"c"}}, func(_ context.Context, v volatile) error {
		ran = append(ran, v.id)
		return nil
	})
}
