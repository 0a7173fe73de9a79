package sqlstore_test

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// situations are the records that a claim may find, in all combinations of what the
// verdict depends on, each under a key of its own.
func situations() []persistence.Record {
	leases := []time.Time{{}, now.Add(-time.Millisecond), now, now.Add(time.Second)}
	expiries := []time.Time{{}, now.Add(-time.Second), now, now.Add(time.Hour)}
	var all []persistence.Record
	for _, status := range []persistence.Status{persistence.StatusProcessing, persistence.StatusPartial, persistence.StatusCompleted} {
		for _, owner := range []string{"", "me", "other"} {
			for _, fingerprint := range []string{"", "same", "other"} {
				for _, lease := range leases {
					for _, expiry := range expiries {
						r := persistence.Record{
							Key:    "situation " + strconv.Itoa(len(all)),
							Status: status, Owner: owner, Fingerprint: fingerprint, LeaseUntil: lease, ExpiresAt: expiry,
							Steps: map[string][]byte{"reserve": []byte("box 7")}, Attempt: 3,
						}
						if status.Finished() {
							r.Result = []byte("paid")
						}
						all = append(all, r)
					}
				}
			}
		}
	}
	return all
}

// The conditions in SQL decide as persistence.Claim.Judge does: whatever is there, the
// store answers as the reference store does, and leaves the same behind.
func TestTheDatabaseDecidesLikeJudge(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store, reference := newLab(t, d, nil), persistence.NewMemory()
		for _, fingerprint := range []string{"", "same"} {
			for _, refuses := range []bool{false, true} {
				for _, r := range situations() {
					reference.Put(r)
					if err := store.Plant(t.Context(), r); err != nil {
						t.Fatal(err)
					}
					c := claim("me")
					c.Key, c.Fingerprint, c.RefuseUnknown = r.Key, fingerprint, refuses
					want, _ := reference.Acquire(t.Context(), c) // never fails
					got, err := store.Acquire(t.Context(), c)
					if err != nil || !same(got, want) {
						t.Errorf("a claim with fingerprint %q, refusing %t, meets %+v:\ngot  %+v, %v\nwant %+v", fingerprint, refuses, r, got, err, want)
					}
					want, _, _ = reference.Read(t.Context(), r.Key) // never fails
					if got, _ := store.record(t, r.Key); !same(got, want) {
						t.Errorf("a claim with fingerprint %q, refusing %t, makes of %+v:\ngot  %+v\nwant %+v", fingerprint, refuses, r, got, want)
					}
				}
			}
		}
	})
}

// A claim that completes at once gets what is vacant, and nothing else.
func TestTheDatabaseDecidesLikeJudgeAboutWhatIsVacant(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		for _, r := range situations() {
			if err := store.Plant(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			c := claim("me")
			c.Key, c.Fingerprint = r.Key, "same"
			want := r
			if c.Judge(r) == persistence.Vacant {
				want = completed("done").Of(c.Fresh().Lease())
				want.Attempt = 1
			}
			got, err := store.CompleteAtOnce(t.Context(), c, completed("done"), nil)
			if r.Owner == "me" && !r.Status.Finished() {
				refusedAs(t, err, persistence.ErrInvalid)
			} else if err != nil || !same(got, want) {
				t.Errorf("meets %+v:\ngot  %+v, %v\nwant %+v", r, got, err, want)
			}
			if got, _ := store.record(t, r.Key); !same(got, want) {
				t.Errorf("makes of %+v:\ngot  %+v\nwant %+v", r, got, want)
			}
		}
	})
}

// same compares records in the units of the contract.
func same(a, b persistence.Record) bool {
	for _, r := range []*persistence.Record{&a, &b} {
		if !r.LeaseUntil.IsZero() {
			r.LeaseUntil = time.UnixMilli(r.LeaseUntil.UnixMilli())
		}
		if !r.ExpiresAt.IsZero() {
			r.ExpiresAt = time.Unix(r.ExpiresAt.Unix(), 0)
		}
		if len(r.Steps) == 0 {
			r.Steps = nil
		}
	}
	return reflect.DeepEqual(a, b)
}
