package selection

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// A member in another case than the expression names is the member to a Go function.
func TestMembersInAnotherCaseAreUnusable(t *testing.T) {
	for _, c := range []struct{ name, expression, payload string }{
		{"behind the one that is read", "order_id", `{"order_id":"x1","Order_ID":"7"}`},
		{"before it", "order_id", `{"ORDER_ID":"666","order_id":"8"}`},
		{"instead of it", "id", `{"ID":"7"}`},
		{"null", "id", `{"id":1,"ID":null}`},
		{"spelled with escapes", "id", `{"id":1,"\u0049\u0044":2}`},
		{"the Kelvin sign", "key", "{\"key\":1,\"\u212Aey\":2}"},
		{"the Kelvin sign as an escape", "key", `{"key":1,"\u212aey":2}`},
		{"the long s", "address", `{"addre\u017fs":2}`},
		{"Greek", "\"\u03c3\"", `{"ς":1}`},
		{"on the way", "order.id", `{"order":{"id":1},"Order":{"id":2}}`},
		{"at the end of the way", "order.id", `{"order":{"id":1,"Id":2}}`},
		{"deep", "a.b.c.d", `{"a":{"b":{"c":{"d":1,"D":2}}}}`},
		{"in any element", "items[*].id", `{"items":[{"id":1},{"id":2,"ID":3}]}`},
		{"in one element", "items[1].id", `{"items":[{"id":1},{"id":2,"ID":3}]}`},
		{"in a filter", "items[?type == 'x'].id", `{"items":[{"id":1,"type":"y","Type":"x"}]}`},
		{"in a condition", "type == 'x' && id || other", `{"id":1,"other":2,"TYPE":"x"}`},
		{"of a part", "[tenant, id]", `{"tenant":1,"id":2,"ID":3}`},
		{"of a part beside the whole", "[@, id]", `{"x":2,"ID":3}`},
		{"of an alternative", "absent || id", `{"id":2,"ID":3}`},
		{"of an argument", "to_string(id)", `{"id":2,"ID":3}`},
		{"of what a member is sorted by", "sort_by(items, &id)[0].id", `{"items":[{"id":1,"iD":2}]}`},
		{"of what is decoded", "powertools_json(body).id", `{"body":"{\"id\":1,\"ID\":2}"}`},
		{"of what is decoded, whole", "powertools_json(body)", `{"body":"{\"id\":1,\"ID\":2}"}`},
		{"of what is decoded, escaped twice", "powertools_json(body).id", `{"body":"{\"id\":1,\"\\u0049D\":2}"}`},
		{"of the argument", "powertools_json(body).id", `{"body":"{\"id\":1}","Body":"{\"id\":2}"}`},
		{"in a decoded body in a body", "powertools_json(powertools_json(body).message).id", `{"body":"{\"message\":\"{\\\"Id\\\":1}\"}"}`},
		{"in what is selected", "order", `{"order":{"id":1,"ID":2}}`},
		{"deep in what is selected", "order", `{"order":[{"x":{"id":1,"ID":2}}]}`},
		{"in the whole payload", "@", `{"id":1,"ID":2}`},
		{"in what a function looks at", "to_string(order)", `{"order":{"id":1,"ID":2}}`},
		{"deep in what a function looks at", "length(order)", `{"order":[{"x":{"id":1,"ID":2}}]}`},
		{"among the whole beside a part", "[@, x]", `{"x":1,"id":1,"ID":2}`},
		{"both are named, and both are there", "[(headers.\"X-Id\" || headers.\"x-id\"), t]", `{"headers":{"X-Id":"1","x-id":"2"},"t":1}`},
		{"both are named in alternatives, and both are there", "headers.\"X-Id\" || headers.\"x-id\"", `{"headers":{"X-Id":"1","x-id":"2"}}`},
		{"the other one first", "headers.\"X-Id\" || headers.\"x-id\"", `{"headers":{"x-id":"2","X-Id":"1"}}`},
		{"a third spelling", "headers.\"X-Id\" || headers.\"x-id\"", `{"headers":{"X-ID":"1"}}`},
		{"a spelling that is named elsewhere", "a.id || b.ID", `{"a":{"ID":1},"b":{"ID":2}}`},
		{"both are named in calls", "powertools_json(body).Id || powertools_json(body).id", `{"body":"{\"id\":1,\"Id\":2}"}`},
		{"both are named in a call and its like", "powertools_json(Body).id || powertools_json(body).id", `{"Body":"{\"id\":1}","body":"{\"id\":2}"}`},
	} {
		got, err := canonical(t, c.expression, c.payload)
		if !errors.Is(err, canonicaljson.ErrTwinName) || errors.Is(err, ErrMissing) {
			t.Errorf("%s: %s of %s = %s, %v; want it to be unusable", c.name, c.expression, c.payload, got, err)
		}
	}
}

