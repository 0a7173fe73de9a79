package otelguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/otelguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// lab is a guard whose spans and metrics are kept.
type lab struct {
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader
	config idempotent.Config
}

func newLab(t *testing.T, config idempotent.Config) (*lab, *idempotent.Guard) {
	t.Helper()
	l := &lab{spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	telemetry, err := otelguard.New(otelguard.Config{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(l.spans)),
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(l.reader)),
	})
	if err != nil {
		t.Fatal(err)
	}
	config.Operation, config.Logger = "payment", slog.New(slog.DiscardHandler)
	l.config = telemetry.Watch(config)
	guard, err := idempotent.New(persistence.NewMemory(), l.config)
	if err != nil {
		t.Fatal(err)
	}
	return l, guard
}

// tree tells of each span where it lies, and how it has ended.
func (l *lab) tree() []string {
	names := make(map[trace.SpanID]string)
	parents := make(map[trace.SpanID]trace.SpanID)
	for _, s := range l.spans.Started() {
		names[s.SpanContext().SpanID()], parents[s.SpanContext().SpanID()] = s.Name(), s.Parent().SpanID()
	}
	var lines []string
	for _, s := range l.spans.Ended() {
		path := s.Name()
		for up := parents[s.SpanContext().SpanID()]; up.IsValid(); up = parents[up] {
			path = names[up] + " > " + path
		}
		code := value(s.Attributes(), "idempotency.code")
		if (s.Status().Code == codes.Error) != (code != "completed") {
			code += " with the status " + s.Status().Code.String()
		}
		lines = append(lines, strings.ReplaceAll(path, "idempotency.", "")+": "+code)
	}
	slices.Sort(lines)
	return lines
}

func value(attributes []attribute.KeyValue, key attribute.Key) string {
	for _, a := range attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// metrics tells the sums of counters, and how many values histograms have.
func (l *lab) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := l.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	name := func(m metricdata.Metrics, set attribute.Set) string {
		text := m.Name
		for _, a := range set.ToSlice() {
			text += fmt.Sprintf(" %s=%s", strings.TrimPrefix(string(a.Key), "idempotency."), a.Value.String())
		}
		return text
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[float64]:
				for _, point := range data.DataPoints {
					got[name(m, point.Attributes)] += point.Value
				}
			case metricdata.Histogram[float64]:
				for _, point := range data.DataPoints {
					got[name(m, point.Attributes)] += float64(point.Count)
				}
			}
		}
	}
	return got
}

var errDown = errors.New("down")

func gone(call func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		call()
	}()
	<-done
}

