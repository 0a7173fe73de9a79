package eventguard_test

import (
	"context"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// Where Lambda isolates tenants, the tenant is in the context and not in the event.
func TestTenantsDoNotShareARecord(t *testing.T) {
	for name, test := range map[string]struct {
		shared bool
		runs   int
	}{"separate": {false, 2}, "shared": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			at(t, func(t *testing.T, d door) {
				for _, key := range []bool{true, false} {
					config := idempotent.Config{TenantsShareRecords: test.shared}
					if key {
						config.Key = d.key
					}
					runs := 0
					handle := d.open(t, newGuard(t, persistence.NewMemory(), config), eventguard.Config{}, func(context.Context, order) error { runs++; return nil })
					for _, tenant := range []string{"blue", "green", "blue"} {
						ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: tenant})
						if failed, err := handle(ctx, letters(body("o1"))...); err != nil || len(failed) > 0 {
							t.Errorf("%v failed, %v", failed, err)
						}
					}
					if runs != test.runs {
						t.Errorf("with a key %t: %d runs, want %d", key, runs, test.runs)
					}
				}
			})
		})
	}
}