func TestMembersThatAreNotReadHaveAnyCase(t *testing.T) {
	for _, c := range []struct{ name, expression, payload, want string }{
		{"not read", "id", `{"id":1,"x":1,"X":2}`, `1`},
		{"beside the way", "order.id", `{"order":{"id":1,"x":1,"X":2},"x":{"ID":1}}`, `1`},
		{"in another element", "items[0].id", `{"items":[{"id":1},{"ID":2}]}`, `1`},
		{"in the other part of a body", "powertools_json(body).id", `{"ID":1,"body":"{\"id\":1,\"x\":{\"ID\":2}}"}`, `1`},
		{"an alternative that is not needed", "id || other", `{"id":1,"OTHER":2}`, `1`},
		{"another name", "id", `{"id":1,"i_d":2,"i-d":3,"İd":4,"ıd":5}`, `1`},
		{"as long as another case", "key", `{"key":1,"xelvi":2}`, `1`},
		{"one of two that are named", "headers.\"X-Id\" || headers.\"x-id\"", `{"headers":{"x-id":"1"}}`, `"1"`},
		{"the other", "headers.\"X-Id\" || headers.\"x-id\"", `{"headers":{"X-Id":"1"}}`, `"1"`},
		{"one of two that are named in a part", "[(headers.\"X-Id\" || headers.\"x-id\"), t]", `{"headers":{"x-id":"1"},"t":2}`, `["1",2]`},
		{"one of two in calls", "powertools_json(body).Id || powertools_json(body).id", `{"body":"{\"id\":1}"}`, `1`},
		{"one of two in arguments", "powertools_json(Body).id || powertools_json(body).id", `{"body":"{\"id\":1}"}`, `1`},
		{"one of two in elements", "items[0].Id || items[0].id", `{"items":[{"id":1}]}`, `1`},
		{"a literal of its own", "[id, `{\"a\":1,\"A\":2}`]", `{"id":1}`, `[1,{"A":2,"a":1}]`},
		{"a hash of its own", "{id: id, ID: x}", `{"id":1,"x":2}`, `{"ID":2,"id":1}`},
	} {
		if got, err := canonical(t, c.expression, c.payload); err != nil || got != c.want {
			t.Errorf("%s: %s of %s = %s, %v; want %s", c.name, c.expression, c.payload, got, err, c.want)
		}
	}
}

// What is selected is what encoding/json finds for a field of that name, or nothing.
func TestSelectionsAreWhatFunctionsGet(t *testing.T) {
	names := []string{"key", "KEY", "Key", "\u212Aey", "\\u212aey", "k\\u0045y", "kex", "ke\u0079", "other", "s"}
	s, err := Compile("order.key")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	selected := 0
	for range 5_000 {
		var members []string
		for i := range r.IntN(4) {
			members = append(members, fmt.Sprintf(`"%s":"%d"`, names[r.IntN(len(names))], i))
		}
		payload := []byte(`{"order":{` + strings.Join(members, ",") + `}}`)
		var got struct {
			Order struct {
				Key *string `json:"key"`
			} `json:"order"`
		}
		if err := json.Unmarshal(payload, &got); err != nil {
			t.Fatal(err)
		}
		canonical, err := s.AppendCanonical(nil, payload)
		switch {
		case err == nil:
			selected++
			if got.Order.Key == nil || string(canonical) != `"`+*got.Order.Key+`"` {
				t.Fatalf("%s: selected %s, a function gets %v", payload, canonical, got.Order.Key)
			}
		case errors.Is(err, ErrMissing) && got.Order.Key != nil:
			t.Fatalf("%s: missing, but a function gets %q", payload, *got.Order.Key)
		}
	}
	if selected < 400 {
		t.Errorf("only %d payloads selected anything", selected)
	}
}

// A sender cannot make the check expensive.
func TestSpellingsAreCheckedInLittleTime(t *testing.T) {
	s, err := Compile("a.Id || a.id")
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte(`{"a":{` + strings.Repeat(`"id":1,`, 300_000) + `"x":1}}`)
	if allocated := testing.AllocsPerRun(1, func() { _, err = s.AppendCanonical(nil, payload) }); err == nil || allocated > 100 {
		t.Errorf("%v after %v allocations; want a duplicate", err, allocated)
	}
}
