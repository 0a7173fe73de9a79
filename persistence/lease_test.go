package persistence_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency/persistence"
)

func TestALeaseKnowsWhatItsOwnerKnows(t *testing.T) {
	r := claim("payment", "first", noon).Fresh()
	r.Steps = map[string][]byte{"reserve": []byte("box 7")}
	want := persistence.Lease{Key: "payment", Owner: "first", Fingerprint: "amount=10", Steps: r.Steps, ExpiresAt: r.ExpiresAt}
	if diff := cmp.Diff(want, r.Lease()); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}
}

func TestALeaseThatNobodyCanHaveIsInvalid(t *testing.T) {
	for _, tt := range []struct {
		lease persistence.Lease
		valid bool
	}{
		{persistence.Lease{Key: "payment", Owner: "first"}, true},
		{persistence.Lease{Key: "payment"}, false},
		{persistence.Lease{Owner: "first"}, false},
		{persistence.Lease{}, false},
	} {
		switch err := tt.lease.Check(); {
		case tt.valid && err != nil:
			t.Errorf("%+v: want no error, got %v", tt.lease, err)
		case !tt.valid && !errors.Is(err, persistence.ErrInvalid):
			t.Errorf("%+v: want ErrInvalid, got %v", tt.lease, err)
		}
	}
}

func TestARenewalMovesLeaseAndExpiryOnAndNeverBack(t *testing.T) {
	at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	type ends struct{ lease, expiry time.Time }
	for name, tt := range map[string]struct {
		until, wish time.Time
		from, to    ends
	}{
		"none is asked for":             {time.Time{}, at(9000), ends{at(60), at(3600)}, ends{at(60), at(3600)}},
		"a later lease":                 {at(90), time.Time{}, ends{at(60), at(3600)}, ends{at(90), at(3600)}},
		"an earlier lease":              {at(30), at(1800), ends{at(60), at(3600)}, ends{at(60), at(3600)}},
		"beyond the expiry":             {at(4000), at(3600), ends{at(60), at(3600)}, ends{at(4000), at(4000)}},
		"a later expiry is wished":      {at(90), at(7200), ends{at(60), at(3600)}, ends{at(90), at(7200)}},
		"an expiry earlier than lease":  {at(4000), at(100), ends{at(60), at(90)}, ends{at(4000), at(4000)}},
		"parts of units are rounded up": {at(60.0005), at(3600.1), ends{at(60), at(3600)}, ends{at(60.001), at(3601)}},
		"no end of the lease":           {at(90), time.Time{}, ends{time.Time{}, at(60)}, ends{time.Time{}, at(90)}},
		"no expiry":                     {at(90), at(9000), ends{at(60), time.Time{}}, ends{at(90), time.Time{}}},
	} {
		got := persistence.Lease{Until: tt.until, ExpiresAt: tt.wish}.Renewed(persistence.Record{LeaseUntil: tt.from.lease, ExpiresAt: tt.from.expiry})
		if !got.LeaseUntil.Equal(tt.to.lease) || !got.ExpiresAt.Equal(tt.to.expiry) {
			t.Errorf("%s: the lease ends at %v and the record at %v, want %v and %v", name, got.LeaseUntil, got.ExpiresAt, tt.to.lease, tt.to.expiry)
		}
	}
}

func TestOnlyAFinalStatusIsAnOutcome(t *testing.T) {
	for status, valid := range map[persistence.Status]bool{
		persistence.StatusCompleted:  true,
		persistence.StatusFailed:     true,
		persistence.StatusProcessing: false,
		persistence.StatusPartial:    false,
		"":                           false,
	} {
		switch err := (persistence.Outcome{Status: status}).Check(); {
		case valid && err != nil:
			t.Errorf("%q: want no error, got %v", status, err)
		case !valid && !errors.Is(err, persistence.ErrInvalid):
			t.Errorf("%q: want ErrInvalid, got %v", status, err)
		}
	}
}

func TestAnOutcomeFinishesTheRecordOfItsLease(t *testing.T) {
	l := persistence.Lease{Key: "payment", Owner: "first", Fingerprint: "amount=10", Steps: map[string][]byte{"reserve": nil}}
	base := persistence.Record{Key: l.Key, Owner: l.Owner, Fingerprint: l.Fingerprint, Steps: l.Steps, ExpiresAt: noon.Add(time.Hour)}
	completed, failed, omitted := base, base, base
	completed.Status, completed.Result = persistence.StatusCompleted, []byte("ok")
	failed.Status, failed.Result = persistence.StatusFailed, []byte("ok")
	omitted.Status, omitted.ResultOmitted = persistence.StatusCompleted, true

	failure, withoutResult := paid("ok"), paid("ok")
	failure.Status = persistence.StatusFailed
	withoutResult.ResultOmitted = true
	for _, tt := range []struct {
		name    string
		outcome persistence.Outcome
		want    persistence.Record
	}{
		{"a success", paid("ok"), completed},
		{"a failure", failure, failed},
		{"a success whose result is omitted", withoutResult, omitted},
	} {
		if diff := cmp.Diff(tt.want, tt.outcome.Of(l)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
