package batch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestTheKeyOfARecordIsFoundFromItsItem(t *testing.T) {
	for name, tenant := range map[string]string{"no tenant": "", "a tenant": "blue"} {
		ctx := t.Context()
		if tenant != "" {
			ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: tenant})
		}
		config := idempotent.Config{Fingerprint: idempotency.MustJMESPath("salary")}
		store := persistence.NewMemory()
		p := newPayroll(t, 1, 0)
		if _, err := p.start(ctx, lab.NewKeylessGuard(t, store, config), alive); err != nil {
			t.Fatal(err)
		}
		elsewhere := lab.NewKeylessGuard(t, persistence.NewMemory(), config)
		if got, err := batch.RecordKey(ctx, elsewhere, "2026-11", "e-0"); err != nil || got != store.Records()[0].Key {
			t.Errorf("%s: %q, %v, want %q", name, got, err, store.Records()[0].Key)
		}
		if got, err := batch.RecordKey(ctx, elsewhere, "2026-11", ""); got != "" || !errors.Is(err, idempotent.ErrKey) {
			t.Errorf("%s: of nobody %q, %v", name, got, err)
		}
	}
	keyed := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Key: idempotency.MustJMESPath("number")})
	if got, err := batch.RecordKey(t.Context(), keyed, "2026-11", "e-0"); got != "" || !errors.Is(err, idempotent.ErrConfig) {
		t.Errorf("of a guard with a Key: %q, %v", got, err)
	}
}

func ExampleRecordKey() {
	guard := newGuard(idempotent.Config{Operation: "salary"})
	fmt.Println(batch.RecordKey(context.Background(), guard, "2026-11", "e-1"))
	// Output: salary#a0874446de14b6efc6e1310710deebeb94e7bc2bcd9dc507f0d9b871c28ebf9c <nil>
}
