package recorded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/overflow"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

// call is one that leaves a record.
type call struct {
	name string
	make func(*world) (answer string)
	// opaque are attributes that random bytes are in.
	opaque []string
}

// calls leave a record in each state that there is, and in each form.
var calls = []call{
	{name: "running", make: func(w *world) string {
		return w.handle(w.store(), idempotent.Config{Fingerprint: idempotency.MustJMESPath("amount")}, func() (any, error) {
			w.die()
			return map[string]int{"paid": w.amount}, nil
		})
	}},
	{name: "completed", make: func(w *world) string {
		return w.handle(w.store(), idempotent.Config{Fingerprint: idempotency.MustJMESPath("amount")}, w.pay)
	}},
	{name: "failed for good", make: func(w *world) string { return w.handle(w.store(), idempotent.Config{}, w.decline) }},
	{name: "failed", make: func(w *world) string {
		return w.handle(w.store(), idempotent.Config{}, func() (any, error) { return "paid", w.down() })
	}},
	{name: "refused after it died", make: func(w *world) string {
		return w.handle(w.store(), idempotent.Config{RefuseUnknown: true}, func() (any, error) {
			w.die()
			return "paid", nil
		})
	}},
	{name: "too large a result", make: func(w *world) string {
		return w.handle(w.store(), idempotent.Config{}, func() (any, error) { return strings.Repeat("x", 500_000), nil })
	}},
	{name: "not stored result", make: func(w *world) string {
		return w.handle(w.store(), idempotent.Config{OnlyLock: true}, w.pay)
	}},
	{name: "binary result", make: func(w *world) string {
		return w.handle(w.store(), idempotent.Config{}, func() (any, error) { return []byte{0, 1, 0xff}, nil })
	}},
	{name: "compressed", opaque: []string{"result"}, make: func(w *world) string {
		store := w.storeWith(dynamostore.Config{Table: table, Compress: true})
		return w.handle(store, idempotent.Config{}, func() (any, error) { return strings.Repeat("paid ", 1000), nil })
	}},
	{name: "sealed", opaque: []string{"result"}, make: func(w *world) string {
		return w.handle(w.sealed(), idempotent.Config{}, w.pay)
	}},
	{name: "sealed steps", opaque: []string{"steps", "result"}, make: func(w *world) string { return w.checkout(w.sealed()) }},
	{name: "overflow", make: func(w *world) string {
		store, err := overflow.New(w.store(), w.blobs, overflow.Config{Inline: 100})
		w.must(err)
		return w.handle(store, idempotent.Config{}, func() (any, error) { return strings.Repeat("paid ", 100), nil })
	}},
	{name: "single table", make: func(w *world) string {
		return w.handle(w.storeWith(singleTable), idempotent.Config{}, w.pay)
	}},
	{name: "tenant", make: func(w *world) string {
		w.tenant = "blue"
		return w.handle(w.store(), idempotent.Config{}, w.pay)
	}},
	{name: "key of a caller", make: func(w *world) string {
		return told(idempotent.Do(w.context(), w.keyless(w.store(), idempotent.Config{}), "o-1", func(context.Context) (string, error) {
			w.run("pay")
			return "paid", nil
		}))
	}},

	{name: "steps", make: func(w *world) string { return w.checkout(w.store()) }},
	{name: "steps of a run that died", make: func(w *world) string {
		return w.steps(w.store(), func(ctx context.Context) (string, error) {
			box, err := w.step(ctx, "reserve")
			if err != nil {
				return "", err
			}
			charge, err := plainStep["charge"].Run(ctx, func(context.Context, saga.Call) (string, error) {
				w.run("charge")
				w.die()
				return "ch-1", nil
			})
			return box + " " + charge, err
		})
	}},
	{name: "step with an input and without its output", make: func(w *world) string {
		charge := saga.NewStep(saga.Spec[string]{
			Name: "charge", AtMostOnce: true,
			Reconcile: func(context.Context, saga.Call) (string, bool, error) {
				w.run("look")
				return strings.Repeat("y", 500_000), true, nil
			},
		})
		return w.steps(w.store(), func(ctx context.Context) (string, error) {
			report, err := charge.RunFor(ctx, map[string]int{"amount": w.amount}, func(context.Context, saga.Call) (string, error) {
				w.run("charge")
				return strings.Repeat("x", 500_000), nil
			})
			return fmt.Sprint(len(report)), errors.Join(err, w.down())
		}, charge)
	}},
	{name: "at most once, started", make: func(w *world) string {
		return w.payout(func(context.Context, saga.Call) (string, bool, error) {
			w.run("look")
			return "tr-1", true, nil
		})
	}},
	{name: "at most once, started in vain", make: func(w *world) string {
		return w.payout(func(context.Context, saga.Call) (string, bool, error) {
			w.run("look")
			return "", false, nil
		})
	}},
	{name: "at most once, unknown", make: func(w *world) string { return w.payout(nil) }},
	{name: "at most once, declined", make: func(w *world) string { return w.declined() }},
	{name: "at most once, declined and started again", make: func(w *world) string {
		answer := w.declined()
		if w.recording {
			w.again = true
			return w.declined()
		}
		return answer
	}},
	{name: "going backward", make: func(w *world) string { return w.trip(w.store(), trip{diesIn: "undo hotel"}) }},
	{name: "going backward from a step that was declined", make: func(w *world) string {
		return w.trip(w.store(), trip{diesIn: "undo hotel", atMostOnce: true})
	}},
	{name: "half way back", make: func(w *world) string { return w.trip(w.store(), trip{diesIn: "undo flight"}) }},
	{name: "stuck on the way back", make: func(w *world) string { return w.trip(w.store(), trip{fails: errDown}) }},
	{name: "undone", make: func(w *world) string { return w.trip(w.store(), trip{}) }},
	{name: "sealed, half way back", opaque: []string{"steps", "result"}, make: func(w *world) string {
		return w.trip(w.sealed(), trip{diesIn: "undo flight"})
	}},
	// The lease is renewed on the way, at a moment of chance.
	{name: "going backward from writes that may come late", opaque: []string{"lease_until"}, make: func(w *world) string {
		undo := func(_ context.Context, _ saga.Call, out string) error {
			w.run("undo " + out)
			w.die()
			return nil
		}
		flight := saga.NewStep(saga.Spec[string]{Name: "flight", Compensate: undo})
		hotel := saga.NewStep(saga.Spec[string]{Name: "hotel", Compensate: undo})
		return w.steps(w.store(), func(ctx context.Context) (string, error) {
			_, err := flight.Run(ctx, func(context.Context, saga.Call) (string, error) {
				w.run("flight")
				return "flight-1", nil
			})
			if err != nil {
				return "", err
			}
			if w.recording {
				w.db.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.LoseRequest()})
			}
			_, _ = hotel.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
				w.run("hotel")
				return "hotel-1", w.enlist(ctx)
			})
			if w.recording { // and what was not answered is refused when it is asked for again
				w.db.ClearFaults()
				w.must(w.db.Seed("accounts", item{"id": &types.AttributeValueMemberS{Value: "alice"}, "closed": &types.AttributeValueMemberBOOL{Value: true}}))
			}
			return "", errDeclined
		}, flight, hotel)
	}},
	{name: "writes enlisted in a step", make: func(w *world) string {
		return w.steps(w.store(), func(ctx context.Context) (string, error) {
			out, err := plainStep["reserve"].Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
				w.run("reserve")
				return "box-7", w.enlist(ctx)
			})
			return out, errors.Join(err, w.down())
		})
	}},
	{name: "only writes", make: func(w *world) string {
		return told(idempotent.Do(w.context(), w.keyless(w.store(), idempotent.Config{OnlyEnlists: true}), "o-1", func(ctx context.Context) (string, error) {
			w.run("pay")
			return "paid", w.enlist(ctx)
		}))
	}},

	{name: "batch", make: func(w *world) string {
		report, err := batch.Each(w.context(), w.keyless(w.store(), idempotent.Config{}), batch.Batch[string]{
			Name: "2026-11", ID: func(id string) string { return id }, Concurrency: 1,
		}, []string{"ada", "ben", "cleo"}, func(_ context.Context, id string) error {
			w.run("pay " + id)
			switch id {
			case "ben":
				_, err := w.decline()
				return err
			case "cleo":
				w.die()
			}
			return nil
		})
		return fmt.Sprintf("%d left, %s", len(report.Left), code(err))
	}},
	{name: "queue", make: func(w *world) string {
		handler, err := eventguard.SQS(w.keyless(w.store(), idempotent.Config{Key: idempotency.MustJMESPath("id")}), eventguard.Config{Logger: quiet},
			func(context.Context, order, events.SQSMessage) error {
				w.run("pay")
				return nil
			})
		w.must(err)
		response, err := handler(w.context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m-1", Body: string(w.event())}}})
		return fmt.Sprintf("%d left, %s", len(response.BatchItemFailures), code(err))
	}},
	{name: "HTTP, running", make: func(w *world) string { return w.post(w.die) }},
	{name: "HTTP", make: func(w *world) string { return w.post(func() {}) }},

	{name: "Python, running", make: func(w *world) string {
		return w.peer(powertools.Python, "app.lambda_handler", func() (any, error) {
			w.die()
			return map[string]int{"paid": 1}, nil
		})
	}},
	{name: "Python", make: func(w *world) string { return w.peer(powertools.Python, "app.lambda_handler", w.pay) }},
	{name: "TypeScript, running", make: func(w *world) string {
		return w.peer(powertools.TypeScript, "", func() (any, error) {
			w.die()
			return map[string]int{"paid": 1}, nil
		})
	}},
	{name: "TypeScript", make: func(w *world) string { return w.peer(powertools.TypeScript, "", w.pay) }},
}

