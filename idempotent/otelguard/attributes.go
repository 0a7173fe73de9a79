package otelguard

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ikkai-go/idempotency/idempotent"
)

// The attributes. OpenTelemetry has no convention for idempotency.
const (
	operationAttribute = attribute.Key("idempotency.operation")
	codeAttribute      = attribute.Key("idempotency.code")
	requestAttribute   = attribute.Key("idempotency.request") // to the store
	// Of spans only: there are too many of them for metrics.
	keyAttribute     = attribute.Key("idempotency.key")
	stepAttribute    = attribute.Key("idempotency.step")
	attemptAttribute = attribute.Key("idempotency.attempt")
)

// attributes are those of metrics.
func attributes(e idempotent.Event) []attribute.KeyValue {
	all := []attribute.KeyValue{operationAttribute.String(e.Operation)}
	if e.Request != "" {
		all = append(all, requestAttribute.String(e.Request))
	}
	return all
}

// details are the attributes of spans and of what happens in them.
func details(e idempotent.Event) []attribute.KeyValue {
	all := attributes(e)
	if e.Key != "" {
		all = append(all, keyAttribute.String(e.Key))
	}
	if e.Step != "" {
		all = append(all, stepAttribute.String(e.Step))
	}
	if e.Attempt > 0 {
		all = append(all, attemptAttribute.Int(e.Attempt))
	}
	if e.Err != nil {
		all = append(all, codeAttribute.String(string(e.Code())))
	}
	return all
}

// name is that of a span: low in cardinality, with what the part is about behind it.
func name(e idempotent.Event) string {
	switch e.Kind {
	case idempotent.EventRequest:
		return "idempotency.request " + e.Request
	case idempotent.EventCall, idempotent.EventRun, idempotent.EventBatch:
		return "idempotency." + string(e.Kind) + " " + e.Operation
	default:
		return "idempotency." + string(e.Kind)
	}
}

// kind is that of a span: what asks the store is a client.
func kind(e idempotent.Event) trace.SpanKind {
	if e.Kind == idempotent.EventRequest {
		return trace.SpanKindClient
	}
	return trace.SpanKindInternal
}
