package persistence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency/persistence"
)

// Field reports 3 and 4: leases count in milliseconds and expiry in seconds, the
// last of each still counts, and no lease is not a lease that is over.
func TestReports3And4ALeaseAndAnExpiryEndInTheirOwnUnits(t *testing.T) {
	const (
		live    = "live"
		over    = "over"
		expired = "expired"
	)
	at := time.UnixMilli
	for _, tt := range []struct {
		name   string
		record persistence.Record
		now    time.Time
		want   string
	}{
		{"long before", running(at(1_700_000_030_750), at(1_700_003_600_000)), at(1_700_000_000_250), live},
		{"the last millisecond", running(at(1_700_000_030_750), at(1_700_003_600_000)), at(1_700_000_030_750), live},
		{"the end of the last millisecond", running(at(1_700_000_030_750), at(1_700_003_600_000)), at(1_700_000_030_750).Add(999_999), live},
		{"the next millisecond", running(at(1_700_000_030_750), at(1_700_003_600_000)), at(1_700_000_030_751), over},
		{"the last second", running(at(1_700_000_030_750), at(1_700_003_600_000)), at(1_700_003_600_999), over},
		{"the next second", running(at(1_700_000_030_750), at(1_700_003_600_000)), at(1_700_003_601_000), expired},
		{"a lease that outlives the record", running(at(1_700_009_999_000), at(1_700_003_600_000)), at(1_700_003_601_000), live},
		{"no lease", running(time.Time{}, at(1_700_003_600_000)), at(1_700_000_000_250), live},
		{"no lease, the last second", running(time.Time{}, at(1_700_003_600_000)), at(1_700_003_600_999), live},
		{"no lease, the next second", running(time.Time{}, at(1_700_003_600_000)), at(1_700_003_601_000), expired},
		{"no expiry", running(at(1_700_000_030_750), time.Time{}), at(1_900_000_000_000), over},
		{"neither", running(time.Time{}, time.Time{}), at(1_900_000_000_000), live},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := over
			switch {
			case tt.record.LeaseLive(tt.now) && tt.record.Expired(tt.now):
				got = "live and expired"
			case tt.record.LeaseLive(tt.now):
				got = live
			case tt.record.Expired(tt.now):
				got = expired
			}
			if got != tt.want {
				t.Errorf("want %s, got %s", tt.want, got)
			}
		})
	}
}

func running(leaseUntil, expiresAt time.Time) persistence.Record {
	return persistence.Record{Status: persistence.StatusProcessing, LeaseUntil: leaseUntil, ExpiresAt: expiresAt}
}

func TestOnlyARunningRecordHasALiveLease(t *testing.T) {
	for status, want := range map[persistence.Status]struct{ live, finished bool }{
		persistence.StatusProcessing: {live: true},
		persistence.StatusPartial:    {},
		persistence.StatusCompleted:  {finished: true},
		persistence.StatusFailed:     {finished: true},
		"unheard of":                 {},
	} {
		r := running(noon.Add(time.Minute), noon.Add(-time.Hour))
		r.Status = status
		if got := r.LeaseLive(noon); got != want.live {
			t.Errorf("%s: want its lease live %v, got %v", status, want.live, got)
		}
		if r.Expired(noon) {
			t.Errorf("%s: it has expired before its lease has ended", status)
		}
		if got := status.Finished(); got != want.finished {
			t.Errorf("%s: want it finished %v, got %v", status, want.finished, got)
		}
	}
}

func TestACloneSharesNothing(t *testing.T) {
	r := persistence.Record{Key: "payment", Result: []byte("paid"), Steps: map[string][]byte{"reserve": []byte("box 7"), "notify": {}}}
	clone := r.Clone()
	if diff := cmp.Diff(r, clone); diff != "" {
		t.Errorf("clone (-original +clone):\n%s", diff)
	}
	want := r.Clone()
	spoil(r)
	if diff := cmp.Diff(want, clone); diff != "" {
		t.Errorf("clone after the original has changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(persistence.Record{}, persistence.Record{}.Clone()); diff != "" {
		t.Errorf("clone of nothing (-want +got):\n%s", diff)
	}
}
