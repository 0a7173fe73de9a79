package eventguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ikkai-go/idempotency/idempotent"
)

// record is one record of an event, of whatever source.
type record struct {
	id    string // in the log, and where the source is told that it failed
	group any    // of which only one runs at a time, and none behind a failure; nil for none
	// content finds what it is about: the payload, and an id that is the same in all
	// deliveries.
	content func() (payload []byte, id string, err error)
	run     func(ctx context.Context, payload []byte) error
	// alone is the event that brings this record and no other, as the function gets it.
	alone func() any

	// Found by identify.
	payload  []byte
	identity idempotent.Identity
	request  request // empty where there is none
	err      error   // why it can't be run, if it can't
}

// request tells what records of a batch are the same request: have the same key.
type request string

// text is the content of records whose payload and id need no finding.
func text(payload []byte, id string) func() ([]byte, string, error) {
	return func() ([]byte, string, error) { return payload, id, nil }
}

// decoded is the run of functions that take their payload decoded.
func decoded[T any](fn func(context.Context, T) error) func(context.Context, []byte) error {
	return func(ctx context.Context, payload []byte) error {
		value, err := decode[T](payload)
		if err != nil {
			return err
		}
		return fn(ctx, value)
	}
}

// processor runs records under a guard.
type processor struct {
	guard  *idempotent.Guard
	config Config
}

// newProcessor checks what a constructor was given.
func newProcessor(guard *idempotent.Guard, config Config, s source, missing bool) (processor, error) {
	var faults []error
	if guard == nil {
		faults = append(faults, fmt.Errorf("%w: no guard", idempotent.ErrConfig))
	}
	if missing {
		faults = append(faults, fmt.Errorf("%w: no function", idempotent.ErrConfig))
	}
	if err := errors.Join(append(faults, config.check(s))...); err != nil {
		return processor{}, fmt.Errorf("eventguard: %w", err)
	}
	config = config.withDefaults(s)
	return processor{guard: guard.Keeping(config.Retention), config: config}, nil
}

func (p processor) logger() *slog.Logger {
	if p.config.Logger == nil {
		return slog.Default()
	}
	return p.config.Logger
}

// identify finds what a record is about and what it is recognised by. Where it can't,
// the record says why.
func (p processor) identify(r *record) {
	if r.err != nil {
		return
	}
	payload, id, err := r.content()
	if err != nil {
		r.err = finite(err)
		return
	}
	r.payload = payload
	if p.config.Skip != nil && p.config.Skip(payload) {
		r.err = idempotent.ErrSkip
		return
	}
	r.identity = p.guard.IdentifyOr(payload, id)
	r.request = request(r.identity.Request())
}

// attempt runs a record of a batch, unless it is too late or was done before.
// It returns nil where the source need not deliver the record again.
func (p processor) attempt(ctx context.Context, r record) error {
	return contain(func() error { return p.settle(ctx, r) })
}

// event is what is kept of a record, where the guard keeps events.
func (r record) event() []byte {
	event := r.alone()
	if raw, ok := event.(json.RawMessage); ok {
		return raw // as it came
	}
	kept, err := json.Marshal(event)
	if err != nil {
		return nil
	}
	return kept
}

// single runs an asynchronous event. Its panic goes on.
func (p processor) single(ctx context.Context, r *record) error {
	p.identify(r)
	return p.settle(ctx, *r)
}

// settle takes a record through the guard's protocol, and returns nil where the source
// need not deliver it again.
func (p processor) settle(ctx context.Context, r record) error {
	err, last := r.err, idempotent.EventKind("")
	if err == nil {
		observed := p.guard.Observing(func(_ context.Context, e idempotent.Event) { last = e.Kind }).KeepingEvent(r.event)
		// Whatever result an operation has stored, a raw message can hold it.
		_, err = idempotent.DoAs(ctx, observed, r.identity, func(ctx context.Context) (json.RawMessage, error) {
			return nil, finite(r.run(ctx, r.payload))
		})
	}
	v := verdictOf(err)
	if !p.acknowledges(v, last) {
		return err
	}
	switch {
	case v.Code == idempotent.CodeSkipped && last == "": // before there was a call that reports it
		p.guard.Report(ctx, idempotent.Event{Kind: idempotent.EventSkipped, Err: err})
	case v.Code == idempotent.CodeFailed:
		p.logger().LogAttrs(ctx, slog.LevelWarn, "idempotency: acknowledged a permanent failure",
			slog.String("event", "failure_acknowledged"), slog.String("code", string(v.Code)), slog.String("record", r.id), slog.Any("error", err))
	}
	return nil
}
