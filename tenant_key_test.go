package idempotency_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency"
)

// The keys were put together by hand from those of testdata/golden/keys.json. They
// never change.
func TestGoldenTenantKeys(t *testing.T) {
	const digest = "7a8c7a36b0796ea527a39ba7be1f825c1fb57c6f75b24d5afd813e366286aec6"
	for _, c := range []struct{ tenant, key, want string }{
		{"blue", "payment#" + digest, "payment#@blue#" + digest},
		{"green", "payment#" + digest, "payment#@green#" + digest},
		{"blue", "payment#=ord-1", "payment#@blue#=ord-1"},
		{"Acme Inc./eu-1:a=b+c@d_e", "payment#" + digest, "payment#@Acme Inc./eu-1:a=b+c@d_e#" + digest},
		{"@", "支払い#" + digest, "支払い#@@#" + digest},
		{" ", "payment#=#@blue#", "payment#@ #=#@blue#"},
		{strings.Repeat("t", 256), "payment#" + digest, "payment#@" + strings.Repeat("t", 256) + "#" + digest},
	} {
		if got, err := idempotency.TenantKey(c.tenant, c.key); err != nil || got != c.want {
			t.Errorf("TenantKey(%.20q, %q) = %q, %v; want %q", c.tenant, c.key, got, err, c.want)
		}
	}
}

// Operations, tenants and values that could be taken for parts of each other.
func TestTenantsKeysNeverMeet(t *testing.T) {
	verbatim := idempotency.MustJMESPath("id").Verbatim()
	keys := make(map[string][3]string)
	add := func(operation, tenant, value, key string, err error) {
		if err == nil && tenant != "" {
			key, err = idempotency.TenantKey(tenant, key)
		}
		if err != nil {
			t.Fatalf("%q, %q, %q: %v", operation, tenant, value, err)
		}
		of := [3]string{operation, tenant, value}
		if other, met := keys[key]; met {
			t.Errorf("%q is the key of %q and of %q", key, other, of)
		}
		keys[key] = of
	}
	for _, operation := range []string{"payment", "payment@blue", "@blue", "payment@", "@", "p"} {
		for _, tenant := range []string{"", "blue", "green", "@blue", "blue@", "=", "=blue", "@", " ", "payment", "Blue"} {
			for _, value := range []string{"a", "blue", "@blue#a", "#@blue#a", "=a", "#=a", "@blue", "blue#a", `["blue", "a"]`} {
				key, err := idempotency.Key(operation, value)
				add(operation, tenant, value, key, err)
				key, err = verbatim.Key(operation, []byte(`{"id":`+quote(value)+`}`))
				add(operation, tenant, value+" verbatim", key, err)
			}
		}
	}
}

func TestUnusableTenantsAreRefused(t *testing.T) {
	key, err := idempotency.Key("payment", "a")
	if err != nil {
		t.Fatal(err)
	}
	of, err := idempotency.TenantKey("blue", key)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tenant, key string }{
		{"", key}, {strings.Repeat("t", 257), key}, {"a#b", key}, {"#", key}, {"a\nb", key}, {"\x00", key}, {"\xff", key}, {"a\u0085", key},
		{"green", of}, {"blue", of}, {"blue", "payment"}, {"blue", ""}, {"blue", "payment#=\xff"},
	} {
		got, err := idempotency.TenantKey(c.tenant, c.key)
		var typed *idempotency.TenantError
		if got != "" || !errors.Is(err, idempotency.ErrTenant) || !errors.As(err, &typed) || typed.Tenant != c.tenant || typed.Reason == "" {
			t.Errorf("TenantKey(%.20q, %q) = %q, %v; want a *TenantError", c.tenant, c.key, got, err)
		}
	}
	longest := "payment#=" + strings.Repeat("x", 1024-len("payment#=")-len("@blue#"))
	if got, err := idempotency.TenantKey("blue", longest); err != nil || len(got) != 1024 {
		t.Errorf("the longest key: %d bytes, %v", len(got), err)
	}
	if _, err := idempotency.TenantKey("blue", longest+"x"); !errors.Is(err, idempotency.ErrPayload) {
		t.Errorf("a byte more: %v; want ErrPayload", err)
	}
}
