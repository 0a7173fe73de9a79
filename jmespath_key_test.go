package idempotency_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/jmespath/go-jmespath"
)

func TestKeyIsOperationAndDigest(t *testing.T) {
	key, err := idempotency.MustJMESPath("id").Key("payment", []byte(`{"id":"a"}`))
	if err != nil || !regexp.MustCompile(`^payment#[0-9a-f]{64}$`).MatchString(key) {
		t.Errorf("Key = %s, %v", key, err)
	}
}

func TestCallersKeyIsTheKeyOfTheSameString(t *testing.T) {
	for _, value := range []string{"a", "注文 \"1\"\n", "1", "null", "#", strings.Repeat("x", 5000)} {
		selected, err := idempotency.MustJMESPath("id").Key("payment", fmt.Appendf(nil, `{"id":%s}`, quote(value)))
		if err != nil {
			t.Fatal(err)
		}
		if key, err := idempotency.Key("payment", value); err != nil || key != selected {
			t.Errorf("Key(%.20q) = %s, %v; want %s", value, key, err, selected)
		}
	}
	if key, err := idempotency.Key("payment", ""); !errors.Is(err, idempotency.ErrMissing) {
		t.Errorf("the empty key gives %s, %v; want ErrMissing", key, err)
	}
	if key, err := idempotency.Key("payment", "\xff"); !errors.Is(err, idempotency.ErrPayload) {
		t.Errorf("a key that is no text gives %s, %v; want ErrPayload", key, err)
	}
}

func quote(text string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

func TestVerbatimKeysAreReadableOrRefused(t *testing.T) {
	for _, c := range []struct{ name, id, want string }{
		{"a plain string", `"order-1"`, "payment#=order-1"},
		{"escapes are read", `"\u006frder\/1"`, "payment#=order/1"},
		{"other alphabets", `"注文1"`, "payment#=注文1"},
		{"a string that looks hashed", `"#abc"`, "payment#=#abc"},
		{"the longest", `"` + strings.Repeat("x", 1024-9) + `"`, "payment#=" + strings.Repeat("x", 1024-9)},
		{"one byte too long", `"` + strings.Repeat("x", 1024-8) + `"`, ""},
		{"too long in bytes, not in characters", `"` + strings.Repeat("é", 600) + `"`, ""},
		{"a number", `1`, ""},
		{"a boolean", `true`, ""},
		{"an object", `{"a":1}`, ""},
		{"an array", `["a"]`, ""},
		{"a control character", `"a\u0000b"`, ""},
		{"a line feed", `"a\nb"`, ""},
		{"a C1 control character", `"a\u0085b"`, ""},
		{"a lone surrogate", `"\ud800"`, ""},
		{"invalid UTF-8", "\"\xff\"", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, err := idempotency.MustJMESPath("id").Verbatim().Key("payment", []byte(`{"id":`+c.id+`}`))
			if c.want == "" {
				if !errors.Is(err, idempotency.ErrPayload) || key != "" {
					t.Errorf("Key = %s, %v; want ErrPayload", key, err)
				}
			} else if err != nil || key != c.want {
				t.Errorf("Key = %s, %v; want %s", key, err, c.want)
			}
		})
	}
	if _, err := idempotency.MustJMESPath("id").Verbatim().Key("payment", []byte(`{}`)); !errors.Is(err, idempotency.ErrMissing) {
		t.Errorf("without an id: %v; want ErrMissing", err)
	}
}

func TestVerbatimChangesTheKeyOnly(t *testing.T) {
	payload := []byte(`{"id":"a"}`)
	hashed := idempotency.MustJMESPath("id")
	verbatim := hashed.Verbatim()
	plain, err := hashed.Key("payment", payload)
	if err != nil || strings.Contains(plain, "=") {
		t.Errorf("Verbatim changed the expression it was called on: %s, %v", plain, err)
	}
	a, errA := hashed.Fingerprint(payload)
	b, errB := verbatim.Fingerprint(payload)
	if a != b || errA != nil || errB != nil {
		t.Errorf("fingerprints %s, %v and %s, %v", a, errA, b, errB)
	}
	if verbatim.String() != "id" {
		t.Errorf("String = %s", verbatim)
	}
}

