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
	want := persistence.Lease{Key: "payment", Owner: "first", Fingerprint: "amount=10", Steps: r.Steps}
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
