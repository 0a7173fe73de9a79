package httpguard_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

func TestShortFormDuplicateGetsTheWinnersResponse(t *testing.T) {
	for name, second := range map[string]func() (answer, error){
		"200":   func() (answer, error) { return answer{status: 200, body: "second"}, nil },
		"409":   func() (answer, error) { return answer{status: 409, body: "out of stock"}, nil },
		"error": func() (answer, error) { return answer{}, errors.New("out of stock") },
	} {
		t.Run(name, func(t *testing.T) {
			throughEveryShape(t, func(t *testing.T, s shape) {
				_, store := embedded.Store(t, dynamostore.Config{})
				api := s.newAPI(t, store, idempotent.Config{OnlyEnlists: true}, httpguard.Config{})
				runs := 0
				send := s.guard(api, func(context.Context) (answer, error) {
					if runs++; runs == 1 {
						return answer{status: 201, body: "first"}, nil
					}
					return second()
				})
				a := send(t.Context(), key("k1", "{}"))
				b := send(t.Context(), key("k1", "{}"))
				if b.status != a.status || b.body != a.body || !b.replayed() {
					t.Errorf("first %d %q %v, duplicate %d %q replayed %t %v", a.status, a.body, a.err, b.status, b.body, b.replayed(), b.err)
				}
			})
		})
	}
}

// Where results are not stored a duplicate is told that it was done.
func TestOnlyLock(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		_, store := embedded.Store(t, dynamostore.Config{})
		api := s.newAPI(t, store, idempotent.Config{OnlyLock: true}, httpguard.Config{})
		send := s.guard(api, func(context.Context) (answer, error) { return answer{status: 201, body: "first"}, nil })
		a := send(t.Context(), key("k1", "{}"))
		b := send(t.Context(), key("k1", "{}"))
		if a.status != 201 || a.body != "first" || a.replayed() || a.err != nil {
			t.Errorf("the first gets %d %q, %v", a.status, a.body, a.err)
		}
		if d := documentOf(t, b); b.status != 409 || d.Code != "result_not_stored" || d.Done != "all" || d.Retry || b.err != nil {
			t.Errorf("a duplicate gets %d %s, %v", b.status, b.body, b.err)
		}
	})
}
