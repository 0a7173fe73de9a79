package emf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/emf"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/internal/emfspec"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// page is what CloudWatch gets.
type page struct {
	mu    sync.Mutex
	lines []string
}

func (p *page) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, string(line))
	return len(line), nil
}

// take returns the lines that were printed, and forgets them.
func (p *page) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.lines
	p.lines = nil
	return lines
}

// summary says what metrics lines have: sums of counts, and how many values where times
// are kept.
func summary(t *testing.T, lines ...string) map[string]float64 {
	t.Helper()
	sums := make(map[string]float64)
	for _, line := range lines {
		data, err := emfspec.Read([]byte(line), time.Now())
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, d := range data {
			name := d.Name + " of " + d.Dimensions["operation"]
			if code := d.Dimensions["code"]; code != "" {
				name += " " + code
			}
			if d.Unit == "Count" {
				sums[name] += d.Sum()
			} else {
				sums[name] += float64(len(d.Values))
			}
		}
	}
	return sums
}

func expect(t *testing.T, lines []string, count int, want map[string]float64) {
	t.Helper()
	if len(lines) != count {
		t.Errorf("printed %d lines, want %d:\n%s", len(lines), count, strings.Join(lines, ""))
	}
	if got := summary(t, lines...); !maps.Equal(got, want) {
		t.Errorf("printed %v, want %v", got, want)
	}
}

func newMetrics(t *testing.T) (*page, *emf.Metrics) {
	t.Helper()
	p := new(page)
	m, err := emf.New(emf.Config{Output: p})
	if err != nil {
		t.Fatal(err)
	}
	return p, m
}

