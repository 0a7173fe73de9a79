package idempotent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/aws/aws-lambda-go/lambda"
)

// Handler returns a Lambda handler guarded: anything that [lambda.NewHandler]
// accepts, with the same options. It works on the raw bytes: the key expression
// sees the event exactly as Lambda delivered it, and a replay is byte-identical
// to the first response.
//
// A result that is an [io.Reader] is read to its end and stored. Streamed HTTP
// responses can't be replayed, and Handler panics for functions that return one
// (events.LambdaFunctionURLStreamingResponse and its like), and for what is
// neither a function nor a [lambda.Handler].
//
// The returned handler is safe for concurrent invocations, as Lambda managed
// instances make them. A handler made by lambda.NewHandler itself is not, since
// its responses share a buffer, and is therefore run one invocation at a time;
// pass the function instead.
func (g *Guard) Handler(handler any, options ...lambda.Option) lambda.Handler {
	return &guardedHandler{guard: g, invoke: newInvoke(handler, options)}
}

type guardedHandler struct {
	guard  *Guard
	invoke invoke
}

// Invoke implements [lambda.Handler].
func (h *guardedHandler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var own effect
	identify := func() (identity, error) { return h.guard.identifyPayload(payload) }
	stored, err := h.guard.call(ctx, identify, func(ctx context.Context, e *effect) error {
		err := h.invoke(ctx, payload, e)
		own = *e
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case stored != nil:
		return stored.result, nil
	default:
		return own.result, own.omit
	}
}

// invoke calls a Lambda handler. The response it puts into the effect is one that
// nobody else writes to; where the handler is a function, an error of encoding
// its result is told from the function's own.
type invoke func(context.Context, []byte, *effect) error

func newInvoke(handler any, options []lambda.Option) invoke {
	if h, ok := handler.(lambda.Handler); ok {
		if h == lambda.NewHandler(h) {
			return oneAtATime(h)
		}
		return func(ctx context.Context, payload []byte, e *effect) (err error) {
			e.result, err = h.Invoke(ctx, payload)
			return err
		}
	}
	fn := reflect.ValueOf(handler)
	if fn.Kind() != reflect.Func || fn.IsNil() {
		panic(fmt.Sprintf("idempotent: a %T is no Lambda handler", handler))
	}
	if fn.Type().NumOut() > 0 && streams(fn.Type().Out(0)) {
		panic(fmt.Sprintf("idempotent: responses of type %v are streamed and can't be replayed", fn.Type().Out(0)))
	}
	// lambda.NewHandler's response is a buffer of a pool that the next invocation
	// of the same handler may write to. So each invocation has a handler of its
	// own until its response is copied.
	pool := sync.Pool{New: func() any { return newInvocation(fn, options) }}
	return func(ctx context.Context, payload []byte, e *effect) error {
		i := pool.Get().(*invocation)
		i.effect = e
		response, err := i.handler.Invoke(ctx, payload)
		if err != nil && e.done {
			e.omit, err = err, nil
		}
		e.result = bytes.Clone(response)
		pool.Put(i)
		return err
	}
}

// invocation is a Lambda handler that notes when the function has returned, and
// so tells the function's own errors from those of encoding its result.
type invocation struct {
	handler lambda.Handler
	effect  *effect
}

func newInvocation(fn reflect.Value, options []lambda.Option) *invocation {
	i := new(invocation)
	watched := reflect.MakeFunc(fn.Type(), func(args []reflect.Value) []reflect.Value {
		out := fn.Call(args)
		i.effect.done = true
		if len(out) > 0 {
			err, failed := reflect.TypeAssert[error](out[len(out)-1])
			i.effect.done = !failed || err == nil
		}
		return out
	})
	i.handler = lambda.NewHandlerWithOptions(watched.Interface(), options...)
	return i
}

// oneAtATime serialises a handler whose responses share a buffer.
func oneAtATime(h lambda.Handler) invoke {
	var mu sync.Mutex
	return func(ctx context.Context, payload []byte, e *effect) error {
		mu.Lock()
		defer mu.Unlock()
		response, err := h.Invoke(ctx, payload)
		e.result = bytes.Clone(response)
		return err
	}
}

// streams tells whether Lambda treats results of this type as a stream with a
// content type of its own.
func streams(t reflect.Type) bool {
	type contentTyper interface{ ContentType() string }
	return t.Implements(reflect.TypeFor[io.Reader]()) && t.Implements(reflect.TypeFor[contentTyper]())
}
