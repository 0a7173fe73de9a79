package idempotent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/aws/aws-lambda-go/lambda"
)

// Handler returns a Lambda handler guarded: anything that [lambda.NewHandler]
// accepts. It works on the raw bytes: the key expression sees the event exactly as
// Lambda delivered it, and a replay is byte-identical to the first response.
//
// A result that is an [io.Reader] is read to its end and stored. Streamed HTTP
// responses are not for a handler of bytes, which can only be answered with as a whole:
// package httpguard has StreamedFunctionURL and StreamedRESTAPI for them. Handler panics for functions that return one
// (events.LambdaFunctionURLStreamingResponse and its like), for what is
// neither a function nor a [lambda.Handler], and for a guard without a Key (or Dialect).
//
// The events of durable functions are recognised, and belong to their executions: keys are
// selected from what the execution's caller has sent, only SUCCEEDED is a result, and a later
// invocation of the execution goes on with its record. Answers that no invocation could
// change are responses with the status FAILED, whose ErrorType is the error's. A function of raw
// bytes, as the durable SDK's Wrap returns, gets these events as they are; any other event it
// gets as lambda.NewHandler would decode it, from base64. See docs/durable.md.
//
// A response that Lambda would refuse for its size is not stored, and the answer is
// *ResponseTooLargeError.
//
// The returned handler is safe for concurrent invocations, as Lambda managed
// instances make them. The responses of a handler made by lambda.NewHandler share
// a buffer, which is why such a handler is run one invocation at a time here,
// must be guarded once and can't call itself; pass the function itself where invocations are concurrent, and wrap middleware around
// the guarded handler rather than around what it guards. Options other than those
// of encoding belong to lambda.StartWithOptions.
func (g *Guard) Handler(handler any) lambda.Handler {
	g.mustHaveKey("Handler")
	h, ok := handler.(lambda.Handler)
	switch {
	case !ok:
		guarded := &guardedHandler{guard: g, invoke: invokeFunc(handler)}
		if fn, raw := reflect.ValueOf(handler), reflect.TypeFor[rawHandler](); fn.CanConvert(raw) { // whatever its type is called
			guarded.raw = invokeHandler(fn.Convert(raw).Interface().(rawHandler))
		}
		return guarded
	case h == lambda.NewHandler(h):
		return &oneAtATime{guarded: guardedHandler{guard: g, invoke: invokeHandler(h)}, free: make(chan struct{}, 1)}
	default:
		return &guardedHandler{guard: g, invoke: invokeHandler(h)}
	}
}

// mustHaveKey panics where a guard does not say what identifies a payload. Its whole
// content is not assumed: an event of API Gateway or SQS is never the same twice, so
// nothing would ever be recognised, and nothing would tell.
func (g *Guard) mustHaveKey(entry string) {
	if g.config.Key == nil && g.config.Dialect == nil {
		panic(fmt.Sprintf("idempotent: %s needs Config.Key for the operation %q; idempotency.WholePayload() is the whole event", entry, g.config.Operation))
	}
}

// maxResponse is how large the response of a Lambda function may be, in bytes: "6 MB" in
// its developer guide ("Lambda quotas"), and "Exceeded maximum allowed payload size
// (6291556 bytes)" in its answer to a function whose response is larger.
const maxResponse = 6_291_556

type guardedHandler struct {
	guard  *Guard
	invoke invoke
	raw    invoke // for the events of executions, if that is another one
}

// rawHandler is a function of raw bytes.
type rawHandler func(context.Context, []byte) ([]byte, error)

