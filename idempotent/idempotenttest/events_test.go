package idempotenttest_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/idempotent/idempotenttest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// source is a source of events: a function that is guarded as the source demands, and
// events of it.
type source struct {
	function                  func(guard *idempotent.Guard, pay func(context.Context) error) (any, error)
	request, duplicate, other any
}

// api guards a function behind one of the sources of HTTP.
func api(guard *idempotent.Guard) (*httpguard.API, error) {
	return httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped()})
}

var (
	first  = idempotenttest.HTTPRequest{Path: "/payments", Key: "k-1", Body: `{"amount":10}`}
	second = idempotenttest.HTTPRequest{Path: "/payments", Key: "k-2", Body: `{"amount":10}`}
	images = map[string]events.DynamoDBAttributeValue{"id": events.NewStringAttribute("a")}
)

var sources = map[string]source{
	"API Gateway, payload 1.0": {
		func(guard *idempotent.Guard, pay func(context.Context) error) (any, error) {
			a, err := api(guard)
			return a.RESTAPI(func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
				return events.APIGatewayProxyResponse{StatusCode: 201}, pay(ctx)
			}), err
		}, idempotenttest.APIGatewayV1(first), nil, idempotenttest.APIGatewayV1(second),
	},
	"API Gateway, payload 2.0": {
		func(guard *idempotent.Guard, pay func(context.Context) error) (any, error) {
			a, err := api(guard)
			return a.HTTPAPI(func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
				return events.APIGatewayV2HTTPResponse{StatusCode: 201}, pay(ctx)
			}), err
		}, idempotenttest.APIGatewayV2(first), nil, idempotenttest.APIGatewayV2(second),
	},
	"ALB": {
		func(guard *idempotent.Guard, pay func(context.Context) error) (any, error) {
			a, err := api(guard)
			return a.ALB(func(ctx context.Context, _ events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
				return events.ALBTargetGroupResponse{StatusCode: 201}, pay(ctx)
			}), err
		}, idempotenttest.ALB(first), nil, idempotenttest.ALB(second),
	},
	"function URL": {
		func(guard *idempotent.Guard, pay func(context.Context) error) (any, error) {
			a, err := api(guard)
			return a.FunctionURL(func(ctx context.Context, _ events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
				return events.LambdaFunctionURLResponse{StatusCode: 201}, pay(ctx)
			}), err
		}, idempotenttest.FunctionURL(first), nil, idempotenttest.FunctionURL(second),
	},
	"SQS": {
		sqs, idempotenttest.SQS(`{"n":1}`), idempotenttest.Redelivered(idempotenttest.SQS(`{"n":1}`)), idempotenttest.SQS(`{"n":2}`),
	},
	"SQS, FIFO": {
		sqs, idempotenttest.SQSFIFO("g", `{"n":1}`), idempotenttest.Redelivered(idempotenttest.SQSFIFO("g", `{"n":1}`)), idempotenttest.SQSFIFO("g", `{"n":2}`),
	},
	"Kinesis": {
		func(guard *idempotent.Guard, pay func(context.Context) error) (any, error) {
			return eventguard.Kinesis(guard, eventguard.Config{}, func(ctx context.Context, _ json.RawMessage, _ events.KinesisEventRecord) error { return pay(ctx) })
		}, idempotenttest.Kinesis("p", `1`), nil, idempotenttest.Kinesis("p", `2`),
	},
	"DynamoDB stream": {
		func(guard *idempotent.Guard, pay func(context.Context) error) (any, error) {
			return eventguard.DynamoDB(guard, eventguard.Config{}, func(ctx context.Context, _ events.DynamoDBEventRecord) error { return pay(ctx) })
		},
		idempotenttest.DynamoDBStream("orders", idempotenttest.Change{Keys: images, New: images}), nil,
		idempotenttest.DynamoDBStream("orders", idempotenttest.Change{Keys: images, Old: images}),
	},
	"SNS": {
		func(guard *idempotent.Guard, pay func(context.Context) error) (any, error) {
			return eventguard.SNS(guard, eventguard.Config{}, func(ctx context.Context, _ json.RawMessage, _ events.SNSEventRecord) error { return pay(ctx) })
		}, idempotenttest.SNS(`1`), nil, idempotenttest.SNS(`2`),
	},
	"EventBridge": {
		func(guard *idempotent.Guard, pay func(context.Context) error) (any, error) {
			return eventguard.EventBridge(guard, eventguard.Config{}, func(ctx context.Context, _ json.RawMessage) error { return pay(ctx) })
		}, idempotenttest.EventBridge("shop", "Paid", `{"n":1}`), nil, idempotenttest.EventBridge("shop", "Paid", `{"n":2}`),
	},
}

func sqs(guard *idempotent.Guard, pay func(context.Context) error) (any, error) {
	return eventguard.SQS(guard, eventguard.Config{}, func(ctx context.Context, _ json.RawMessage, _ events.SQSMessage) error { return pay(ctx) })
}

// again is the request when it arrives again.
func (s source) again() any {
	if s.duplicate != nil {
		return s.duplicate
	}
	return s.request
}

// paying is the function of a source.
func (s source) paying() idempotenttest.Function {
	return idempotenttest.Function{
		New: func(e *idempotenttest.Environment) (any, error) {
			store, err := dynamostore.New(e.Client(), dynamostore.Config{Table: "idempotency"})
			if err != nil {
				return nil, err
			}
			guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				return nil, err
			}
			provider := e.Service("charge")
			return s.function(guard, func(ctx context.Context) error {
				_, err := provider.Do(ctx, idempotent.DownstreamKey(ctx), "a payment")
				return err
			})
		},
		Request: s.request,
	}
}

func TestTheGuardsKnowTheEventsOfEverySource(t *testing.T) {
	for name, s := range sources {
		t.Run(name, func(t *testing.T) {
			idempotenttest.Story(t, s.paying(), func(t *testing.T, w *idempotenttest.World) {
				e := w.Start()
				for n, event := range []any{s.request, s.again(), s.other} {
					if a := e.Invoke(event); a.Err != nil {
						t.Errorf("event %d: %v", n, a)
					}
					if got, want := len(w.Effects()), n/2+1; got != want {
						t.Errorf("after event %d there are %d effects, want %d", n, got, want)
					}
				}
			})
		})
	}
}
