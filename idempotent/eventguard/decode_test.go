package eventguard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// runsOn tells whether a function of T runs for a payload.
func runsOn[T any](t *testing.T, config idempotent.Config, payload string) bool {
	t.Helper()
	runs := 0
	handle := consumer(t, newGuard(t, persistence.NewMemory(), config), eventguard.Config{}, func(context.Context, T, events.SQSMessage) error {
		runs++
		return nil
	})
	got, err := handle(t.Context(), batch(message("m1", payload)))
	if err != nil || len(got.BatchItemFailures) != 1-runs {
		t.Errorf("%d runs, and the answer is %v, %v", runs, got, err)
	}
	return runs == 1
}

// orderByHand reads JSON by its own rules.
type orderByHand struct{ text string }

func (o *orderByHand) UnmarshalJSON(text []byte) error {
	o.text = string(text)
	return nil
}

type nested struct {
	ID    string `json:"order_id"`
	Inner []struct {
		Order order `json:"order"`
	} `json:"inner"`
}

func TestFnAndKeySeeTheSameRequest(t *testing.T) {
	keyed, bare := idempotent.Config{Key: byOrderID}, idempotent.Config{}
	tests := map[string]struct {
		on      func(*testing.T, idempotent.Config, string) bool
		config  idempotent.Config
		payload string
		runs    bool
	}{
		"one spelling":              {runsOn[order], keyed, `{"order_id":"x","amount":5}`, true},
		"a field in another case":   {runsOn[order], keyed, `{"order_id":"x","AMOUNT":5}`, true},
		"two spellings":             {runsOn[order], keyed, `{"order_id":"x","ORDER_ID":"o1"}`, false},
		"two, without a key":        {runsOn[order], bare, `{"order_id":"x","Order_Id":"o1"}`, false},
		"two, of letters like K":    {runsOn[struct{ K int }], bare, "{\"k\":1,\"\u212a\":2}", false},
		"two keys of a map":         {runsOn[map[string]int], bare, "{\"k\":1,\"\u212a\":2}", true},
		"one key of a map twice":    {runsOn[map[string]int], bare, `{"k":1,"k":2}`, false},
		"fields in a map":           {runsOn[map[string][]order], bare, `{"k":[{"amount":1,"Amount":2}]}`, false},
		"two in what is not read":   {runsOn[order], bare, `{"order_id":"x","other":{"a":1,"A":2}}`, true},
		"two in what is read later": {runsOn[struct{ Raw json.RawMessage }], bare, `{"raw":{"a":1,"A":2}}`, false},
		"one name twice":            {runsOn[order], bare, `{"order_id":"x","order_id":"o1"}`, false},
		"one name twice, escaped":   {runsOn[order], bare, `{"order_id":"x","order\u005fid":"o1"}`, false},
		"two, deep inside":          {runsOn[nested], keyed, `{"order_id":"x","inner":[{"order":{}},{"order":{"amount":1,"Amount":2}}]}`, false},
		"one name in many objects":  {runsOn[nested], keyed, `{"order_id":"x","inner":[{"order":{"order_id":"y"}},{"order":{"Order_ID":"z"}}],"a":{"inner":1}}`, true},
		"a value like a name":       {runsOn[order], bare, `{"order_id":"amount","amount":5,"x":["x","x",{}]}`, true},
		"two, read by hand":         {runsOn[orderByHand], keyed, `{"order_id":"x","ORDER_ID":"o1"}`, false},
		"two, as raw JSON":          {runsOn[json.RawMessage], keyed, `{"order_id":"x","ORDER_ID":"o1"}`, false},
		"null":                      {runsOn[order], bare, `null`, false},
		"null with space around it": {runsOn[*order], bare, " null\n", false},
		"null as raw JSON":          {runsOn[json.RawMessage], bare, `null`, true},
		"a text":                    {runsOn[string], bare, `"null"`, true},
		"two values":                {runsOn[string], bare, `"a" "b"`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.on(t, test.config, test.payload); got != test.runs {
				t.Errorf("runs: %v", got)
			}
		})
	}
}

func TestAnEventIsKnownByTheExactName(t *testing.T) {
	runs := 0
	handle, err := eventguard.EventBridge(newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{Logger: silent}, func(context.Context, json.RawMessage) error {
		runs++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		event := fmt.Sprintf(`{"id":"e1","source":"s","detail-type":"d","detail":{},"ID":"%d"}`, i)
		if err := handle(t.Context(), json.RawMessage(event)); err != nil {
			t.Error(err)
		}
	}
	if runs != 1 {
		t.Errorf("%d runs of one event", runs)
	}
	if err := handle(t.Context(), json.RawMessage(`{"ID":"e1","source":"s","detail-type":"d"}`)); !errors.Is(err, eventguard.ErrPayload) {
		t.Errorf("an event without an id: %v", err)
	}
	if _, _, err := eventguard.SNSEnvelope(events.SQSMessage{Body: `{"Type":"Notification","messageid":"1","Message":"m"}`}); !errors.Is(err, eventguard.ErrPayload) {
		t.Errorf("a notification without an id: %v", err)
	}
}

func TestTheLogHoldsNoPayload(t *testing.T) {
	type card struct {
		Number int       `json:"card"`
		Born   time.Time `json:"born"`
		Name   string    `json:"name"`
	}
	tests := map[string]struct{ payload, want string }{
		"a text of a wrong form":  {`{"born":"secret 1980-02-03"}`, "*time.ParseError"},
		"a number of a wrong one": {`{"card":4111111111111111.5}`, "JSON number"},
		"a wrong type":            {`{"name":4111111111111111}`, "JSON number"},
		"no JSON":                 {`secret`, "not valid JSON at byte 1"},
		"half of it":              {`{"name":"secret`, "not valid JSON at byte"},
		"a name twice":            {`{"secret":1,"SECRET":2}`, "differ only in case"},
	}
	for name, test := range tests {
		for source, content := range map[string]eventguard.Content{"a body": eventguard.Body, "a notification": eventguard.SNSEnvelope, "an event": eventguard.EventBridgeEnvelope} {
			t.Run(name+"/"+source, func(t *testing.T) {
				var log bytes.Buffer
				// The time is left out: its nanoseconds may well be the digits looked for.
				timeless := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				}}
				config := eventguard.Config{Content: content, Logger: slog.New(slog.NewJSONHandler(&log, timeless))}
				handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{}), config, func(context.Context, card, events.SQSMessage) error { return nil })
				got, err := handle(t.Context(), batch(message("m1", test.payload)))
				wantFailed(t, got, err, "m1")
				if strings.Contains(log.String(), "secret") || strings.Contains(log.String(), "4111") {
					t.Errorf("the log quotes the payload: %s", &log)
				}
				if source == "a body" && !strings.Contains(log.String(), test.want) {
					t.Errorf("the log has no %q: %s", test.want, &log)
				}
			})
		}
	}
}