// Spans lie in each other as the parts of a call do, also those that the function opens
// itself, and each ends.
func TestSpansLieInEachOther(t *testing.T) {
	var l *lab
	fetch := func(ctx context.Context) error {
		_, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("mine").Start(ctx, "fetch", trace.WithAttributes(attribute.String("idempotency.code", "completed")))
		span.End()
		return nil
	}
	for name, test := range map[string]struct {
		fn   func(context.Context) (int, error)
		want []string
	}{
		"a run": {
			fn: func(ctx context.Context) (int, error) { return 1, fetch(ctx) },
			want: []string{
				"call payment > request acquire: completed", "call payment > request complete: completed",
				"call payment > run payment > fetch: completed", "call payment > run payment: completed", "call payment: completed"}},
		"a failure": {
			fn: func(context.Context) (int, error) { return 0, errDown },
			want: []string{
				"call payment > request acquire: completed", "call payment > request release: completed",
				"call payment > run payment: function_failed", "call payment: function_failed"}},
		"a panic": {
			fn: func(context.Context) (int, error) { panic("!") },
			want: []string{
				"call payment > request acquire: completed", "call payment > request release: completed",
				"call payment > run payment: function_failed", "call payment: function_failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			var guard *idempotent.Guard
			l, guard = newLab(t, idempotent.Config{})
			gone(func() { _, _ = idempotent.Do(t.Context(), guard, "o1", test.fn) })
			if got := l.tree(); !slices.Equal(got, test.want) {
				t.Errorf("spans\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// The key is in spans, and in nothing else.
func TestKeysAreInSpansOnly(t *testing.T) {
	l, guard := newLab(t, idempotent.Config{})
	_, _ = idempotent.Do(t.Context(), guard, "o1", func(context.Context) (int, error) { return 1, nil })
	key, err := idempotency.Key("payment", "o1")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range l.spans.Ended() {
		if got := value(s.Attributes(), "idempotency.key"); got != key {
			t.Errorf("the span %s has the key %q", s.Name(), got)
		}
	}
	for name := range l.metrics(t) {
		if strings.Contains(name, key) {
			t.Errorf("a metric has the key: %s", name)
		}
	}
}

func TestCallsAreMeasured(t *testing.T) {
	l, guard := newLab(t, idempotent.Config{Key: idempotency.MustJMESPath("id"), Fingerprint: idempotency.MustJMESPath("amount")})
	handler := guard.Handler(func(context.Context) (int, error) { return 1, nil })
	for _, event := range []string{`{"id":1,"amount":1}`, `{"id":1,"amount":1}`, `{"id":1,"amount":2}`, `{}`} {
		_, _ = handler.Invoke(t.Context(), []byte(event))
	}
	want := map[string]float64{
		"idempotency.calls code=completed operation=payment":                             2,
		"idempotency.calls code=mismatch operation=payment":                              1,
		"idempotency.calls code=key_missing operation=payment":                           1,
		"idempotency.runs operation=payment":                                             1,
		"idempotency.replays operation=payment":                                          1,
		"idempotency.mismatches operation=payment":                                       1,
		"idempotency.run.duration code=completed operation=payment":                      1,
		"idempotency.request.duration code=completed operation=payment request=acquire":  3,
		"idempotency.request.duration code=completed operation=payment request=complete": 1,
	}
	if got := l.metrics(t); !maps.Equal(got, want) {
		t.Errorf("measured %v, want %v", got, want)
	}
}

// An invocation of a durable function that is suspended has neither completed nor failed.
func TestASuspensionIsNoFailure(t *testing.T) {
	l, guard := newLab(t, idempotent.Config{Key: idempotency.MustJMESPath("id")})
	handler := guard.Handler(func(context.Context) (json.RawMessage, error) { return json.RawMessage(`{"Status":"PENDING"}`), nil })
	for _, execution := range []string{"a", "b"} {
		event := fmt.Sprintf(`{"DurableExecutionArn":%q,"CheckpointToken":"t","InitialExecutionState":{"Operations":[`+
			`{"Type":"EXECUTION","ExecutionDetails":{"InputPayload":"{\"id\":1}"}}]}}`, execution)
		if _, err := handler.Invoke(t.Context(), []byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"call payment > request acquire: completed", "call payment > request acquire: completed",
		"call payment > run payment: suspended with the status Unset", "call payment: in_progress", "call payment: suspended with the status Unset"}
	if got := l.tree(); !slices.Equal(got, want) {
		t.Errorf("spans\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for name, want := range map[string]float64{
		"idempotency.suspended operation=payment":              1,
		"idempotency.calls code=suspended operation=payment":   1,
		"idempotency.calls code=in_progress operation=payment": 1,
		"idempotency.calls code=completed operation=payment":   0,
	} {
		if got := l.metrics(t)[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// What happens in a call is told in its span.
func TestEventsAreInTheSpan(t *testing.T) {
	l, guard := newLab(t, idempotent.Config{})
	for range 2 {
		_, _ = idempotent.Do(t.Context(), guard, "o1", func(context.Context) (int, error) { return 1, nil })
	}
	var told []string
	for _, s := range l.spans.Ended() {
		for _, e := range s.Events() {
			told = append(told, s.Name()+" "+e.Name)
		}
	}
	want := []string{"idempotency.call payment idempotency.acquired", "idempotency.call payment idempotency.executed", "idempotency.call payment idempotency.replayed"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// An SDK may be set after the guard was made, and there may be none.
func TestTheGlobalProvidersAreUsed(t *testing.T) {
	guard, err := idempotent.New(persistence.NewMemory(), otelguard.Watch(idempotent.Config{Operation: "global"}))
	if err != nil {
		t.Fatal(err)
	}
	do := func(key string) {
		if _, err := idempotent.Do(t.Context(), guard, key, func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Error(err)
		}
	}
	do("before")
	spans := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	do("after")
	if n := len(spans.Ended()); n != 4 {
		t.Errorf("%d spans, want 4", n)
	}
}

func ExampleWatch() {
	store := persistence.NewMemory()
	guard, err := idempotent.New(store, otelguard.Watch(idempotent.Config{
		Operation: "audit",
	}))
	if err != nil {
		panic(err)
	}
	result, err := idempotent.Do(context.Background(), guard, "a1", func(context.Context) (string, error) { return "written", nil })
	fmt.Println(result, err)
	// Output: written <nil>
}
