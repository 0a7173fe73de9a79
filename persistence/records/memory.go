package records

import (
	"context"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// memoryLister lists the records of a [persistence.Memory], by key.
type memoryLister struct{ store *persistence.Memory }

// List implements [storekit.Lister], with one segment.
func (m memoryLister) List(ctx context.Context, q storekit.Query) (storekit.Page, error) {
	if err := ctx.Err(); err != nil {
		return storekit.Page{}, &persistence.Fault{Op: "list", Retryable: true, Err: err}
	}
	if q.Segment > 0 {
		return storekit.Page{}, nil
	}
	var page storekit.Page
	for _, r := range m.store.Records() {
		if r.Key <= q.Cursor || !strings.HasPrefix(r.Key, q.Prefix) {
			continue
		}
		if q.Limit > 0 && page.Seen == q.Limit {
			return page, nil
		}
		page.Seen++
		page.Cursor = r.Key
		if len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status) {
			r.Result, r.Event = nil, nil
			page.Records = append(page.Records, r)
		}
	}
	page.Cursor = ""
	return page, nil
}