// Invoke implements [lambda.Handler].
func (f rawHandler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

// Invoke implements [lambda.Handler].
func (h *guardedHandler) Invoke(ctx context.Context, payload []byte) (response []byte, err error) {
	execution, input, unreadable := openDurable(ctx, payload)
	identify := func() (request, error) {
		if unreadable != nil {
			return request{execution: execution}, unreadable
		}
		id, err := h.guard.identifyEvent(input)
		id.execution = execution
		return id, err
	}
	err = h.guard.during(entering(ctx), Event{Kind: EventCall}, func(ctx context.Context) error {
		response, err = h.call(ctx, payload, execution, identify)
		return err
	})
	return execution.answer(response, err)
}

// call returns the response to an invocation, and with which error it has ended.
func (h *guardedHandler) call(ctx context.Context, payload []byte, of *execution, identify func() (request, error)) ([]byte, error) {
	var own effect
	invoke := h.invoke
	if of != nil && h.raw != nil {
		invoke = h.raw
	}
	stored, err := h.guard.call(ctx, identify, func(ctx context.Context, e *effect) error {
		err := invoke(of.within(ctx), payload, e)
		if size := len(e.result); err == nil && e.omit == nil && size > maxResponse {
			e.omit = &ResponseTooLargeError{Size: size}
		}
		own = *e
		if err != nil {
			return err
		}
		return of.take(e)
	})
	switch {
	case err != nil && of != nil:
		return own.result, err
	case err != nil:
		return nil, err
	case stored != nil:
		return stored.result, nil
	default:
		return own.result, own.omit
	}
}

// oneAtATime is a guarded handler whose invocations share a buffer. An invocation
// waits for its turn before it acquires anything: a lease must not run out in a
// queue.
type oneAtATime struct {
	guarded guardedHandler
	free    chan struct{}
}

// turnKey is the context's key of whose turn it is.
type turnKey struct{ of *oneAtATime }

// errOwnTurn refuses a call that would wait for itself.
var errOwnTurn = &ConfigError{Field: "Handler.handler", Problem: "shares a buffer between its invocations and calls itself; pass the function itself"}

// Invoke implements [lambda.Handler].
func (h *oneAtATime) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	turn := turnKey{h}
	if ctx.Value(turn) != nil {
		return nil, errOwnTurn
	}
	select {
	case h.free <- struct{}{}:
		defer func() { <-h.free }()
		return h.guarded.Invoke(context.WithValue(ctx, turn, true), payload)
	case <-ctx.Done():
		return nil, &NotStartedError{Err: ctx.Err()}
	}
}

// invoke calls a Lambda handler. The response it puts into the effect is one that
// nobody else writes to; where the handler is a function, an error of encoding
// its result is told from the function's own.
type invoke func(context.Context, []byte, *effect) error

// invokeHandler copies the response at once: it may be in a buffer that the next
// invocation writes to.
func invokeHandler(h lambda.Handler) invoke {
	return func(ctx context.Context, payload []byte, e *effect) error {
		response, err := h.Invoke(ctx, payload)
		e.done, e.result = err == nil, bytes.Clone(response)
		return err
	}
}

// invokeFunc gives each invocation a handler of its own until its response is
// copied, since lambda.NewHandler's responses are buffers of a pool that other
// invocations of the same handler write to.
func invokeFunc(handler any) invoke {
	fn := reflect.ValueOf(handler)
	if fn.Kind() != reflect.Func || fn.IsNil() {
		panic(fmt.Sprintf("idempotent: a %T is no Lambda handler", handler))
	}
	if fn.Type().NumOut() > 0 && streams(fn.Type().Out(0)) {
		panic(fmt.Sprintf("idempotent: responses of type %v are streamed and can't be replayed", fn.Type().Out(0)))
	}
	pool := sync.Pool{New: func() any { return newInvocation(fn) }}
	return func(ctx context.Context, payload []byte, e *effect) error {
		i := pool.Get().(*invocation)
		i.effect = e
		response, err := i.handler.Invoke(ctx, payload)
		e.result = bytes.Clone(response)
		pool.Put(i)
		if err != nil && e.done { // the function is not to blame
			e.omit = err
			return nil
		}
		return err
	}
}

// invocation is a Lambda handler that notes when the function has returned, and
// so tells the function's own errors from those of encoding its result.
type invocation struct {
	handler lambda.Handler
	effect  *effect
}

func newInvocation(fn reflect.Value) *invocation {
	call := fn.Call
	if fn.Type().IsVariadic() {
		call = fn.CallSlice
	}
	i := new(invocation)
	i.handler = lambda.NewHandler(reflect.MakeFunc(fn.Type(), func(args []reflect.Value) []reflect.Value {
		out := call(args)
		i.effect.note(out)
		return out
	}).Interface())
	return i
}

// note notes what a function has returned.
func (e *effect) note(out []reflect.Value) {
	e.done = true
	if len(out) == 0 {
		return
	}
	if err, failed := reflect.TypeAssert[error](out[len(out)-1]); failed && err != nil {
		e.done = false
		return
	}
	if result := out[0]; result.Kind() == reflect.Interface && !result.IsNil() && streams(result.Elem().Type()) {
		e.omit = errStreamed
	}
}

// errStreamed is what the caller gets too: what the stream's content type says
// is lost on this way out, so the function must be changed.
var errStreamed = errors.New("idempotent: the response is streamed and can't be replayed")

// streams tells whether Lambda treats results of this type as a stream with a
// content type of its own.
func streams(t reflect.Type) bool {
	type contentTyper interface{ ContentType() string }
	return t.Implements(reflect.TypeFor[io.Reader]()) && t.Implements(reflect.TypeFor[contentTyper]())
}
