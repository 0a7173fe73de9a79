package persistence_test

import (
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func claim(key, owner string, now time.Time) persistence.Claim {
	return persistence.Claim{
		Key:         key,
		Owner:       owner,
		Fingerprint: "amount=10",
		Now:         now,
		LeaseUntil:  now.Add(time.Minute),
		ExpiresAt:   now.Add(time.Hour),
	}
}

func paid(result string) persistence.Outcome {
	return persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: noon.Add(time.Hour)}
}
