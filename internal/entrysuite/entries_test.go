package entrysuite_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/internal/entrysuite"
	"github.com/ikkai-go/idempotency/persistence"
)

// entries are the ways into a guard that have no package of their own. Add a row, and it has to
// keep all rules. The doors of httpguard and eventguard keep them in their own tests, by the rows
// that those packages have anyway.
var entries = []entrysuite.Entry{
	{Name: "Handler", Open: openHandler, Selects: true},
	{Name: "Func", Open: openFunc, Selects: true},
	{Name: "durable Handler", Open: openDurable, Selects: true, Durable: true, Stepless: true},
	{Name: "Do", Open: openDo, Keyless: true},
	{Name: "DoAs", Open: openDoAs},
	{Name: "Each", Open: openEach, Keyless: true, Silent: true, Mute: true},
	{Name: "Powertools for Python", Open: openPeer(powertools.Python, "handler"), Selects: true, Stepless: true},
	{Name: "Powertools for TypeScript", Open: openPeer(powertools.TypeScript, ""), Selects: true, Stepless: true},
}

func TestEveryEntryPointKeepsEveryRule(t *testing.T) {
	for _, e := range entries {
		t.Run(e.Name, func(t *testing.T) { entrysuite.Check(t, e) })
	}
}

// payload is a request as JSON.
func payload(r entrysuite.Request) json.RawMessage {
	if r.Raw != "" {
		return json.RawMessage(r.Raw)
	}
	body, err := json.Marshal(map[string]string{"id": r.Key, "content": r.Content})
	if err != nil {
		panic(err)
	}
	return body
}

// order is what functions get: as encoding/json takes a payload apart.
type order struct {
	ID      string `json:"id"`
	Content string `json:"content"`
}

func (o order) request() entrysuite.Request {
	return entrysuite.Request{Key: o.ID, Content: o.Content}
}

func newGuard(t testing.TB, store persistence.Store, c idempotent.Config) *idempotent.Guard {
	t.Helper()
	guard, err := idempotent.New(store, c)
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

// told is the answer of an entry point that gives the guard's error to its caller.
func told(result string, err error) entrysuite.Answer {
	return entrysuite.Answer{Result: result, Failed: err != nil, Verdict: idempotent.VerdictOf(err)}
}

func openHandler(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	handler := newGuard(t, store, c).Handler(func(ctx context.Context, o order) (string, error) { return fn(ctx, o.request()) })
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		response, err := handler.Invoke(ctx, payload(r))
		var result string
		if err == nil {
			err = json.Unmarshal(response, &result)
		}
		return told(result, err)
	}
}

func openFunc(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	call := idempotent.Func(newGuard(t, store, c), func(ctx context.Context, raw json.RawMessage) (string, error) {
		var o order
		if err := json.Unmarshal(raw, &o); err != nil {
			return "", err
		}
		return fn(ctx, o.request())
	})
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		return told(call(ctx, payload(r)))
	}
}

// openDo has no content to compare, so its key has it where something is to be compared.
func openDo(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	compares := c.Fingerprint != nil
	c.Fingerprint = nil
	guard := newGuard(t, store, c)
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		run := func(ctx context.Context) (string, error) { return fn(ctx, r) }
		if compares {
			return told(idempotent.DoAs(ctx, guard, guard.Identity(r.Key, r.Content), run))
		}
		return told(idempotent.Do(ctx, guard, r.Key, run))
	}
}

func openDoAs(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	guard := newGuard(t, store, c)
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		identity := guard.Identify(payload(r))
		return told(idempotent.DoAs(ctx, guard, identity, func(ctx context.Context) (string, error) { return fn(ctx, r) }))
	}
}

func openEach(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	guard := newGuard(t, store, c)
	round := batch.Batch[order]{Name: "round", ID: func(o order) string { return o.ID }}
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		report, err := batch.Each(ctx, guard, round, []order{{ID: r.Key, Content: r.Content}}, func(ctx context.Context, o order) error {
			_, err := fn(ctx, o.request())
			return err
		})
		return entrysuite.Answer{Failed: err != nil || report.Permanent > 0, Verdict: idempotent.VerdictOf(err)}
	}
}

func openPeer(language func(powertools.Options) (*powertools.Peer, error), function string) func(testing.TB, persistence.Store, idempotent.Config, entrysuite.Function) entrysuite.Door {
	return func(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
		o := powertools.Options{FunctionName: "orders", EventKey: "id", Function: function}
		if c.Fingerprint != nil {
			o.Validation = "content"
		}
		c.Key, c.Fingerprint = nil, nil
		peer, err := language(o)
		if err != nil {
			t.Fatal(err)
		}
		return openHandler(t, store, peer.Config(c), fn)
	}
}

// invoke invokes a Lambda handler with an event.
func invoke[Response any](ctx context.Context, handler lambda.Handler, event any) (response Response, err error) {
	raw, err := json.Marshal(event)
	if err != nil {
		return response, err
	}
	answer, err := handler.Invoke(ctx, raw)
	if err == nil {
		err = json.Unmarshal(answer, &response)
	}
	return response, err
}
