package sealed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

// distant is a service that takes its time, for any number of requests at once.
type distant struct {
	*service
	takes time.Duration
}

func (d *distant) Unwrap(ctx context.Context, wrapped []byte, place sealed.Place) ([]byte, error) {
	select {
	case <-time.After(d.takes):
		return d.service.Unwrap(ctx, wrapped, place)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A saga of many steps gets back in, although opening each of them is a request.
func TestStepsAreOpenedSeveralAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := &distant{newService(), 40 * time.Millisecond}
		store := front(t, persistence.NewMemory(), sealed.NewEnvelope(keys), sealed.Config{})
		lease := acquire(t, store, claim("first"))
		const steps = 25
		for i := range steps {
			ok(t, store.Checkpoint(t.Context(), lease, fmt.Sprint("step ", i), []byte(fmt.Sprint("output ", i))))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		r, err := store.Acquire(ctx, late("second"))
		if err != nil || r.Owner != "second" || len(r.Steps) != steps || string(r.Steps["step 7"]) != "output 7" {
			t.Errorf("got %d steps, %v", len(r.Steps), err)
		}
	})
}

// One step that can't be opened is enough, and its error is the one that is told.
func TestAStepThatDoesNotOpenIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := &distant{newService(), 40 * time.Millisecond}
		behind := persistence.NewMemory()
		store := front(t, behind, sealed.NewEnvelope(keys), sealed.Config{})
		lease := acquire(t, store, claim("first"))
		for i := range 40 {
			ok(t, store.Checkpoint(t.Context(), lease, fmt.Sprint("step ", i), nil))
		}
		broken := behind.Records()[0]
		broken.Steps["step 7"][len(broken.Steps["step 7"])-1] ^= 1
		behind.Put(broken)
		if _, err := store.Acquire(t.Context(), late("second")); !errors.Is(err, sealed.ErrForged) || persistence.Retryable(err) {
			t.Errorf("got %v, want ErrForged for good", err)
		}
	})
}

// Who is turned away needs nobody's steps, and no service to open them.
func TestADuplicateOpensNoStepsOfARunUnderWay(t *testing.T) {
	keys := newService()
	store := front(t, persistence.NewMemory(), sealed.NewEnvelope(keys), sealed.Config{})
	lease := acquire(t, store, claim("first"))
	ok(t, store.Checkpoint(t.Context(), lease, "reserve", []byte("box 7")))
	keys.down = errors.New("KMS is down")
	calls := keys.calls
	r, err := store.Acquire(t.Context(), claim("duplicate"))
	if err != nil || r.Owner != "first" || r.Status != persistence.StatusProcessing || r.Steps != nil {
		t.Errorf("got %+v, %v, want the record of the first, without its steps", r, err)
	}
	r, found, err := store.Read(t.Context(), lease.Key)
	if err != nil || !found || r.Owner != "first" || r.Steps != nil {
		t.Errorf("read %+v, %v", r, err)
	}
	if keys.calls != calls {
		t.Errorf("it took %d requests", keys.calls-calls)
	}
}
