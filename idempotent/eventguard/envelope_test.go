package eventguard_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

func notification(id, text string) string {
	body, _ := json.Marshal(map[string]string{"Type": "Notification", "MessageId": id, "TopicArn": "arn:aws:sns:::orders", "Message": text})
	return string(body)
}

func busEvent(id, orderID string) string {
	return fmt.Sprintf(`{"version": "0", "id": %q, "detail-type": "OrderPlaced", "source": "shop", "detail": {"order_id": %q}}`, id, orderID)
}

func TestEnvelopes(t *testing.T) {
	tests := map[string]struct {
		content eventguard.Content
		key     *idempotency.Expression
		bodies  []string
		runs    int
		failed  []string
	}{
		"SNS sends to the queue twice":         {eventguard.SNSEnvelope, nil, []string{notification("n1", "{}"), notification("n1", "{}")}, 1, nil},
		"a publisher publishes twice":          {eventguard.SNSEnvelope, nil, []string{notification("n1", "{}"), notification("n2", "{}")}, 2, nil},
		"a publisher publishes twice, by key":  {eventguard.SNSEnvelope, byOrderID, []string{notification("n1", body("o1")), notification("n2", body("o1"))}, 1, nil},
		"raw delivery, by key":                 {eventguard.Body, byOrderID, []string{body("o1"), body("o1")}, 1, nil},
		"raw delivery in an envelope":          {eventguard.SNSEnvelope, nil, []string{body("o1"), "text", notification("", "{}"), `{"Type": "SubscriptionConfirmation", "MessageId": "n1", "Message": "?"}`, "null"}, 0, []string{"m0", "m1", "m2", "m3", "m4"}},
		"an empty notification":                {eventguard.SNSEnvelope, nil, []string{notification("n1", "")}, 1, nil},
		"EventBridge sends to the queue twice": {eventguard.EventBridgeEnvelope, nil, []string{busEvent("e1", "o1"), busEvent("e1", "o1")}, 1, nil},
		"an event is put twice":                {eventguard.EventBridgeEnvelope, nil, []string{busEvent("e1", "o1"), busEvent("e2", "o1")}, 2, nil},
		"an event is put twice, by key":        {eventguard.EventBridgeEnvelope, idempotency.MustJMESPath("detail.order_id"), []string{busEvent("e1", "o1"), busEvent("e2", "o1")}, 1, nil},
		"a transformed event":                  {eventguard.EventBridgeEnvelope, nil, []string{`{"order_id": "o1"}`, "text", "null", `[]`}, 0, []string{"m0", "m1", "m2", "m3"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runs := 0
			handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: test.key}), eventguard.Config{Content: test.content}, func(context.Context, json.RawMessage, events.SQSMessage) error {
				runs++
				return nil
			})
			var messages []events.SQSMessage
			for i, body := range test.bodies {
				messages = append(messages, message(fmt.Sprint("m", i), body))
			}
			got, err := handle(t.Context(), batch(messages...))
			wantFailed(t, got, err, test.failed...)
			if runs != test.runs {
				t.Errorf("%d runs, want %d", runs, test.runs)
			}
		})
	}
}

func TestAnEventInAQueueIsTyped(t *testing.T) {
	var l ledger
	handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{Content: eventguard.EventBridgeEnvelope}, func(_ context.Context, e eventguard.Event[order], _ events.SQSMessage) error {
		l.add(e.Source + " " + e.DetailType + " " + e.ID + " " + e.Detail.ID)
		return nil
	})
	got, err := handle(t.Context(), batch(message("m1", busEvent("e1", "o1"))))
	wantFailed(t, got, err)
	l.want(t, "shop OrderPlaced e1 o1")
}

// S3 puts a notification of one change into the queue more than once.
func TestS3NotificationsHaveAKey(t *testing.T) {
	change := func(event, object, request string) string {
		return `{"Records": [{"eventName": "` + event + `", "responseElements": {"x-amz-request-id": "` + request + `"},
			"s3": {"bucket": {"name": "b"}, "object": {"key": "k"` + object + `}}}]}`
	}
	created := func(sequencer, request string) string {
		return change("ObjectCreated:Put", `, "sequencer": "`+sequencer+`"`, request)
	}
	for name, test := range map[string]struct {
		first, second string
		runs          int
	}{
		"created, sent twice":    {created("01", "r1"), created("01", "r1"), 1},
		"created again":          {created("01", "r1"), created("02", "r2"), 2},
		"created and removed":    {created("01", "r1"), change("ObjectRemoved:Delete", `, "sequencer": "01"`, "r1"), 2},
		"tagged, sent twice":     {change("ObjectTagging:Put", "", "r1"), change("ObjectTagging:Put", "", "r1"), 1},
		"tagged again":           {change("ObjectTagging:Put", "", "r1"), change("ObjectTagging:Put", "", "r2"), 2},
		"ACL, sent twice":        {change("ObjectAcl:Put", "", "r1"), change("ObjectAcl:Put", "", "r1"), 1},
		"restored, sent twice":   {change("ObjectRestore:Completed", "", "r1"), change("ObjectRestore:Completed", "", "r1"), 1},
		"restoring and restored": {change("ObjectRestore:Post", "", "r1"), change("ObjectRestore:Completed", "", "r1"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: s3Change}), eventguard.Config{}, func(context.Context, events.S3Event, events.SQSMessage) error { runs++; return nil })
			got, err := handle(t.Context(), batch(message("m1", test.first), message("m2", test.second)))
			wantFailed(t, got, err)
			if runs != test.runs {
				t.Errorf("%d runs, want %d", runs, test.runs)
			}
		})
	}
}

