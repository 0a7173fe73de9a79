package batch

import (
	"context"

	"github.com/ikkai-go/idempotency/idempotent"
)

// RecordKey returns the key of the record of an item of a batch, for whoever looks for it.
// Where Lambda isolates tenants, the tenant is the context's. The error is an
// [idempotent.ErrKey], or an [idempotent.ErrConfig].
func RecordKey(ctx context.Context, guard *idempotent.Guard, batch, id string) (string, error) {
	return guard.IdentifyItem(batch, id, nil).RecordKey(ctx)
}
