package idempotency_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/ikkai-go/idempotency"
)

// One test for each report of what went wrong elsewhere, as far as it is about
// keys.

func key(t *testing.T, expression, payload string) string {
	t.Helper()
	k, err := idempotency.MustJMESPath(expression).Key("operation", []byte(payload))
	if err != nil {
		t.Fatalf("%s on %s: %v", expression, payload, err)
	}
	return k
}

func canonical(t *testing.T, expression, payload string) string {
	t.Helper()
	c, err := idempotency.MustJMESPath(expression).Canonical([]byte(payload))
	if err != nil {
		t.Fatalf("%s on %s: %v", expression, payload, err)
	}
	return string(c)
}

func TestReport18_EventsWithoutAKeyShareNone(t *testing.T) {
	for _, expression := range []string{`headers."x-id"`, `body.id`, `[headers."x-id", body.id]`, `{id: body.id}`, `to_string(body.id)`, `body.id || headers."x-id"`,
		`join('-', [to_string(body.id || headers."x-id"), 'charge'])`, `join('-', [(body.id || headers."x-id"), 'charge'])`} {
		for _, payload := range []string{`{}`, `{"body":{"a":1}}`, `{"body":{"id":null}}`, `{"body":{"id":""}}`, `null`, `[]`} {
			k, err := idempotency.MustJMESPath(expression).Key("operation", []byte(payload))
			if k != "" || !errors.Is(err, idempotency.ErrMissing) {
				t.Errorf("%s on %s: key %q, %v; want ErrMissing", expression, payload, k, err)
			}
		}
	}
	for _, payload := range []string{`{"body":{"id":0}}`, `{"body":{"id":false}}`} {
		if k, err := idempotency.MustJMESPath("body.id").Key("operation", []byte(payload)); err != nil {
			t.Errorf("%s: key %q, %v; want a key", payload, k, err)
		}
	}
}

func TestReport21_DigitsAreKeptAndTheEngineStillCounts(t *testing.T) {
	const payload = `{"items":[{"id":"a","price":10},{"id":"b","price":2}]}`
	for expression, want := range map[string]string{
		"items[?price > `5`].id":       `["a"]`,
		"items[?price == `10`].id":     `["a"]`,
		"sum(items[].price)":           `12`,
		"sort_by(items, &price)[0].id": `"b"`,
		"type(items[0].price)":         `"number"`,
	} {
		if got := canonical(t, expression, payload); got != want {
			t.Errorf("%s = %s, want %s", expression, got, want)
		}
	}
	if key(t, "id", `{"id":9007199254740993}`) == key(t, "id", `{"id":9007199254740992}`) {
		t.Error("9007199254740993 and 9007199254740992 have one key")
	}
	if key(t, "[?id].n", `[{"id":1,"n":9007199254740993}]`) == key(t, "[?id].n", `[{"id":1,"n":9007199254740992}]`) {
		t.Error("they have one key behind a filter")
	}
	// Where the engine would quietly leave a number out, there is no key.
	if _, err := idempotency.MustJMESPath("items[?price > `5`].id").Key("operation", []byte(`{"items":[{"id":"a","price":9007199254740993}]}`)); !errors.Is(err, idempotency.ErrPayload) {
		t.Errorf("comparing a number that is no float64: %v; want ErrPayload", err)
	}
}

func TestReport24_AStrangeCharacterIsASyntaxErrorNotAPanic(t *testing.T) {
	for _, expression := range []string{"a\u0080", "a.b\u0080c", "length(a\u0080)", "powertools_json(a\u0080)", "a || b\u0080"} {
		_, err := idempotency.JMESPath(expression)
		var typed *idempotency.ExpressionError
		if !errors.Is(err, idempotency.ErrExpression) || !errors.As(err, &typed) || typed.Expression != expression {
			t.Errorf("%q: %v; want an *ExpressionError", expression, err)
		}
	}
}

func TestReport26_KeyAndFingerprintHaveTheSameFunctions(t *testing.T) {
	id, amount := idempotency.MustJMESPath("powertools_json(body).order_id"), idempotency.MustJMESPath("powertools_json(body).amount")
	payload := []byte(`{"body":"{\"order_id\":1,\"amount\":5}"}`)
	if k, err := id.Key("operation", payload); err != nil {
		t.Errorf("key %s, %v", k, err)
	}
	first, err := amount.Fingerprint(payload)
	if err != nil {
		t.Error(err)
	}
	if second, err := amount.Fingerprint([]byte(`{"body":"{\"order_id\":1,\"amount\":6}"}`)); err != nil || first == second {
		t.Errorf("fingerprint %s, %v for another amount", second, err)
	}
	for _, refused := range []string{"nosuch(body)", "length(a, b)"} {
		if _, err := idempotency.JMESPath(refused); !errors.Is(err, idempotency.ErrExpression) {
			t.Errorf("%s: %v; want ErrExpression", refused, err)
		}
	}
	for _, e := range []*idempotency.Expression{id, amount} {
		if k, err := e.Key("operation", []byte(`{"body":"not json"}`)); k != "" || !errors.Is(err, idempotency.ErrPayload) {
			t.Errorf("%s on a body that is not JSON: key %q, %v; want ErrPayload", e, k, err)
		}
	}
}

func TestReport29_SpellingIsNoIdentity(t *testing.T) {
	body := func(document string) string {
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"body":%s}`, text)
	}
	same := []string{
		`{"a":{"x":1,"y":2},"l":[{"p":1,"q":2}],"s":"A"}`,
		`{"l":[{"q":2,"p":1}],"s":"A","a":{"y":2,"x":1}}`,
		"{\n\t\"a\": {\"x\": 1.0, \"y\": 2e0},\r\n \"l\": [ {\"p\": 1, \"q\": 20e-1} ], \"s\": \"\\u0041\" }",
		`{"\u0061":{"x":1,"y":2},"l":[{"p":1,"q":2}],"s":"A"}`,
	}
	for _, other := range same[1:] {
		if key(t, "@", same[0]) != key(t, "@", other) {
			t.Errorf("%s has another key", other)
		}
		if key(t, "powertools_json(body)", body(same[0])) != key(t, "powertools_json(body)", body(other)) {
			t.Errorf("%s has another key inside a string", other)
		}
	}
	if key(t, "@", `{"l":[1,2]}`) == key(t, "@", `{"l":[2,1]}`) {
		t.Error("the order of an array makes no difference")
	}
	if key(t, "[a, b]", `{"a":"x","b":"y,z"}`) == key(t, "[a, b]", `{"a":"x,y","b":"z"}`) {
		t.Error("parts run into each other")
	}
	if key(t, "id", `{"id":1}`) == key(t, "id", `{"id":"1"}`) {
		t.Error("1 and \"1\" have one key")
	}
}