func newGuard(t *testing.T, m *emf.Metrics, config idempotent.Config) *idempotent.Guard {
	t.Helper()
	if config.Operation == "" {
		config.Operation = "payment"
	}
	config.Logger = slog.New(slog.DiscardHandler)
	guard, err := idempotent.New(persistence.NewMemory(), m.Watch(config))
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

var errDown = errors.New("down")

// invoke makes a call of a handler as Lambda does, and survives its panic.
func invoke(t *testing.T, handler func(context.Context) error) {
	t.Helper()
	defer func() { _ = recover() }()
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
	_ = handler(ctx)
}

// An invocation prints one line, whatever happens in it.
func TestAnInvocationPrintsALine(t *testing.T) {
	key := idempotency.MustJMESPath("id")
	pay := func(answer error) func(context.Context, json.RawMessage) (int, error) {
		return func(context.Context, json.RawMessage) (int, error) { return 1, answer }
	}
	for name, test := range map[string]struct {
		config idempotent.Config
		fn     func(context.Context, json.RawMessage) (int, error)
		before string // an event before
		event  string
		want   map[string]float64
	}{
		"a run": {fn: pay(nil), want: map[string]float64{
			"calls of payment completed": 1, "runs of payment": 1, "run_duration of payment": 1, "request_duration of payment": 2}},
		"a replay": {fn: pay(nil), before: `{"id":1}`, want: map[string]float64{
			"calls of payment completed": 1, "replays of payment": 1, "request_duration of payment": 1}},
		"a mismatch": {fn: pay(nil), config: idempotent.Config{Fingerprint: idempotency.MustJMESPath("amount")}, before: `{"id":1,"amount":1}`, event: `{"id":1,"amount":2}`, want: map[string]float64{
			"calls of payment mismatch": 1, "mismatches of payment": 1, "request_duration of payment": 1}},
		"a failure": {fn: pay(errDown), want: map[string]float64{
			"calls of payment function_failed": 1, "runs of payment": 1, "run_duration of payment": 1, "request_duration of payment": 2}},
		"a failure for good": {fn: pay(idempotent.Permanent(errDown)), want: map[string]float64{
			"calls of payment failed": 1, "runs of payment": 1, "run_duration of payment": 1, "request_duration of payment": 2}},
		"a panic": {fn: func(context.Context, json.RawMessage) (int, error) { panic("!") }, want: map[string]float64{
			"calls of payment function_failed": 1, "runs of payment": 1, "run_duration of payment": 1, "request_duration of payment": 2}},
		"no key":      {fn: pay(nil), event: `{}`, want: map[string]float64{"calls of payment key_missing": 1}},
		"no key, run": {fn: pay(nil), config: idempotent.Config{RunWithoutKey: true}, event: `{}`, want: map[string]float64{"calls of payment completed": 1, "unprotected of payment": 1, "runs of payment": 1, "run_duration of payment": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p, m := newMetrics(t)
			test.config.Key = key
			handler := idempotent.Func(newGuard(t, m, test.config), test.fn)
			event := json.RawMessage(`{"id":1}`)
			if test.before != "" {
				invoke(t, func(ctx context.Context) error { _, err := handler(ctx, json.RawMessage(test.before)); return err })
				p.take()
			}
			if test.event != "" {
				event = json.RawMessage(test.event)
			}
			invoke(t, func(ctx context.Context) error { _, err := handler(ctx, event); return err })
			lines := p.take()
			expect(t, lines, 1, test.want)
			if !strings.Contains(lines[0], `"request_id":"r-1"`) {
				t.Errorf("no id of the request: %s", lines[0])
			}
		})
	}
}

// A duplicate that is turned away, and the run that takes over from a dead one.
func TestWhatBecomesOfDuplicatesIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, m := newMetrics(t)
		store := persistence.NewMemory()
		guard, err := idempotent.New(store, m.Watch(idempotent.Config{Operation: "payment", Logger: slog.New(slog.DiscardHandler)}))
		if err != nil {
			t.Fatal(err)
		}
		do := func() {
			_, _ = idempotent.Do(t.Context(), guard, "o1", func(context.Context) (int, error) { return 1, nil })
		}
		first, _ := idempotency.Key("payment", "o1")
		now := time.Now()
		if _, err := store.Acquire(t.Context(), persistence.Claim{Key: first, Owner: "dead", Now: now, LeaseUntil: now.Add(time.Minute), ExpiresAt: now.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		do()
		expect(t, p.take(), 1, map[string]float64{"calls of payment in_progress": 1, "turned_away of payment": 1, "request_duration of payment": 1})
		time.Sleep(2 * time.Minute)
		do()
		expect(t, p.take(), 1, map[string]float64{"calls of payment completed": 1, "taken_over of payment": 1, "runs of payment": 1, "run_duration of payment": 1, "request_duration of payment": 2})
	})
}

