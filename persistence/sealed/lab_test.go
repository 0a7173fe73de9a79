package sealed_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

// now is the clock of these tests.
var now = time.Date(2100, time.January, 1, 0, 0, 0, 250e6, time.UTC)

func key(id string) sealed.Key {
	return sealed.Key{ID: id, Secret: bytes.Repeat([]byte(id[:1]), 32)}
}

func aes(t testing.TB, current sealed.Key, others ...sealed.Key) *sealed.AES {
	t.Helper()
	a, err := sealed.NewAES(current, others...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func front(t testing.TB, behind persistence.Store, sealer sealed.Sealer, config sealed.Config) *sealed.Store {
	t.Helper()
	store, err := sealed.New(behind, sealer, config)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// table opens a store on an embedded DynamoDB.
func table(t testing.TB) *dynamostore.Store {
	t.Helper()
	_, store := embedded.Store(t, dynamostore.Config{})
	return store
}

// service keeps keys as AWS KMS does: its wrapped keys open with the same context only.
type service struct {
	mu      sync.Mutex
	wrapped map[string]wrapping
	calls   int
	down    error
	hang    func(context.Context)
}

type wrapping struct {
	key     []byte
	context map[string]string
}

func newService() *service { return &service{wrapped: make(map[string]wrapping)} }

func (s *service) reach(ctx context.Context) error {
	if s.hang != nil {
		s.hang(ctx)
	}
	s.calls++
	return errors.Join(s.down, ctx.Err())
}

func (s *service) Generate(ctx context.Context, place sealed.Place) (key, wrapped []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reach(ctx); err != nil {
		return nil, nil, err
	}
	key, id := make([]byte, 32), "wrapped "+rand.Text()
	_, _ = rand.Read(key) // never fails
	s.wrapped[id] = wrapping{key, place.Context()}
	return bytes.Clone(key), []byte(id), nil
}

func (s *service) Unwrap(ctx context.Context, wrapped []byte, place sealed.Place) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	w, known := s.wrapped[string(wrapped)]
	if !known || !maps.Equal(w.context, place.Context()) {
		return nil, fmt.Errorf("%w: InvalidCiphertextException", sealed.ErrForged)
	}
	return bytes.Clone(w.key), nil
}

func claim(owner string) persistence.Claim {
	return persistence.Claim{
		Key: "payment#1", Owner: owner, Now: now,
		LeaseUntil: now.Add(30500 * time.Millisecond),
		ExpiresAt:  now.Add(time.Hour).Truncate(time.Second),
	}
}

// late is a claim after every lease, before every expiry.
func late(owner string) persistence.Claim {
	c := claim(owner)
	c.Now, c.LeaseUntil = c.LeaseUntil.Add(time.Second), c.LeaseUntil.Add(time.Minute)
	return c
}

func completed(result string) persistence.Outcome {
	return persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: claim("").ExpiresAt}
}

// acquire demands the record.
func acquire(t *testing.T, store persistence.Store, c persistence.Claim) persistence.Lease {
	t.Helper()
	r, err := store.Acquire(t.Context(), c)
	if err != nil || r.Owner != c.Owner || r.Status != persistence.StatusProcessing {
		t.Fatalf("want to own the record, got %s of %q, %v", r.Status, r.Owner, err)
	}
	return r.Lease()
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
