package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// Many records are found in statements of a hundred keys; those that are not there are left out.
func TestManyRecordsAreReadAtOnce(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)

		now := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
		var keys []string
		for i := range 130 {
			key := fmt.Sprintf("many/%d", i)
			keys = append(keys, key)
			r, err := store.Acquire(t.Context(), persistence.Claim{Key: key, Owner: "o", Now: now, LeaseUntil: now.Add(time.Minute), ExpiresAt: now.Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Complete(t.Context(), r.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(key), ExpiresAt: now.Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		records, err := store.ReadMany(t.Context(), append(keys, keys[0], "absent"))
		seen := make(map[string]bool)
		for _, r := range records {
			seen[r.Key] = r.Status == persistence.StatusCompleted && string(r.Result) == r.Key
		}
		for _, key := range keys {
			if !seen[key] {
				t.Errorf("%s is not found as it is", key)
			}
		}
		if err != nil || len(seen) != len(keys) {
			t.Errorf("%d records, %v", len(seen), err)
		}
	})
}
