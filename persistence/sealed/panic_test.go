package sealed_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

// broken is a sealer that does not return from opening.
type broken struct {
	sealed.Sealer
	open func()
}

func (b broken) Open(context.Context, []byte, sealed.Place) ([]byte, error) {
	b.open()
	return nil, nil
}

// A sealer that panics does so on the goroutine of whoever has called the store, also where the
// store opens several values at a time: there it would end the process otherwise.
func TestASealerThatDoesNotReturnIsItsCallersAffair(t *testing.T) {
	ways := map[string]struct {
		open func()
		seen func(relay.Ending) bool
	}{
		"a panic": {func() { panic("broken") }, func(e relay.Ending) bool {
			thrown, elsewhere := e.Value.(*relay.Panic)
			return e.Panicked && (e.Value == "broken" || elsewhere && thrown.Value == "broken")
		}},
		"an ended goroutine": {runtime.Goexit, func(e relay.Ending) bool { return e.Exited }},
	}
	finished, given := []string{"payment#1", "payment#2", "payment#3"}, "payment#steps"
	paths := map[string]func(*sealed.Store){
		"a claim that replays": func(s *sealed.Store) { _, _ = s.Acquire(t.Context(), late("reader")) },
		"a claim that resumes": func(s *sealed.Store) {
			c := late("reader")
			c.Key = given
			_, _ = s.Acquire(t.Context(), c)
		},
		"Read":     func(s *sealed.Store) { _, _, _ = s.Read(t.Context(), finished[0]) },
		"ReadMany": func(s *sealed.Store) { _, _ = s.ReadMany(t.Context(), finished) },
		"Open": func(s *sealed.Store) {
			r, _, _ := s.Front.Read(t.Context(), given)
			_, _ = s.Open(t.Context(), r)
		},
	}
	for way, ends := range ways {
		for path, call := range paths {
			t.Run(path+", "+way, func(t *testing.T) {
				behind := persistence.NewMemory()
				store := front(t, behind, aes(t, key("a")), sealed.Config{})
				for _, k := range finished {
					c := claim("owner")
					c.Key = k
					ok(t, store.Complete(t.Context(), acquire(t, store, c), completed("paid")))
				}
				c := claim("owner")
				c.Key = given
				lease := acquire(t, store, c)
				for i := range 3 {
					ok(t, store.Checkpoint(t.Context(), lease, fmt.Sprint("step", i), []byte("box")))
				}
				ok(t, store.Release(t.Context(), lease))
				unopened := front(t, behind, broken{aes(t, key("a")), ends.open}, sealed.Config{})
				if e := relay.Run(func() { call(unopened) }); !ends.seen(e) {
					t.Errorf("the caller's goroutine ended with %+v", e)
				}
			})
		}
	}
}