// What an invocation of a durable function answers is no error; how it has ended is counted all the same.
func TestASuspensionIsCountedAsOne(t *testing.T) {
	p, m := newMetrics(t)
	handler := newGuard(t, m, idempotent.Config{Key: idempotency.MustJMESPath("id")}).Handler(func(context.Context) (json.RawMessage, error) {
		return json.RawMessage(`{"Status":"PENDING"}`), nil
	})
	for _, execution := range []string{"a", "b"} {
		event := fmt.Sprintf(`{"DurableExecutionArn":%q,"CheckpointToken":"t","InitialExecutionState":{"Operations":[`+
			`{"Type":"EXECUTION","ExecutionDetails":{"InputPayload":"{\"id\":1}"}}]}}`, execution)
		if _, err := handler.Invoke(t.Context(), []byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, p.take(), 2, map[string]float64{
		"calls of payment suspended": 1, "runs of payment": 1, "suspended of payment": 1, "run_duration of payment": 1, "request_duration of payment": 2,
		"calls of payment in_progress": 1, "turned_away of payment": 1,
	})
}

// The messages of a queue come in one event, and make one line; and one more for each
// code that they end with.
func TestABatchPrintsALine(t *testing.T) {
	p, m := newMetrics(t)
	guard := newGuard(t, m, idempotent.Config{Key: idempotency.MustJMESPath("id")})
	handler, err := eventguard.SQS(guard, eventguard.Config{}, func(_ context.Context, _ json.RawMessage, message events.SQSMessage) error {
		if strings.Contains(message.Body, "bad") {
			return errDown
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var event events.SQSEvent
	for i := range 10 {
		event.Records = append(event.Records, events.SQSMessage{MessageId: fmt.Sprint(i), Body: fmt.Sprintf(`{"id":%d}`, i/2)})
	}
	call := func(ctx context.Context) error { _, err := handler(ctx, event); return err }
	invoke(t, call)
	expect(t, p.take(), 1, map[string]float64{
		"calls of payment completed": 10, "runs of payment": 5, "run_duration of payment": 5, "replays of payment": 5, "request_duration of payment": 15})
	event.Records = append(event.Records, events.SQSMessage{MessageId: "x", Body: `{"id":"x","bad":true}`}, events.SQSMessage{MessageId: "y", Body: `{}`})
	invoke(t, call) // ten replays have it look ahead for the rest, by one request
	expect(t, p.take(), 3, map[string]float64{
		"calls of payment completed": 10, "calls of payment function_failed": 1, "calls of payment key_missing": 1,
		"runs of payment": 1, "run_duration of payment": 1, "replays of payment": 10, "request_duration of payment": 13})
}

// More durations than a line may have, and a run that goes on and on, print more lines:
// nothing is lost, and nothing waits for long.
func TestALongRunPrintsMoreLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, m := newMetrics(t)
		guard := newGuard(t, m, idempotent.Config{})
		ctx, flush := m.Collect(t.Context())
		do := func(key string) {
			_, _ = idempotent.Do(ctx, guard, key, func(context.Context) (int, error) { return 1, nil })
		}
		for i := range 120 {
			do(fmt.Sprint(i))
		}
		before := p.take()
		if len(before) != 2 {
			t.Errorf("%d lines for 240 requests to the store, want 2 and a rest", len(before))
		}
		time.Sleep(2 * time.Minute)
		do("late")
		late := p.take()
		if len(late) == 0 {
			t.Error("nothing is printed after a minute")
		}
		flush()
		all := slices.Concat(before, late, p.take())
		want := map[string]float64{"calls of payment completed": 121, "runs of payment": 121, "run_duration of payment": 121, "request_duration of payment": 242}
		if got := summary(t, all...); !maps.Equal(got, want) {
			t.Errorf("printed %v, want %v", got, want)
		}
	})
}

// Many invocations at once, as a managed instance has them, do not get into each other's
// lines.
func TestInvocationsAtOnceKeepTheirLinesApart(t *testing.T) {
	p, m := newMetrics(t)
	guard := newGuard(t, m, idempotent.Config{})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: fmt.Sprint("r-", i)})
			_, _ = idempotent.Do(ctx, guard, fmt.Sprint(i), func(context.Context) (int, error) { return 1, nil })
		})
	}
	all.Wait()
	ids := make(map[string]bool)
	for _, line := range p.take() {
		got := summary(t, line)
		if got["runs of payment"] != 1 || got["request_duration of payment"] != 2 {
			t.Errorf("an invocation with %v", got)
		}
		var root struct {
			ID string `json:"request_id"`
		}
		_ = json.Unmarshal([]byte(line), &root)
		ids[root.ID] = true
	}
	if len(ids) != 50 {
		t.Errorf("lines of %d invocations", len(ids))
	}
}

// Neither a key nor the id of a request is a dimension: each value would be a metric of
// its own.
func TestOnlyOperationAndCodeAreDimensions(t *testing.T) {
	p, m := newMetrics(t)
	guard := newGuard(t, m, idempotent.Config{})
	_, _ = idempotent.Do(t.Context(), guard, "secret-key", func(context.Context) (int, error) { return 1, nil })
	for _, line := range p.take() {
		if strings.Contains(line, "secret-key") {
			t.Errorf("has the key: %s", line)
		}
		data, _ := emfspec.Read([]byte(line), time.Now())
		for _, d := range data {
			for name := range d.Dimensions {
				if name != "operation" && name != "code" {
					t.Errorf("has the dimension %s", name)
				}
			}
		}
	}
}

