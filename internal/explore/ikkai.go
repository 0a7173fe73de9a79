package explore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

const (
	tableName = "idempotency"
	ttl       = time.Minute
	keyText   = "key"
)

// OnDynamoDB is this library on the embedded DynamoDB: the engine, the store with its
// conditional writes, and the conditions as DynamoDB evaluates them.
func OnDynamoDB(config idempotent.Config) System {
	name := "ikkai on DynamoDB"
	if config.ReadFirst {
		name += ", read first"
	}
	return onDynamoDB(name, config, func(w wire) dynamostore.API { return w })
}

// OnItemlessDynamoDB is the same on an endpoint that does not say which item was in
// the way of a failed condition, as DAX and older endpoints.
func OnItemlessDynamoDB(config idempotent.Config) System {
	return onDynamoDB("ikkai on DynamoDB without ALL_OLD", config, func(w wire) dynamostore.API { return itemless{w} })
}

func onDynamoDB(name string, config idempotent.Config, client func(wire) dynamostore.API) System {
	return System{Name: name, Open: func() (Table, error) {
		t, err := openDynamo(attributes{
			key: "idempotency_key", status: "status", owner: "owner", lease: "lease_until", expiry: "expire_at", result: "result", attempt: "attempt",
		})
		if err != nil {
			return nil, err
		}
		return &ikkaiTable{t, config, client}, nil
	}}
}

type ikkaiTable struct {
	*dynamoTable
	config idempotent.Config
	client func(wire) dynamostore.API
}

// Connect implements [Table].
func (t *ikkaiTable) Connect(p *Process) (Protocol, error) {
	store, err := dynamostore.New(t.client(wire{p, t.db.Direct()}), dynamostore.Config{Table: tableName})
	if err != nil {
		return nil, err
	}
	return guarded(p, store, t.config)
}

// guarded is the engine of a process whose clock is off.
func guarded(p *Process, store persistence.Store, config idempotent.Config) (Protocol, error) {
	config.Operation = "explored"
	config.TTL = ttl
	config.Logger = slog.New(slog.DiscardHandler)
	guard, err := idempotent.New(skewed{Store: store, skew: p.Skew}, config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, run func(context.Context) (string, error)) (string, error) {
		answer, err := idempotent.Do(ctx, guard, keyText, run)
		if errors.Is(err, idempotent.ErrInProgress) {
			err = errors.Join(ErrRejected, err)
		}
		return answer, err
	}, nil
}
