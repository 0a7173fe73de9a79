package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/internal/resumption"
	"github.com/ikkai-go/idempotency/persistence"
)

// resuming is the context of an invocation that is to resume a record.
func resuming(t *testing.T, key string) context.Context {
	t.Helper()
	var lc lambdacontext.LambdaContext
	if err := json.Unmarshal(resumption.ClientContext(key), &lc.ClientContext); err != nil {
		t.Fatal(err)
	}
	return lambdacontext.NewContext(t.Context(), &lc)
}

// TestAResumedFunctionMayCallOtherOperations beside the one whose record is meant, and before it.
func TestAResumedFunctionMayCallOtherOperations(t *testing.T) {
	nothing := func(context.Context) error { return nil }
	for name, c := range map[string]struct {
		operation string
		keep      bool
		runs      bool
	}{
		"another operation":             {"mail", false, true},
		"another one that keeps events": {"mail", true, false},
		"its own":                       {"payment", false, false},
	} {
		guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{Operation: c.operation, Key: idempotency.MustJMESPath("id"), KeepEvent: c.keep})
		ran := false
		_, err := guard.Handler(func(context.Context) error { ran = true; return nil }).Invoke(resuming(t, "payment#1"), []byte(`{"id":"2"}`))
		if ran != c.runs || !c.runs && !errors.Is(err, idempotent.ErrKey) {
			t.Errorf("%s: it has run: %t, and ends with %v", name, ran, err)
		}
	}
	other := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Operation: "mail"})
	if err := other.Do(resuming(t, "payment#1"), "letter", nothing); err != nil {
		t.Errorf("a call of another operation ends with %v", err)
	}
}

// TestAResumedRequestIsRefusedWithGuardsOffToo: it would run without its record.
func TestAResumedRequestIsRefusedWithGuardsOffToo(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "1")
	guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{KeepEvent: true, RunWithoutKey: true})
	handler := guard.Handler(func(context.Context) error { t.Error("it runs"); return nil })
	for _, event := range []string{`{"id":"2"}`, `{}`} {
		if _, err := handler.Invoke(resuming(t, "payment#1"), []byte(event)); !errors.Is(err, idempotent.ErrKey) {
			t.Errorf("%s ends with %v", event, err)
		}
	}
}