// Lambda tries asynchronous events again by the function's own errors and panics.
func TestAnAsynchronousEventEndsAsItsFunctionDoes(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *idempotent.Guard, eventguard.Config, func(order) error) func(context.Context) error{
		"SNS": func(t *testing.T, g *idempotent.Guard, config eventguard.Config, fn func(order) error) func(context.Context) error {
			handle, err := eventguard.SNS(g, config, func(_ context.Context, o order, _ events.SNSEventRecord) error { return fn(o) })
			if err != nil {
				t.Fatal(err)
			}
			event := delivered[events.SNSEvent](t, "sns-payment.json")
			return func(ctx context.Context) error { return handle(ctx, event) }
		},
		"EventBridge": func(t *testing.T, g *idempotent.Guard, config eventguard.Config, fn func(order) error) func(context.Context) error {
			handle, err := eventguard.EventBridge(g, config, func(_ context.Context, e eventguard.Event[order]) error { return fn(e.Detail) })
			if err != nil {
				t.Fatal(err)
			}
			return func(ctx context.Context) error { return handle(ctx, json.RawMessage(busEvent("e1", "o1"))) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := persistence.NewMemory()
			guard := newGuard(t, store, idempotent.Config{})
			fails := open(t, guard, eventguard.Config{Logger: silent}, func(order) error { return errTryAgain })
			if err := fails(t.Context()); err != errTryAgain { //nolint:errorlint // unchanged, not wrapped
				t.Errorf("%v, want the function's own error", err)
			}
			panics := open(t, guard, eventguard.Config{Logger: silent}, func(order) error { panic("odd") })
			defer func() {
				if thrown := recover(); thrown != "odd" || len(store.Records()) > 0 {
					t.Errorf("panicked with %v and left %v, want \"odd\" and nothing", thrown, store.Records())
				}
			}()
			_ = panics(t.Context())
		})
	}
}

// The replay of an archive runs what was not done, or, by key, everything once more.
func TestTheReplayOfAnArchive(t *testing.T) {
	for name, test := range map[string]struct {
		key  *idempotency.Expression
		want []string
	}{
		"by the id":            {nil, []string{"live"}},
		"by the replay's name": {idempotency.MustJMESPath(`[id, "replay-name" || 'live']`), []string{"live", "march"}},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			handle, err := eventguard.EventBridge(newGuard(t, persistence.NewMemory(), idempotent.Config{Key: test.key}), eventguard.Config{}, func(_ context.Context, e eventguard.Event[json.RawMessage]) error {
				ran = append(ran, cmp.Or(e.ReplayName, "live"))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range []string{busEvent("e1", "o1"), busEvent("e1", "o1"), `{"replay-name": "march", ` + busEvent("e1", "o1")[1:], `{"replay-name": "march", ` + busEvent("e1", "o1")[1:]} {
				if err := handle(t.Context(), json.RawMessage(event)); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(ran, test.want) {
				t.Errorf("ran %q, want %q", ran, test.want)
			}
		})
	}
}

func TestNoEventIsRefused(t *testing.T) {
	handle, err := eventguard.EventBridge(newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{}, func(context.Context, json.RawMessage) error {
		t.Error("ran")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{`{}`, `{"id": 1}`, `{"id": "e1", "source": "shop"}`} {
		if err := handle(t.Context(), json.RawMessage(event)); !errors.Is(err, eventguard.ErrPayload) {
			t.Errorf("%s: %v, want a PayloadError", event, err)
		}
	}
}

func TestEventFilesAreUnderstood(t *testing.T) {
	guard := newGuard(t, persistence.NewMemory(), idempotent.Config{Key: idempotency.MustJMESPath("detail.payment_id || payment_id")})
	ran := 0
	type payment struct {
		ID string `json:"payment_id"`
	}
	check := func(p payment) error {
		ran++
		if p.ID != "pmt-2025-000417" {
			t.Errorf("payment %q", p.ID)
		}
		return nil
	}
	topic, err := eventguard.SNS(guard, eventguard.Config{}, func(_ context.Context, p payment, _ events.SNSEventRecord) error { return check(p) })
	if err != nil {
		t.Fatal(err)
	}
	bus, err := eventguard.EventBridge(guard, eventguard.Config{}, func(_ context.Context, e eventguard.Event[payment]) error { return check(e.Detail) })
	if err != nil {
		t.Fatal(err)
	}
	if err := topic(t.Context(), delivered[events.SNSEvent](t, "sns-payment.json")); err != nil {
		t.Error(err)
	}
	event, err := os.ReadFile("../../testdata/events/eventbridge-payment.json")
	if err != nil {
		t.Fatal(err)
	}
	// The same payment through another source: one operation, one key, one run.
	if err := bus(t.Context(), event); err != nil || ran != 1 {
		t.Errorf("%v after %d runs, want 1", err, ran)
	}
}
