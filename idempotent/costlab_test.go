package idempotent_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// costLab is a guarded handler in two environments, on a table of its own that
// holds one record. It is for one story in virtual time.
type costLab struct {
	t           *testing.T
	db          *dynamotest.DB
	here, there *costEnvironment

	// The sizes of the record's item, in bytes, when it was last in a state, by the
	// page's names: P, F, E, O, D, S1.
	sizes formula
	// The bytes of what the function leaves behind: its result, the output of each of
	// its steps, and each item of the application.
	result, output, item int
	// down says that a service is down that the function needs.
	down bool
}

// newCostLab returns a lab on a table of that config, in which the handler's result has
// so many bytes.
func newCostLab(t *testing.T, config dynamostore.Config, path costPath, result int) *costLab {
	t.Helper()
	// A day on which the times in a record do not end in zeros, which take no room.
	time.Sleep(time.Until(time.Date(2026, 12, 3, 4, 5, 6, 789_000_000, time.UTC)))
	asFunction(t, "payment", "$LATEST")
	l := &costLab{t: t, db: dynamotest.New(t), sizes: make(formula), result: result}
	config.Table = table
	if err := dynamostore.CreateTable(t.Context(), l.db.Client(), config); err != nil {
		t.Fatal(err)
	}
	if path.tooLarge {
		l.result = 400 << 10
	}
	turn := new(sync.Mutex)
	environment := func(fails error) *costEnvironment {
		e := &costEnvironment{lab: l, meter: &meter{db: l.db, turn: turn, look: func() { l.look(config.Attributes) }}, resume: func() {}}
		client := l.db.Client(func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: e.meter} })
		dynamo, err := dynamostore.New(client, config)
		if err != nil {
			t.Fatal(err)
		}
		var store persistence.Store = dynamo
		if path.cached {
			store = cached.New(dynamo, cached.Limits{})
		}
		if path.together > 0 {
			store = &gathering{Store: dynamo, missing: path.together, all: make(chan struct{})}
		}
		guarded := path.config
		guarded.Fingerprint = idempotency.MustJMESPath("amount")
		e.handler = newTestGuard(t, store, guarded).Handler(respond(func(ctx context.Context) ([]byte, error) {
			e.wait()
			if path.panics {
				panic("the function's own")
			}
			if path.does != nil {
				if err := path.does(ctx, l); err != nil {
					return nil, err
				}
			}
			return make([]byte, l.result), fails
		}))
		return e
	}
	l.here, l.there = environment(path.fails), environment(cmp.Or(path.firstFails, path.fails))
	t.Cleanup(func() { l.here.resume(); l.there.resume() })
	return l
}

// respond is a [lambda.Handler] that does not look at the event.
type respond func(context.Context) ([]byte, error)

func (r respond) Invoke(ctx context.Context, _ []byte) ([]byte, error) { return r(ctx) }

// bill takes a path, and returns what its last call cost this environment.
func (l *costLab) bill(path costPath) bill {
	if path.before != nil {
		path.before(l)
	}
	l.here.meter.bill = bill{}
	if path.call != nil {
		path.call(l)
	} else {
		l.here.invoke(or(path.event, costEvent))
	}
	return l.here.meter.bill
}

// look notes the size of the record's item, by the state that it is in.
func (l *costLab) look(names dynamostore.Attributes) {
	for _, record := range l.db.Items(table) {
		steps := 0
		if m, ok := record[or(names.Steps, "steps")].(*types.AttributeValueMemberM); ok {
			steps = len(m.Value)
		}
		status, _ := record[or(names.Status, "status")].(*types.AttributeValueMemberS)
		encoding, _ := record[or(names.ResultEncoding, "result_encoding")].(*types.AttributeValueMemberS)
		state := "F"
		switch {
		case status.Value == "PARTIAL_SUCCESS":
			state = "D"
		case status.Value == "PROCESSING" && steps > 0:
			state = withEntries(steps)
		case status.Value == "PROCESSING":
			state = "P"
		case status.Value == "FAILED":
			state = "E"
		case encoding != nil && encoding.Value == "omitted":
			state = "O"
		}
		l.sizes[state] = float64(tableSize(l.t, l.db))
	}
}

// withEntries is the page's name of a PROCESSING record with so many entries of steps.
func withEntries(n int) string { return "S" + strconv.Itoa(n) }

// costRecord is a record on a table of its own, written without a guard.
type costRecord struct {
	t     *testing.T
	db    *dynamotest.DB
	store *dynamostore.Store
	claim persistence.Claim
}