// Lambda takes a line without a level for INFO, and drops it where the function's log
// level is higher.
func TestALinePassesTheLogLevelFilter(t *testing.T) {
	for filter, want := range map[string]string{"": "", "DEBUG": "", "INFO": "", "WARN": "WARN", "ERROR": "ERROR", "FATAL": "FATAL"} {
		t.Setenv("AWS_LAMBDA_LOG_LEVEL", filter)
		p, m := newMetrics(t)
		_, _ = idempotent.Do(t.Context(), newGuard(t, m, idempotent.Config{}), "o1", func(context.Context) (int, error) { return 1, nil })
		lines := p.take()
		summary(t, lines...)
		var root struct {
			Level     string
			Timestamp string
		}
		if err := json.Unmarshal([]byte(lines[0]), &root); err != nil || root.Level != want {
			t.Errorf("%s: the level is %q (%v), want %q", filter, root.Level, err, want)
		}
		if _, err := time.Parse(time.RFC3339Nano, root.Timestamp); (err == nil) != (want != "") {
			t.Errorf("%s: the timestamp is %q", filter, root.Timestamp)
		}
	}
}

func TestOperationsBeyondASCIIAreSpelledInASCII(t *testing.T) {
	p, m := newMetrics(t)
	_, _ = idempotent.Do(t.Context(), newGuard(t, m, idempotent.Config{Operation: `zahlung\größe`}), "o1", func(context.Context) (int, error) { return 1, nil })
	if got := summary(t, p.take()...); got[`runs of zahlung\\gr\u00f6\u00dfe`] != 1 {
		t.Errorf("printed %v", got)
	}
}

func TestOtherHooksAreCalledToo(t *testing.T) {
	p, m := newMetrics(t)
	var told []idempotent.EventKind
	type outer struct{}
	guard := newGuard(t, m, idempotent.Config{
		Observe: func(_ context.Context, e idempotent.Event) { told = append(told, e.Kind) },
		Trace: func(ctx context.Context, _ idempotent.Event) (context.Context, func(idempotent.Event)) {
			return context.WithValue(ctx, outer{}, true), func(e idempotent.Event) { told = append(told, e.Kind) }
		},
	})
	_, _ = idempotent.Do(t.Context(), guard, "o1", func(ctx context.Context) (int, error) {
		if ctx.Value(outer{}) == nil {
			t.Error("the other hook's context is lost")
		}
		return 1, nil
	})
	want := []idempotent.EventKind{idempotent.EventRequest, idempotent.EventAcquired, idempotent.EventRun, idempotent.EventRequest, idempotent.EventExecuted, idempotent.EventCall}
	if !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	expect(t, p.take(), 1, map[string]float64{"calls of payment completed": 1, "runs of payment": 1, "run_duration of payment": 1, "request_duration of payment": 2})
}

// An event outside of a call has a line of its own.
func TestAnEventOutsideOfACallIsPrinted(t *testing.T) {
	p, m := newMetrics(t)
	newGuard(t, m, idempotent.Config{}).Report(t.Context(), idempotent.Event{Kind: idempotent.EventStuck})
	expect(t, p.take(), 1, map[string]float64{"stuck of payment": 1})
}

// What a goroutine does that outlives its call is printed when it comes.
func TestWhatComesLateIsPrinted(t *testing.T) {
	p, m := newMetrics(t)
	guard := newGuard(t, m, idempotent.Config{})
	ctx, flush := m.Collect(t.Context())
	flush()
	guard.Report(ctx, idempotent.Event{Kind: idempotent.EventStuck})
	expect(t, p.take(), 1, map[string]float64{"stuck of payment": 1})
}

