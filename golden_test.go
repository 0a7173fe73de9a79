package idempotency_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/ikkai-go/idempotency"
)

// The vectors were computed by hand and with another SHA-256, not by this package.
// They never change.
func TestGoldenKeys(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Name, Operation, Expression, Payload, Canonical, Key, Fingerprint, Verbatim string }
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			const warning = "STOP: with this change every retry of a request that is open during the deployment gets a new key and runs again"
			expression, err := idempotency.JMESPath(v.Expression)
			if err != nil {
				t.Fatal(err)
			}
			if canonical, err := expression.Canonical([]byte(v.Payload)); err != nil || string(canonical) != v.Canonical {
				t.Errorf("Canonical = %s, %v; want %s\n%s", canonical, err, v.Canonical, warning)
			}
			if key, err := expression.Key(v.Operation, []byte(v.Payload)); err != nil || key != v.Key {
				t.Errorf("Key = %s, %v; want %s\n%s", key, err, v.Key, warning)
			}
			if fingerprint, err := expression.Fingerprint([]byte(v.Payload)); err != nil || fingerprint != v.Fingerprint {
				t.Errorf("Fingerprint = %s, %v; want %s\n%s", fingerprint, err, v.Fingerprint, warning)
			}
			if v.Verbatim == "" {
				return
			}
			if key, err := expression.Verbatim().Key(v.Operation, []byte(v.Payload)); err != nil || key != v.Verbatim {
				t.Errorf("verbatim Key = %s, %v; want %s\n%s", key, err, v.Verbatim, warning)
			}
		})
	}
}
