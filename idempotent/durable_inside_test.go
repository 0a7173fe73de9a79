package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// durableContext is the context of a durable function, as its SDK has it; stepContext is that of
// one of its steps, which is made of it.
type (
	durableContext struct{ context.Context }
	stepContext    struct{ context.Context }
)

func (durableContext) ExecutionArn() string { return executionA }
func (durableContext) IsReplaying() bool    { return false }
func (stepContext) Attempt() int            { return 1 }

// In a durable function nobody can tell a suspension from an end, whatever the door: also an answer
// without an error is PENDING where the function has dropped the suspension's. In one of its steps a
// call is as elsewhere.
func TestACallInADurableFunctionIsRefusedBesideItsSteps(t *testing.T) {
	keyed := idempotent.Config{Key: idempotency.MustJMESPath("id")}
	order := map[string]string{"id": "1"}
	doors := map[string]struct {
		config idempotent.Config
		call   func(context.Context, *idempotent.Guard, func()) error
	}{
		"Func": {keyed, func(ctx context.Context, g *idempotent.Guard, run func()) error {
			_, err := idempotent.Func(g, func(context.Context, map[string]string) (int, error) { run(); return 1, nil })(ctx, order)
			return err
		}},
		"Handler": {keyed, func(ctx context.Context, g *idempotent.Guard, run func()) error {
			_, err := g.Handler(func(context.Context, json.RawMessage) (int, error) { run(); return 1, nil }).Invoke(ctx, []byte(`{"id":"1"}`))
			return err
		}},
		"Do": {idempotent.Config{}, func(ctx context.Context, g *idempotent.Guard, run func()) error {
			_, err := idempotent.Do(ctx, g, "1", func(context.Context) (int, error) { run(); return 1, nil })
			return err
		}},
		"Do, with a context that is made of it": {idempotent.Config{}, func(ctx context.Context, g *idempotent.Guard, run func()) error {
			ctx, end := g.Begin(ctx, idempotent.Event{Kind: idempotent.EventBatch})
			defer func() { end(nil) }()
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return g.Do(ctx, "1", func(context.Context) error { run(); return nil })
		}},
		"Do, with steps": {idempotent.Config{Steps: saga.Steps(lab.Named[string]("charge"))}, func(ctx context.Context, g *idempotent.Guard, run func()) error {
			return g.Do(ctx, "1", func(context.Context) error { run(); return nil })
		}},
		"DoAs": {keyed, func(ctx context.Context, g *idempotent.Guard, run func()) error {
			return g.DoAs(ctx, g.Identify([]byte(`{"id":"1"}`)), func(context.Context) error { run(); return nil })
		}},
		"batch.Each": {idempotent.Config{}, func(ctx context.Context, g *idempotent.Guard, run func()) error {
			report, err := batch.Each(ctx, g, batch.Batch[string]{Name: "b", ID: func(item string) string { return item }}, []string{"1"}, func(context.Context, string) error { run(); return nil })
			for _, e := range report.Errors {
				err = errors.Join(err, e)
			}
			return err
		}},
		"eventguard.SQS": {keyed, func(ctx context.Context, g *idempotent.Guard, run func()) error {
			handle, err := eventguard.SQS(g, eventguard.Config{}, func(context.Context, map[string]string, events.SQSMessage) error { run(); return nil })
			if err != nil {
				return err
			}
			response, err := handle(ctx, events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", Body: `{"id":"1"}`}}})
			if len(response.BatchItemFailures) == 1 { // it comes back, and why is logged
				return idempotent.ErrConfig
			}
			return err
		}},
		"httpguard.HTTPAPI": {idempotent.Config{}, func(ctx context.Context, g *idempotent.Guard, run func()) error {
			api, err := httpguard.New(g, httpguard.Config{Scope: httpguard.Unscoped()})
			if err != nil {
				return err
			}
			response, err := api.HTTPAPI(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
				run()
				return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated}, nil
			})(ctx, events.APIGatewayV2HTTPRequest{
				Headers:        map[string]string{"idempotency-key": `"8e03978e"`},
				RequestContext: events.APIGatewayV2HTTPRequestContext{HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: http.MethodPost, Path: "/orders"}},
			})
			if response.StatusCode == http.StatusInternalServerError {
				return idempotent.ErrConfig
			}
			return err
		}},
	}
	for name, door := range doors {
		t.Run(name, func(t *testing.T) {
			for _, trace := range []func(context.Context, idempotent.Event) (context.Context, func(idempotent.Event)){nil, traced} {
				memory := persistence.NewMemory()
				runs := 0
				door.config.Trace = trace
				guard := lab.NewKeylessGuard(t, memory, door.config)
				ctx := durableContext{t.Context()}
				if err := door.call(ctx, guard, func() { runs++ }); !errors.Is(err, idempotent.ErrConfig) || runs != 0 || len(memory.Records()) != 0 {
					t.Errorf("in the function: %v, %d runs, %d records", err, runs, len(memory.Records()))
				}
				if err := door.call(stepContext{ctx}, guard, func() { runs++ }); err != nil || runs != 1 {
					t.Errorf("in a step: %v, %d runs", err, runs)
				}
			}
		})
	}
}

