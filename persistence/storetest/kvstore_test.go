package storetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// plantedKV adds to the store of the example what the rules about foreign records need.
type plantedKV struct{ kvStore }

func (p plantedKV) Plant(ctx context.Context, r persistence.Record) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, revision, err := p.kv.read(ctx, r.Key)
	return errors.Join(err, p.kv.write(ctx, r.Key, value, revision))
}

func TestTheStoreOfTheExampleKeepsTheContract(t *testing.T) {
	shared := plantedKV{kvStore{&keyValues{entries: make(map[string]entry)}}}
	storetest.Run(t, func(*testing.T) persistence.Store { return shared })
}

func TestTheStoreOfTheExampleRefusesWhatItCanNotRead(t *testing.T) {
	store := kvStore{&keyValues{entries: map[string]entry{"payment#1": {value: []byte("{"), revision: 1}}}}
	_, _, err := store.Read(t.Context(), "payment#1")
	if !errors.Is(err, persistence.ErrUnreadable) || persistence.Retryable(err) {
		t.Errorf("want ErrUnreadable for good, got %v", err)
	}
}
