// Package otelguard turns what guards tell into OpenTelemetry spans and metrics. It is a
// module of its own, so that nobody else's go.mod knows OpenTelemetry, and uses its API
// only: which SDK and exporter there are is the application's choice.
//
//	guard, err := idempotent.New(store, otelguard.Watch(idempotent.Config{Operation: "payment", Key: key}))
//
// That is all there is to switch on, for every entry point. Spans lie in each other as
// the parts of a call do, and what the guarded function does lies in the span of its run:
// a batch of messages has calls, a call has requests to the store and a run, a run has
// steps. What tells one request from another, its key and its id, is an attribute of
// spans only; metrics have the operation, the code, and for requests to the store their
// kind. docs/metrics.md has the table of metrics.
package otelguard

import (
	"context"
	"fmt"
	"math"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/measure"
)

// scope names the instrumentation.
const scope = "github.com/ikkai-go/idempotency/idempotent/otelguard"

// Config says where spans and metrics go. The zero value is what [Watch] uses.
type Config struct {
	// TracerProvider makes the tracer. Defaults to the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the instruments. Defaults to the global one.
	MeterProvider metric.MeterProvider
}

// Telemetry makes spans and metrics of what any number of guards tell. It is immutable and
// safe for concurrent use.
type Telemetry struct {
	tracer   trace.Tracer
	counters [measure.Metrics]metric.Float64Counter
	times    [measure.Metrics]metric.Float64Histogram
}

// New returns telemetry as config describes it. The error is that of a meter which refuses
// an instrument.
func New(config Config) (*Telemetry, error) {
	if config.TracerProvider == nil {
		config.TracerProvider = otel.GetTracerProvider()
	}
	if config.MeterProvider == nil {
		config.MeterProvider = otel.GetMeterProvider()
	}
	t := &Telemetry{tracer: config.TracerProvider.Tracer(scope)}
	meter := config.MeterProvider.Meter(scope)
	for m, entry := range measure.Table {
		var err error
		if entry.Unit == measure.Time {
			t.times[m], err = meter.Float64Histogram(entry.OpenTelemetry, metric.WithUnit(entry.UCUM), metric.WithDescription(entry.Meaning), metric.WithExplicitBucketBoundaries(buckets...))
		} else {
			t.counters[m], err = meter.Float64Counter(entry.OpenTelemetry, metric.WithUnit(entry.UCUM), metric.WithDescription(entry.Meaning))
		}
		if err != nil {
			return nil, fmt.Errorf("otelguard: %s: %w", entry.OpenTelemetry, err)
		}
	}
	return t, nil
}

// buckets are those of the semantic conventions for durations of HTTP requests, in seconds,
// and beyond them up to Lambda's longest timeout.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900}

// Watch returns a config whose guard is traced and measured by the global providers, as
// they are now or will be set. It panics where the global meter refuses an instrument,
// which none of OpenTelemetry's own does.
//
// Hooks that the config has, Observe and Trace, are called as before.
func Watch(config idempotent.Config) idempotent.Config {
	t, err := New(Config{})
	if err != nil {
		panic(err)
	}
	return t.Watch(config)
}

// Watch returns a config whose guard is traced and measured. Hooks that the config has,
// Observe and Trace, are called as before.
func (t *Telemetry) Watch(config idempotent.Config) idempotent.Config {
	return measure.Watch(config, t.observe, t.trace)
}

// observe counts an event, and notes it in the span that it happens in.
func (t *Telemetry) observe(ctx context.Context, e idempotent.Event) {
	if m, counts := measure.OfEvent(e); counts {
		t.counters[m].Add(ctx, 1, metric.WithAttributes(attributes(e)...))
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if e.Key != "" {
		span.SetAttributes(keyAttribute.String(e.Key))
	}
	span.AddEvent("idempotency."+string(e.Kind), trace.WithAttributes(details(e)...))
}

// trace opens the span of a part, and measures the part when it ends.
func (t *Telemetry) trace(ctx context.Context, e idempotent.Event) (context.Context, func(idempotent.Event)) {
	ctx, span := t.tracer.Start(ctx, name(e), trace.WithSpanKind(kind(e)), trace.WithAttributes(details(e)...))
	return ctx, func(e idempotent.Event) {
		t.measure(ctx, e)
		if span.IsRecording() {
			span.SetAttributes(codeAttribute.String(string(e.Code())))
			if e.Err != nil && !slices.Contains(harmless, e.Code()) {
				span.SetStatus(codes.Error, string(e.Code()))
				span.RecordError(e.Err)
			}
		}
		span.End()
	}
}

// harmless are the ends that are no failures: there was nothing to do, or there is more to come.
var harmless = []idempotent.Code{idempotent.CodeSkipped, idempotent.CodeSuspended}

// measure measures a part that has ended.
func (t *Telemetry) measure(ctx context.Context, e idempotent.Event) {
	took := e.Elapsed.Seconds()
	withCode := metric.WithAttributes(append(attributes(e), codeAttribute.String(string(e.Code())))...)
	switch e.Kind {
	case idempotent.EventCall:
		t.counters[measure.Calls].Add(ctx, 1, withCode)
	case idempotent.EventRun:
		t.counters[measure.Runs].Add(ctx, 1, metric.WithAttributes(attributes(e)...))
		t.times[measure.RunDuration].Record(ctx, took, withCode)
	case idempotent.EventRequest:
		t.times[measure.RequestDuration].Record(ctx, took, withCode)
		if e.Units > 0 && !math.IsInf(e.Units, 0) {
			t.counters[measure.Units].Add(ctx, e.Units, metric.WithAttributes(attributes(e)...))
		}
	}
}
