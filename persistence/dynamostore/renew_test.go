package dynamostore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// What renewals send, and what DynamoDB charges for it: one write each, a unit for a small
// record, and no read to find out why one was refused.
func TestARenewalIsOneWrite(t *testing.T) {
	type call = func(t *testing.T, store planter, l persistence.Lease) error
	renew := func(t *testing.T, store planter, l persistence.Lease) error { return store.Renew(t.Context(), l) }
	checkpoint := func(step string) call {
		return func(t *testing.T, store planter, l persistence.Lease) error {
			return store.Checkpoint(t.Context(), l, step, []byte("box 7"))
		}
	}
	lost := func(call call) call {
		return func(t *testing.T, store planter, l persistence.Lease) error {
			l.Owner = "stranger"
			if err := call(t, store, l); !errors.Is(err, persistence.ErrLeaseLost) {
				t.Errorf("by a stranger: %v, want ErrLeaseLost", err)
			}
			return nil
		}
	}
	elsewhere := func(call call) call { // a renewal that the lease does not know of
		return func(t *testing.T, store planter, l persistence.Lease) error {
			further := l
			further.Until = l.Until.Add(2 * time.Hour)
			if err := store.Renew(t.Context(), further); err != nil {
				t.Fatal(err)
			}
			return call(t, store, l)
		}
	}
	for name, test := range map[string]struct {
		call call
		want string
	}{
		"renewal":                              {renew, "UpdateItem"},
		"renewal by a stranger":                {lost(renew), "UpdateItem"},
		"renewal after another":                {elsewhere(renew), "UpdateItem UpdateItem"},
		"checkpoint that renews":               {checkpoint("charge"), "UpdateItem"},
		"such a checkpoint by a stranger":      {lost(checkpoint("charge")), "UpdateItem"},
		"such a checkpoint after another":      {elsewhere(checkpoint("charge")), "UpdateItem UpdateItem UpdateItem"},
		"such a checkpoint of a step there is": {checkpoint("reserve"), "UpdateItem UpdateItem"},
	} {
		t.Run(name, func(t *testing.T) {
			db, store := newStore(t)
			r, err := store.Acquire(t.Context(), claim("me"))
			if err != nil {
				t.Fatal(err)
			}
			l := r.Lease()
			if err := store.Checkpoint(t.Context(), l, "reserve", []byte("box 7")); err != nil {
				t.Fatal(err)
			}
			l.Steps = map[string][]byte{"reserve": []byte("box 7")}
			l.Until = r.LeaseUntil.Add(time.Minute)
			db.ResetLog()
			if err := test.call(t, store, l); err != nil {
				t.Fatal(err)
			}
			var sent []string
			for _, request := range db.Requests() {
				sent = append(sent, request.Operation)
				if request.Capacity.Write != 1 || request.Capacity.Read != 0 {
					t.Errorf("%s took %+v, want one write unit", request.Operation, request.Capacity)
				}
			}
			if got := strings.Join(sent, " "); got != test.want {
				t.Errorf("it sent %s, want %s", got, test.want)
			}
		})
	}
}

// A claim that has seen an ended lease loses against a renewal that comes before its
// take-over: the lease is a part of what it compares and swaps.
func TestARenewalBetweenLookAndTakeOverKeepsTheRecord(t *testing.T) {
	db, store := newStore(t)
	first, err := store.Acquire(t.Context(), claim("first"))
	if err != nil {
		t.Fatal(err)
	}
	late := claim("second")
	late.Now = first.LeaseUntil.Add(time.Second)
	late.LeaseUntil = late.Now.Add(time.Minute)
	l := first.Lease()
	l.Until = late.LeaseUntil
	db.Inject(dynamotest.Fault{Operation: "UpdateItem", Do: dynamotest.Before(func(dynamotest.Request) {
		if err := store.Renew(t.Context(), l); err != nil {
			t.Errorf("the renewal: %v", err)
		}
	})})
	if r, err := store.Acquire(t.Context(), late); err != nil || r.Owner != "first" || !r.LeaseUntil.Equal(l.Until) {
		t.Errorf("the claim: %+v, %v, want the renewed record", r, err)
	}
}

// In a table with another toolkit's format the lease and the expiry are where that one
// looks for them.
func TestARenewalInAnotherFormat(t *testing.T) {
	db, store := formatted(t)
	r, err := store.Acquire(t.Context(), claim("me"))
	if err != nil {
		t.Fatal(err)
	}
	l := r.Lease()
	l.Until = r.ExpiresAt.Add(time.Minute)
	if err := store.Renew(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	got, found, err := store.Read(t.Context(), r.Key)
	if err != nil || !found || !got.LeaseUntil.Equal(l.Until) || got.ExpiresAt.Before(l.Until.Truncate(time.Second)) {
		t.Errorf("%+v, %t, %v, want a lease and an expiry of %v\n%s", got, found, err, l.Until, dump(t, db))
	}
}