func newCostRecord(t *testing.T, config dynamostore.Config) *costRecord {
	t.Helper()
	r := &costRecord{t: t, db: dynamotest.New(t)}
	config.Table = table
	if err := dynamostore.CreateTable(t.Context(), r.db.Client(), config); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.store, err = dynamostore.New(r.db.Client(), config); err != nil {
		t.Fatal(err)
	}
	key, err := idempotency.Key("payment", "1")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 3, 4, 5, 6, 789_000_000, time.UTC)
	r.claim = persistence.Claim{
		Key: key, Owner: rand.Text(), Fingerprint: strings.Repeat("f", 64),
		Now: now, LeaseUntil: now.Add(invocationTimeout), ExpiresAt: now.Truncate(time.Second).Add(24*time.Hour + time.Second),
		Run: persistence.Run{StartedAt: now, Function: "payment:$LATEST", RequestID: requestID},
	}
	return r
}

// finish takes the record to its end. It returns the sizes of its item then, and of the
// result in it.
func (r *costRecord) finish(steps map[string]string, outcome persistence.Outcome) (finished, result int) {
	r.t.Helper()
	ctx := r.t.Context()
	record, err := r.store.Acquire(ctx, r.claim)
	if err != nil {
		r.t.Fatal(err)
	}
	for name, output := range steps {
		if err := r.store.Checkpoint(ctx, record.Lease(), name, []byte(output)); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := r.store.Complete(ctx, record.Lease(), outcome); err != nil {
		r.t.Fatal(err)
	}
	switch stored := r.db.Items(table)[0]["result"].(type) {
	case *types.AttributeValueMemberS:
		result = len(stored.Value)
	case *types.AttributeValueMemberB:
		result = len(stored.Value)
	}
	return tableSize(r.t, r.db), result
}

// tableSize is the size of all items, in bytes. (DynamoDB itself brings that figure up to
// date every few hours only.)
func tableSize(t *testing.T, db *dynamotest.DB) int {
	t.Helper()
	out, err := db.Client().DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil {
		t.Error(err)
		return 0
	}
	return int(*out.Table.TableSizeBytes)
}

// costEnvironment is an environment whose requests are counted apart.
type costEnvironment struct {
	handler lambda.Handler
	meter   *meter

	lab           *costLab
	begun, paused chan struct{} // of a run that begin has made
	resume        func()        // lets that run go on to its end; may be repeated
}

// invocationTimeout is how long an invocation may take.
const invocationTimeout = time.Minute

// invoke outlives a panic, as an environment that is replaced by another does.
func (e *costEnvironment) invoke(event string) {
	defer func() { _ = recover() }()
	ctx, cancel := context.WithTimeout(asRequest(context.Background()), invocationTimeout)
	defer cancel()
	_, _ = e.handler.Invoke(context.WithValue(ctx, labKey{}, e.lab), []byte(event))
}

// begin leaves a run under way.
func (e *costEnvironment) begin(event string) {
	begun, paused, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	e.begun, e.paused = begun, paused
	e.resume = sync.OnceFunc(func() { close(paused); <-over })
	go func() {
		defer close(over)
		e.invoke(event)
	}()
	<-begun
}

// wait is where a run stays that begin has made.
func (e *costEnvironment) wait() {
	if e.begun == nil {
		return
	}
	close(e.begun)
	<-e.paused
}

// gathering is a store that lets the first checkpoints go on together only, so that
// none of them knows of another.
type gathering struct {
	*dynamostore.Store
	mu      sync.Mutex
	missing int
	all     chan struct{}
}

func (g *gathering) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	g.mu.Lock()
	if g.missing--; g.missing == 0 {
		close(g.all)
	}
	g.mu.Unlock()
	<-g.all
	return g.Store.Checkpoint(ctx, l, step, output)
}

// meter passes requests on to the database, and keeps what they cost.
type meter struct {
	db   *dynamotest.DB
	turn *sync.Mutex // of all environments of a database: whose request was the last
	look func()      // after every request
	bill bill
}

func (m *meter) RoundTrip(request *http.Request) (*http.Response, error) {
	m.turn.Lock()
	defer m.turn.Unlock()
	response, err := m.db.RoundTrip(request)
	requests := m.db.Requests()
	m.bill.add(requests[len(requests)-1])
	m.look()
	return response, err
}

// bill is what an environment has sent, and what DynamoDB charges for it.
type bill struct {
	requests []string // such as "PutItem", or "PutItem ✗" where a condition has failed
	used     dynamotest.Capacity
}

func (b *bill) add(r dynamotest.Request) {
	name := r.Operation
	if r.Code == "ConditionalCheckFailedException" || r.Code == "TransactionCanceledException" {
		name += " ✗"
	}
	b.requests = append(b.requests, name)
	b.used = b.used.Plus(r.Capacity)
}

// count is how many of the requests have that name.
func (b *bill) count(name string) (n int) {
	for _, request := range b.requests {
		if request == name {
			n++
		}
	}
	return n
}