func TestOperationNames(t *testing.T) {
	for _, name := range []string{"payment", "a", "orders/create:v2", "支払い", strings.Repeat("a", 128)} {
		if err := idempotency.CheckOperation(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("a", 129), "a#b", "#", "a b", " a", "a\t", "a\n", "\x00", "a\u00a0b", "a\u3000b", "a\u0085", "\x7f", "\xff"} {
		err := idempotency.CheckOperation(name)
		var typed *idempotency.OperationError
		if !errors.Is(err, idempotency.ErrOperation) || !errors.As(err, &typed) || typed.Operation != name || typed.Reason == "" {
			t.Errorf("%q: %v; want an *OperationError", name, err)
		}
		if _, err := idempotency.Key(name, "a"); !errors.Is(err, idempotency.ErrOperation) {
			t.Errorf("Key(%q): %v", name, err)
		}
		if _, err := idempotency.MustJMESPath("a").Key(name, []byte(`{"a":1}`)); !errors.Is(err, idempotency.ErrOperation) {
			t.Errorf("an expression's Key(%q): %v", name, err)
		}
	}
}

func TestErrorsAreOfOneKind(t *testing.T) {
	expression := idempotency.MustJMESPath("powertools_json(body).id")
	for payload, want := range map[string]error{
		`{}`:                              idempotency.ErrMissing,
		`{"body":""}`:                     idempotency.ErrMissing,
		`{"body":"{\"id\":null}"}`:        idempotency.ErrMissing,
		`{"body":"not json"}`:             idempotency.ErrPayload,
		`{"body":{"id":1}}`:               idempotency.ErrPayload,
		`{"body":"{\"id\":1}"`:            idempotency.ErrPayload,
		``:                                idempotency.ErrPayload,
		`{"body":"{\"id\":\"\\ud800\"}"}`: idempotency.ErrPayload,
	} {
		_, err := expression.Key("payment", []byte(payload))
		var typed *idempotency.SelectionError
		if !errors.As(err, &typed) || typed.Expression != expression.String() || typed.Reason == "" {
			t.Errorf("%s: %v; want a *SelectionError", payload, err)
		}
		if errors.Is(err, idempotency.ErrMissing) == errors.Is(err, idempotency.ErrPayload) || !errors.Is(err, want) {
			t.Errorf("%s: %v; want %v alone", payload, err, want)
		}
		for _, other := range []error{idempotency.ErrExpression, idempotency.ErrOperation} {
			if errors.Is(err, other) {
				t.Errorf("%s: %v is %v too", payload, err, other)
			}
		}
	}
}

func TestSyntaxErrorsKnowTheirPosition(t *testing.T) {
	_, err := idempotency.JMESPath("a.b[")
	var syntax jmespath.SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset != 4 {
		t.Errorf("%v, offset %d; want 4", err, syntax.Offset)
	}
}

func TestMustJMESPathPanicsWithTheError(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, idempotency.ErrExpression) {
			t.Errorf("panic with %v", err)
		}
	}()
	idempotency.MustJMESPath("keys(@)")
}

// Run with -race: expressions share no state between evaluations.
func TestExpressionsAreSafeForConcurrentUse(t *testing.T) {
	payload := []byte(`{"items":[{"id":"b","p":2},{"id":"a","p":1}],"body":"{\"l\":[3,1,2]}"}`)
	for _, text := range []string{"sort_by(items, &p)[0].id", "sort(powertools_json(body).l)", "items[?p > `1`] | [0]", "[items, `[{\"p\":1}]`]", "@"} {
		expression := idempotency.MustJMESPath(text)
		want, err := expression.Key("order", payload)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 20 {
					if key, err := expression.Key("order", payload); err != nil || key != want {
						t.Errorf("%s: key %s, %v; want %s", text, key, err, want)
					}
				}
			})
		}
		all.Wait()
	}
}

func TestOneFieldCostsNoMemoryForTheRest(t *testing.T) {
	for _, text := range []string{`headers."idempotency-key"`, `requestContext.http.method`, `[headers.host, isBase64Encoded]`} {
		expression := idempotency.MustJMESPath(text)
		small := allocatedPerKey(t, expression, gatewayEvent(1<<10))
		large := allocatedPerKey(t, expression, gatewayEvent(1<<20))
		if large > small+512 {
			t.Errorf("%s: %d bytes for a 1 KB event but %d for 1 MB", text, small, large)
		}
	}
}

func allocatedPerKey(t *testing.T, expression *idempotency.Expression, event []byte) uint64 {
	const runs = 50
	var before, after runtime.MemStats
	for i := range runs + 1 {
		if i == 1 { // the first run fills the pools
			runtime.ReadMemStats(&before)
		}
		if _, err := expression.Key("payment", event); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / runs
}

func TestPayloadIsNotChanged(t *testing.T) {
	payload := []byte(` {"l":[3,1,2],"items":[{"p":2},{"p":1}],"s":"\u0041"} `)
	before := bytes.Clone(payload)
	for _, text := range []string{"@", "sort(l)", "sort_by(items, &p)", "s", "reverse(items)"} {
		if _, err := idempotency.MustJMESPath(text).Canonical(payload); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(payload, before) {
			t.Fatalf("%s changed the payload to %s", text, payload)
		}
	}
}

// One request to the function, two to the key, or the other way about: whatever is
// asked of the payload, it is unusable.
func TestMembersInAnotherCaseAreUnusableNotMissing(t *testing.T) {
	for payload, texts := range map[string][]string{
		`{"order_id":"x1","Order_ID":"7"}`: {"order_id", "[order_id, absent]", "absent || order_id", "@"},
		`{"Order_ID":"7"}`:                 {"order_id", "absent || order_id", "[@, order_id]"},
	} {
		for _, text := range texts {
			expression := idempotency.MustJMESPath(text)
			_, keyErr := expression.Key("order", []byte(payload))
			_, verbatimErr := expression.Verbatim().Key("order", []byte(payload))
			_, fingerprintErr := expression.Fingerprint([]byte(payload))
			_, canonicalErr := expression.Canonical([]byte(payload))
			for _, err := range []error{keyErr, verbatimErr, fingerprintErr, canonicalErr} {
				if !errors.Is(err, idempotency.ErrPayload) || errors.Is(err, idempotency.ErrMissing) || !strings.Contains(err.Error(), "differs only in case") {
					t.Errorf("%s of %s: %v; want ErrPayload", text, payload, err)
				}
			}
		}
	}
}
