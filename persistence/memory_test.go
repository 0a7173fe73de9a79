package persistence_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// memory is a Memory into which the suite can put foreign records.
type memory struct{ *persistence.Memory }

func (m memory) Plant(_ context.Context, r persistence.Record) error {
	m.Put(r)
	return nil
}

func TestMemoryKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) persistence.Store { return memory{persistence.NewMemory()} })
}

func TestTheZeroMemoryIsReady(t *testing.T) {
	storetest.Run(t, func(*testing.T) persistence.Store { return memory{new(persistence.Memory)} })
}

func TestMemoryShowsItsRecordsInTheOrderOfTheirKeys(t *testing.T) {
	m := persistence.NewMemory()
	if got := m.Records(); len(got) != 0 {
		t.Errorf("an empty store shows %v", got)
	}
	b := persistence.Record{Key: "b", Status: persistence.StatusPartial, Steps: map[string][]byte{"reserve": []byte("box 7")}}
	a := persistence.Record{Key: "a", Status: persistence.StatusCompleted, Result: []byte("paid"), ExpiresAt: time.Unix(60, 0)}
	m.Put(b)
	m.Put(a)
	if diff := cmp.Diff([]persistence.Record{a, b}, m.Records()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	m.Delete("a")
	m.Delete("never there")
	if diff := cmp.Diff([]persistence.Record{b}, m.Records()); diff != "" {
		t.Errorf("records after a deletion (-want +got):\n%s", diff)
	}
}

func TestMemorySharesNothingWithItsTests(t *testing.T) {
	m := persistence.NewMemory()
	put := persistence.Record{Key: "a", Result: []byte("paid"), Steps: map[string][]byte{"reserve": []byte("box 7")}}
	want := put.Clone()
	m.Put(put)
	spoil(put)
	spoil(m.Records()[0])
	read, _, err := m.Read(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	spoil(read)
	if diff := cmp.Diff([]persistence.Record{want}, m.Records()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// spoil overwrites everything that a record refers to.
func spoil(r persistence.Record) {
	for i := range r.Result {
		r.Result[i] = 'X'
	}
	for name, output := range r.Steps {
		for i := range output {
			output[i] = 'X'
		}
		r.Steps[name+"?"] = nil
	}
}
