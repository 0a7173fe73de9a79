package idempotency_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ikkai-go/idempotency"
)

// The digests were computed with another SHA-256. They never change.
func TestGoldenItemKeys(t *testing.T) {
	for _, c := range []struct{ batch, item, want string }{
		{"2026-11", "e-1", "payroll#a0874446de14b6efc6e1310710deebeb94e7bc2bcd9dc507f0d9b871c28ebf9c"},
		{"a\"b", "<é>", "payroll#2c3674693e3e8c0e7c29307632223c7d728c98febcb88c72370cca7f4dd9fe30"},
	} {
		if got, err := idempotency.ItemKey("payroll", c.batch, c.item); err != nil || got != c.want {
			t.Errorf("ItemKey(%q, %q) = %s, %v; want %s", c.batch, c.item, got, err, c.want)
		}
	}
}

func TestUnusableItemsAreRefused(t *testing.T) {
	for _, c := range []struct {
		operation, batch, item string
		want                   error
	}{
		{"payroll", "", "e-1", idempotency.ErrMissing},
		{"payroll", "2026-11", "", idempotency.ErrMissing},
		{"payroll", "\xff", "e-1", idempotency.ErrPayload},
		{"payroll", "2026-11", "\xff", idempotency.ErrPayload},
		{"pay#roll", "2026-11", "e-1", idempotency.ErrOperation},
	} {
		if key, err := idempotency.ItemKey(c.operation, c.batch, c.item); key != "" || !errors.Is(err, c.want) {
			t.Errorf("ItemKey(%q, %q, %q) = %s, %v; want %v", c.operation, c.batch, c.item, key, err, c.want)
		}
	}
}

// No request has the key of an item.
func TestRequestsAndItemsNeverMeet(t *testing.T) {
	id := idempotency.MustJMESPath("id")
	for _, parts := range [][]string{{"2026-11", "e-1"}, {"a\"b", "<é>\u2028"}, {"[", "]"}} {
		item, err := idempotency.ItemKey("payroll", parts[0], parts[1])
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(parts)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := json.Marshal(map[string]string{"id": string(text)})
		if err != nil {
			t.Fatal(err)
		}
		if key, err := id.Key("payroll", payload); !errors.Is(err, idempotency.ErrPayload) {
			t.Errorf("the string %s has the key %s, %v; the item has %s", text, key, err, item)
		}
		if key, err := idempotency.Key("payroll", string(text)); !errors.Is(err, idempotency.ErrPayload) {
			t.Errorf("the caller's string %s has the key %s, %v; the item has %s", text, key, err, item)
		}
		if key, err := id.Verbatim().Key("payroll", payload); err != nil || key == item {
			t.Errorf("verbatim, the string %s has the key %s, %v", text, key, err)
		}
		if _, err := id.Fingerprint(payload); err != nil {
			t.Errorf("the string %s has no fingerprint: %v", text, err)
		}
		if key, err := id.Key("payroll", []byte(`{"id":`+string(text)+`}`)); err != nil || key == item {
			t.Errorf("the list %s has the key %s, %v", text, key, err)
		}
		whole, err := idempotency.WholePayload().Key("payroll", text)
		if err != nil || whole == item {
			t.Errorf("the payload %s has the key %s, %v", text, whole, err)
		}
	}
	for _, other := range []string{`["a"]`, `["a","b","c"]`, `[ "a","b"]`, `["a",1]`, `["",""]`, `["a","b`, `["a", "b"]`} {
		payload, err := json.Marshal(map[string]string{"id": other})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := id.Key("payroll", payload); err != nil {
			t.Errorf("the string %s, which is no item: %v", other, err)
		}
		if _, err := idempotency.Key("payroll", other); err != nil {
			t.Errorf("the caller's string %s, which is no item: %v", other, err)
		}
	}
}
