package overflow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/overflow"
)

// now is the clock of these tests.
var now = time.Date(2100, time.January, 1, 0, 0, 0, 250e6, time.UTC)

// shelf keeps blobs in memory, counts the calls, and can be out of order.
type shelf struct {
	mu    sync.Mutex
	blobs map[string]blob
	calls int
	down  error                 // what every call fails with
	hang  func(context.Context) // before a call goes on
}

type blob struct {
	content   []byte
	expiresAt time.Time
}

func newShelf() *shelf { return &shelf{blobs: make(map[string]blob)} }

func (s *shelf) reach(ctx context.Context) error {
	if s.hang != nil {
		s.hang(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return errors.Join(s.down, ctx.Err())
}

func (s *shelf) Put(ctx context.Context, name string, content []byte, expiresAt time.Time) error {
	if err := s.reach(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[name] = blob{bytes.Clone(content), expiresAt}
	return nil
}

func (s *shelf) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, there := s.blobs[name]
	if !there {
		return nil, fmt.Errorf("%w: %s", overflow.ErrMissing, name)
	}
	return bytes.Clone(b.content[:min(int64(len(b.content)), limit)]), nil
}

func (s *shelf) Delete(ctx context.Context, name string) error {
	if err := s.reach(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.blobs, name)
	return nil
}

// only returns the only blob, and its name.
func (s *shelf) only(t *testing.T) (string, blob) {
	t.Helper()
	if len(s.blobs) != 1 {
		t.Fatalf("want one blob, got %d", len(s.blobs))
	}
	for name, b := range s.blobs {
		return name, b
	}
	panic("unreachable")
}

func (s *shelf) change(t *testing.T, to func([]byte) []byte) {
	t.Helper()
	name, b := s.only(t)
	b.content = to(b.content)
	s.blobs[name] = b
}

// front opens a store in front of another one; lost results are collected.
func front(t testing.TB, behind persistence.Store, blobs overflow.Blobs, config overflow.Config) (*overflow.Store, *[]*overflow.LostError) {
	t.Helper()
	lost := new([]*overflow.LostError)
	if config.OnLost == nil {
		config.OnLost = func(_ context.Context, l *overflow.LostError) { *lost = append(*lost, l) }
	}
	store, err := overflow.New(behind, blobs, config)
	if err != nil {
		t.Fatal(err)
	}
	return store, lost
}

// table opens a store on an embedded DynamoDB.
func table(t testing.TB) persistence.Store {
	t.Helper()
	_, store := embedded.Store(t, dynamostore.Config{})
	return store
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

func completed(result []byte) persistence.Outcome {
	return persistence.Outcome{Status: persistence.StatusCompleted, Result: result, ExpiresAt: claim("").ExpiresAt}
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

// finish acquires and completes.
func finish(t *testing.T, store persistence.Store, c persistence.Claim, result []byte) {
	t.Helper()
	if err := store.Complete(t.Context(), acquire(t, store, c), completed(result)); err != nil {
		t.Fatal(err)
	}
}

// large is a result that no DynamoDB item can hold, and that does not compress.
func large(seed byte) []byte {
	b := make([]byte, 500<<10)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b) // never fails
	return b
}