type order struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
}

var (
	quiet       = slog.New(slog.DiscardHandler)
	errDown     = errors.New("the provider is down")
	errDeclined = idempotent.Permanent(errors.New("declined"))
)

func (w *world) event() []byte { return fmt.Appendf(nil, `{"id":"o-1","amount":%d}`, w.amount) }

// pay is a function that succeeds.
func (w *world) pay() (any, error) { return map[string]int{"paid": w.amount}, nil }

// decline is one that fails for good in the recorded attempt.
func (w *world) decline() (any, error) {
	if w.recording {
		return nil, errDeclined
	}
	return "paid", nil
}

// down is an error in the recorded attempt.
func (w *world) down() error {
	if w.recording {
		return errDown
	}
	return nil
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

var singleTable = dynamostore.Config{
	Table: "single", PartitionValue: "idempotency#shop",
	Attributes: dynamostore.Attributes{Key: "pk", SortKey: "sk", ExpireAt: "ttl", Result: "data"},
}

// tableNames are all tables, the one of the records first.
var tableNames = []string{table, "single", "peers", "accounts"}

const table = "idempotency"

func (w *world) createTables() {
	w.t.Helper()
	peers := dynamostore.Config{Table: "peers", Attributes: dynamostore.Attributes{Key: "id", ExpireAt: "expiration"}}
	for _, config := range []dynamostore.Config{{Table: table}, singleTable, peers} {
		w.must(dynamostore.CreateTable(w.t.Context(), w.db.Client(), config))
	}
	w.db.MustCreateTable("accounts", "id")
}

func (w *world) store() persistence.Store { return w.storeWith(dynamostore.Config{Table: table}) }

func (w *world) storeWith(config dynamostore.Config) persistence.Store {
	store, err := dynamostore.New(w.db.Client(), config)
	w.must(err)
	return store
}

func (w *world) sealed() persistence.Store {
	sealer, err := sealed.NewAES(sealed.Key{ID: "2026-03", Secret: bytes.Repeat([]byte{7}, 32)})
	w.must(err)
	store, err := sealed.New(w.store(), sealer, sealed.Config{})
	w.must(err)
	return store
}

// guard has a key by the field id.
func (w *world) guard(store persistence.Store, config idempotent.Config) *idempotent.Guard {
	if config.Dialect == nil {
		config.Key = idempotency.MustJMESPath("id")
	}
	return w.keyless(store, config)
}

func (w *world) keyless(store persistence.Store, config idempotent.Config) *idempotent.Guard {
	config.Operation, config.Logger = "payment", quiet
	guard, err := idempotent.New(store, config)
	w.must(err)
	return guard
}

// handle invokes a handler whose function does what is given.
func (w *world) handle(store persistence.Store, config idempotent.Config, do func() (any, error)) string {
	ctx := lambdacontext.NewContext(w.context(), &lambdacontext.LambdaContext{TenantID: w.tenant})
	answer, err := w.guard(store, config).Handler(func(context.Context, order) (any, error) {
		w.run("pay")
		return do()
	}).Invoke(ctx, w.event())
	return told(string(answer), err)
}

// steps makes a call that has the steps of all stories here.
func (w *world) steps(store persistence.Store, fn func(context.Context) (string, error), own ...*saga.Step[string]) string {
	var declared []saga.Declaration
	for _, name := range []string{"reserve", "charge", "flight", "hotel", "car"} {
		step := plainStep[name]
		for _, s := range own {
			if s.Name() == name {
				step = s
			}
		}
		declared = append(declared, step)
	}
	guard := w.keyless(store, idempotent.Config{Steps: saga.Steps(declared...)})
	return told(idempotent.Do(w.context(), guard, "o-1", fn))
}

// plainStep are the steps of which nothing but the name is declared.
var plainStep = map[string]*saga.Step[string]{
	"reserve": saga.NewStep(saga.Spec[string]{Name: "reserve"}),
	"charge":  saga.NewStep(saga.Spec[string]{Name: "charge"}),
	"flight":  saga.NewStep(saga.Spec[string]{Name: "flight"}),
	"hotel":   saga.NewStep(saga.Spec[string]{Name: "hotel"}),
	"car":     saga.NewStep(saga.Spec[string]{Name: "car"}),
}

// step is a plain one.
func (w *world) step(ctx context.Context, name string) (string, error) {
	return plainStep[name].Run(ctx, func(context.Context, saga.Call) (string, error) {
		w.run(name)
		return name + "-1", nil
	})
}

// checkout fails after its first step.
func (w *world) checkout(store persistence.Store) string {
	return w.steps(store, func(ctx context.Context) (string, error) {
		box, err := w.step(ctx, "reserve")
		return box, errors.Join(err, w.down())
	})
}

// payout dies within a step that must run at most once.
func (w *world) payout(reconcile func(context.Context, saga.Call) (string, bool, error)) string {
	charge := saga.NewStep(saga.Spec[string]{Name: "charge", AtMostOnce: true, Reconcile: reconcile})
	return w.steps(w.store(), func(ctx context.Context) (string, error) {
		return charge.Run(ctx, func(context.Context, saga.Call) (string, error) {
			w.run("charge")
			w.die()
			return "tr-2", nil
		})
	}, charge)
}

// declined fails at a step that must run at most once, and is known not to have happened.
// Where it does so again, it dies in it.
func (w *world) declined() string {
	once := saga.NewStep(saga.Spec[string]{Name: "charge", AtMostOnce: true})
	return w.steps(w.store(), func(ctx context.Context) (string, error) {
		if _, err := w.step(ctx, "reserve"); err != nil {
			return "", err
		}
		charge, err := once.Run(ctx, func(context.Context, saga.Call) (string, error) {
			w.run("charge")
			if w.recording && !w.again {
				return "", errDeclined
			}
			if w.again {
				w.die()
			}
			return "ch-1", nil
		})
		if errors.Is(err, errDeclined) {
			return "", errDown // but the order may be paid in another way
		}
		return charge, err
	}, once)
}

// trip is one that fails for good at its last step.
type trip struct {
	diesIn     string // a compensation
	fails      error  // of a compensation, in the recorded attempt
	atMostOnce bool   // the last step
}

func (w *world) trip(store persistence.Store, tr trip) string {
	var legs []*saga.Step[string]
	for _, name := range []string{"flight", "hotel", "car"} {
		legs = append(legs, saga.NewStep(saga.Spec[string]{
			Name: name, AtMostOnce: tr.atMostOnce && name == "car",
			Compensate: func(_ context.Context, _ saga.Call, out string) error {
				w.run("undo " + out)
				if tr.diesIn == "undo "+name {
					w.die()
				}
				if name == "hotel" && w.recording {
					return tr.fails
				}
				return nil
			},
		}))
	}
	return w.steps(store, func(ctx context.Context) (string, error) {
		for _, leg := range legs {
			_, err := leg.Run(ctx, func(context.Context, saga.Call) (string, error) {
				w.run(leg.Name())
				if leg.Name() == "car" {
					return "", errDeclined
				}
				return leg.Name() + "-1", nil
			})
			if err != nil {
				return "", err
			}
		}
		return "booked", nil
	}, legs...)
}

// enlist has a write that commits with the record.
func (w *world) enlist(ctx context.Context) error {
	return dynamostore.Enlist(ctx, dynamostore.Write{Update: &types.Update{
		TableName:                 aws.String("accounts"),
		Key:                       item{"id": &types.AttributeValueMemberS{Value: "alice"}},
		UpdateExpression:          aws.String("ADD balance :amount"),
		ConditionExpression:       aws.String("attribute_not_exists(closed)"),
		ExpressionAttributeValues: item{":amount": &types.AttributeValueMemberN{Value: "1"}},
	}})
}

// post is a request to an HTTP API.
func (w *world) post(then func()) string {
	api, err := httpguard.New(w.keyless(w.store(), idempotent.Config{}), httpguard.Config{Scope: httpguard.ByHeader("x-user"), Logger: quiet})
	w.must(err)
	request := events.APIGatewayV2HTTPRequest{
		RawPath: "/payments", Body: string(w.event()), Headers: map[string]string{"idempotency-key": "8e03978e", "x-user": "ada"},
	}
	request.RequestContext.HTTP.Method = "POST"
	response, err := api.HTTPAPI(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		w.run("pay")
		then()
		return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: "ch-1", Headers: map[string]string{"Content-Type": "text/plain", "Location": "/payments/ch-1"}}, nil
	})(w.context(), request)
	var problem struct{ Code string }
	if json.Unmarshal([]byte(response.Body), &problem) == nil && problem.Code != "" {
		response.Body = problem.Code // texts are free to change
	}
	return fmt.Sprint(response.StatusCode, " ", response.Body, " ", response.Headers["Location"], " ", code(err))
}