type tracedKey struct{}

func traced(ctx context.Context, _ idempotent.Event) (context.Context, func(idempotent.Event)) {
	return context.WithValue(ctx, tracedKey{}, true), nil
}

// first makes the first invocation of an execution, by a guard of that config.
func first(t *testing.T, store persistence.Store, config idempotent.Config, fn func(context.Context) (json.RawMessage, error)) (string, error) {
	t.Helper()
	response, err := newTestGuard(t, store, config).Handler(fn).Invoke(t.Context(), fmt.Appendf(nil, firstInvocation, executionA, 0, `{"id":"order 1"}`))
	return string(response), err
}

// What a durable function can't have is refused before anything runs, as the end of its execution.
func TestADurableFunctionHasNoStepsOfOurs(t *testing.T) {
	for name, config := range map[string]idempotent.Config{
		"Steps":       {Steps: saga.Steps(lab.Named[string]("charge"))},
		"OnlyEnlists": {OnlyEnlists: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, store := lab.NewDynamo(t)
			got, err := first(t, store, config, func(context.Context) (json.RawMessage, error) {
				t.Error("it runs")
				return json.RawMessage(pending), nil
			})
			if err != nil || !strings.Contains(got, `"Status":"FAILED"`) || !strings.Contains(got, `invalid_config`) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// A write that a step has enlisted would be lost with its invocation, since the step does not run
// again: so nothing can be enlisted, whether there is a record or not.
func TestNothingCanBeEnlistedInADurableFunction(t *testing.T) {
	for name, faults := range map[string][]dynamotest.Fault{
		"with a record":    nil,
		"without a record": {{Operation: "PutItem", Table: lab.Table, Times: dynamotest.Always, Do: dynamotest.Fail("InternalServerError", "down", 500)}},
	} {
		t.Run(name, lab.Bubbled(func(t *testing.T) {
			s := lab.NewShop(t, 1)
			s.DB.Inject(faults...)
			var log lab.EventLog
			got, err := first(t, s.Store, idempotent.Config{FailOpen: true, Observe: log.Observe}, func(ctx context.Context) (json.RawMessage, error) {
				if err := lab.Take(ctx, 1, lab.ErrOutOfStock); !errors.Is(err, persistence.ErrNotEnlisted) {
					t.Errorf("enlisted: %v", err)
				}
				return json.RawMessage(succeeded), nil
			})
			if err != nil || got != succeeded || s.Left() != 1 {
				t.Errorf("got %s, %v, %d left", got, err, s.Left())
			}
			if unprotected := slices.Contains(log.Kinds(), idempotent.EventUnprotected); unprotected != (faults != nil) {
				t.Errorf("run unprotected: %t", unprotected)
			}
		}))
	}
}

// What those are told who observe, where the caller gets a response without an error.
func TestObserversAreToldHowAnInvocationHasEnded(t *testing.T) {
	for name, test := range map[string]struct {
		answers   string
		execution string
		call, run idempotent.Code
	}{
		"suspended":       {pending, executionA, idempotent.CodeSuspended, idempotent.CodeSuspended},
		"succeeded":       {succeeded, executionA, idempotent.CodeCompleted, idempotent.CodeCompleted},
		"failed":          {failed, executionA, idempotent.CodeFunctionFailed, idempotent.CodeFunctionFailed},
		"failed for good": {`{"Status":"FAILED","Error":{"ErrorType":"PermanentError"}}`, executionA, idempotent.CodeFailed, idempotent.CodeFailed},
		"refused":         {pending, executionB, idempotent.CodeInProgress, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDurable(t, persistence.NewMemory())
			d.answers(pending)
			d.wants(executionA, pending, 1)
			ended := make(map[idempotent.EventKind]idempotent.Code)
			d.config.Trace = func(ctx context.Context, _ idempotent.Event) (context.Context, func(idempotent.Event)) {
				return ctx, func(e idempotent.Event) { ended[e.Kind] = e.Code() }
			}
			d.answers(test.answers)
			if _, err := d.invoke(test.execution); err != nil {
				t.Error(err)
			}
			if ended[idempotent.EventCall] != test.call || ended[idempotent.EventRun] != test.run {
				t.Errorf("told %v", ended)
			}
			if suspended := slices.Contains(d.events[2:], idempotent.EventSuspended); suspended != (test.run == idempotent.CodeSuspended) {
				t.Errorf("told %v", d.events)
			}
		})
	}
}