func TestAnOutputThatFailsFailsNoCall(t *testing.T) {
	m, err := emf.New(emf.Config{Output: brokenPipe{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := idempotent.Do(t.Context(), newGuard(t, m, idempotent.Config{}), "o1", func(context.Context) (int, error) { return 1, nil }); err != nil {
		t.Error(err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// charging is a store that says it was charged what can't be.
type charging struct {
	*persistence.Memory
	units float64
}

func (c charging) Acquire(ctx context.Context, claim persistence.Claim) (persistence.Record, error) {
	storekit.Consumed(ctx, c.units)
	return c.Memory.Acquire(ctx, claim)
}

// Whatever a store says, and whatever an operation is called, CloudWatch takes the line.
func TestNothingSpoilsALine(t *testing.T) {
	for _, units := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		p, m := newMetrics(t)
		guard, err := idempotent.New(charging{persistence.NewMemory(), units}, m.Watch(idempotent.Config{Operation: ":支払い", Logger: slog.New(slog.DiscardHandler)}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := idempotent.Do(t.Context(), guard, "o1", func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Fatal(err)
		}
		for _, line := range p.take() {
			data, err := emfspec.Read([]byte(line), time.Now())
			if err != nil {
				t.Fatalf("%v units: %v: %s", units, err, line)
			}
			for _, d := range data {
				if strings.HasPrefix(d.Dimensions["operation"], ":") || d.Name == "consumed_units" {
					t.Errorf("%v units: %+v", units, d)
				}
			}
		}
	}
}

func TestNamespaces(t *testing.T) {
	for _, c := range []struct {
		variable, config, want string
	}{
		{"", "", "idempotency"}, {"stack", "", "stack"}, {"stack", "mine/a.b#c:d-e_1", "mine/a.b#c:d-e_1"},
		{"no space", "", ""}, {"", "AWS/Lambda", ""}, {"", strings.Repeat("x", 257), ""},
	} {
		t.Setenv("AWS_EMF_NAMESPACE", c.variable)
		p := new(page)
		m, err := emf.New(emf.Config{Namespace: c.config, Output: p})
		if c.want == "" {
			if !errors.Is(err, emf.ErrConfig) {
				t.Errorf("%v: %v", c, err)
			}
			continue
		}
		newGuard(t, m, idempotent.Config{}).Report(t.Context(), idempotent.Event{Kind: idempotent.EventStuck})
		if data, _ := emfspec.Read([]byte(p.lines[0]), time.Now()); data[0].Namespace != c.want {
			t.Errorf("the namespace is %q, want %q", data[0].Namespace, c.want)
		}
	}
}

// The line, byte for byte.
func ExampleMetrics_Watch() {
	var output bytes.Buffer
	metrics, err := emf.New(emf.Config{Namespace: "shop", Output: &output})
	if err != nil {
		panic(err)
	}
	guard, err := idempotent.New(persistence.NewMemory(), metrics.Watch(idempotent.Config{
		Operation: "refund",
		Key:       idempotency.MustJMESPath("order_id"),
	}))
	if err != nil {
		panic(err)
	}
	handler := guard.Handler(func(context.Context) error { return nil })
	_, _ = handler.Invoke(context.Background(), []byte(`{}`))                // refused
	_, line, _ := bytes.Cut(output.Bytes(), []byte(`,"CloudWatchMetrics":`)) // behind the time
	fmt.Println(string(line))
	// Output:
	// [{"Namespace":"shop","Dimensions":[["operation","code"]],"Metrics":[{"Name":"calls","Unit":"Count"}]}]},"operation":"refund","code":"key_missing","calls":1}
}

func ExampleMetrics_Collect() {
	metrics, err := emf.New(emf.Config{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	ctx, flush := metrics.Collect(ctx)
	defer flush() // one line for all guarded calls that are made with ctx
	_ = ctx
	// Output:
}

func ExampleWatch() {
	store := persistence.NewMemory()
	guard, err := idempotent.New(store, emf.Watch(idempotent.Config{
		Operation: "audit",
		Key:       idempotency.MustJMESPath("event_id"),
	}))
	if err != nil {
		panic(err)
	}
	fmt.Println(guard.Config().Operation)
	// Output: audit
}