// peer is a function that shares the records of another toolkit.
func (w *world) peer(of func(powertools.Options) (*powertools.Peer, error), function string, do func() (any, error)) string {
	peer, err := of(powertools.Options{
		FunctionName: "orders", Function: function, EventKey: "id", Validation: "amount",
		Table: dynamostore.Config{Table: "peers"},
	})
	w.must(err)
	store, err := peer.Store(w.db.Client())
	w.must(err)
	return w.handle(store, peer.Config(idempotent.Config{}), do)
}

// told is what a caller knows: the result, or the code of the error and what an earlier
// run has failed with.
func told(result string, err error) string {
	if len(result) > 100 {
		result = fmt.Sprintf("%d bytes", len(result))
	}
	if p, ok := errors.AsType[*idempotent.PermanentError](err); ok {
		result += p.Message
	}
	return result + " " + code(err)
}

func code(err error) string {
	v := idempotent.VerdictOf(err)
	return fmt.Sprintf("(%s, done %v, again %v)", v.Code, v.Done, v.Retry)
}

// shelf has the results that are kept apart.
type shelf struct {
	mu    sync.Mutex
	blobs map[string][]byte
}

func (s *shelf) Put(_ context.Context, name string, content []byte, _ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blobs == nil {
		s.blobs = make(map[string][]byte)
	}
	s.blobs[name] = bytes.Clone(content)
	return nil
}

func (s *shelf) Get(_ context.Context, name string, _ int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if content, is := s.blobs[name]; is {
		return content, nil
	}
	return nil, overflow.ErrMissing
}

func (s *shelf) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.blobs, name)
	return nil
}

func (s *shelf) put(all map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs = maps.Clone(all)
}

func (s *shelf) all() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.blobs)
}
