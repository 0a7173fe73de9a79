package eventguard_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/internal/entrysuite"
	"github.com/ikkai-go/idempotency/persistence"
)

// Each door is an entry point: it keeps all rules that entry points keep.
func TestEveryDoorKeepsEveryRule(t *testing.T) {
	for name, d := range doors {
		t.Run(name, func(t *testing.T) {
			entrysuite.Check(t, entrysuite.Entry{
				Name: name, Open: d.enter, Selects: !d.undecoded, Silent: true, Mute: !d.single, Contains: !d.single,
			})
		})
	}
}

// idIn is where the guard of a door finds the member id of a body.
var idIn = map[*idempotency.Expression]*idempotency.Expression{
	byOrderID: idempotency.MustJMESPath("id"), inDetail: idempotency.MustJMESPath("detail.id"), inImage: idempotency.MustJMESPath("dynamodb.NewImage.id.S"),
}

func (d door) enter(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	t.Helper()
	c.Key = idIn[d.key]
	if c.Fingerprint != nil {
		c.Fingerprint = d.amount
	}
	guard, err := idempotent.New(store, c)
	if err != nil {
		t.Fatal(err)
	}
	config := eventguard.Config{Logger: c.Logger}
	run := func(ctx context.Context, o order) error {
		_, err := fn(ctx, entrysuite.Request{Key: o.ID, Content: strconv.Itoa(o.Amount)})
		return err
	}
	if d.single {
		handle := d.one(t, guard, config, run)
		return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
			err := handle(ctx, asLetter(r))
			return entrysuite.Answer{Failed: err != nil, Verdict: idempotent.VerdictOf(err)}
		}
	}
	handle := d.open(t, guard, config, run)
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		failed, err := handle(ctx, asLetter(r))
		return entrysuite.Answer{Failed: len(failed) > 0 || err != nil}
	}
}

func asLetter(r entrysuite.Request) letter {
	text := r.Raw
	if text == "" {
		text = fmt.Sprintf(`{"id": %q, "order_id": %q, "amount": %s}`, r.Key, r.Key, r.Content)
	}
	return letter{"id-0", text}
}
