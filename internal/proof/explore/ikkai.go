package explore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
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
	return onDynamoDB(named("ikkai on DynamoDB", config), config, func(w wire) dynamostore.API { return w })
}

// named is the name of a system, and what is special about its guards.
func named(name string, config idempotent.Config) string {
	if config.ReadFirst {
		name += ", read first"
	}
	if config.OnlyEnlists {
		name += ", in one request"
	}
	if config.Lease > 0 {
		name += ", renewed"
	}
	if config.RefuseUnknown {
		name += ", unknown refused"
	}
	return name
}

// guardedSystem is a system of this library.
func guardedSystem(config idempotent.Config, s System) System {
	s.Guarded = true
	s.AtOnce = config.OnlyEnlists
	s.Lease = config.Lease
	s.Unsure = config.RefuseUnknown
	return s
}

// OnSpoiledDynamoDB is the same where requests are changed on their way.
func OnSpoiledDynamoDB(config idempotent.Config, how string, spoil func(dynamostore.API) dynamostore.API) System {
	return onDynamoDB(named("ikkai on DynamoDB", config)+", where "+how, config, func(w wire) dynamostore.API { return spoil(w) })
}

// OnItemlessDynamoDB is the same on an endpoint that does not say which item was in
// the way of a failed condition, as DAX and older endpoints.
func OnItemlessDynamoDB(config idempotent.Config) System {
	return onDynamoDB("ikkai on DynamoDB without ALL_OLD", config, func(w wire) dynamostore.API { return itemless{w} })
}

func onDynamoDB(name string, config idempotent.Config, client func(wire) dynamostore.API) System {
	return guardedSystem(config, System{Name: name, Open: func() (Table, error) {
		t, err := openDynamo(attributes{
			key: "idempotency_key", status: "status", owner: "owner", lease: "lease_until", expiry: "expire_at", result: "result", attempt: "attempt", steps: "steps",
		})
		if err != nil {
			return nil, err
		}
		return &ikkaiTable{t, config, client}, nil
	}})
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

// WithSaga is the system with a saga for a function.
func (s System) WithSaga(saga Saga) System {
	s.Name += ", " + saga.String()
	s.Saga = saga
	return s
}

// Judged is the system with other words for its answers.
func (s System) Judged(how string, judge func(error) idempotent.Verdict) System {
	s.Name += ", where " + how
	s.Judge = judge
	return s
}

// Spoiled is the system with a store that is broken in some way.
func (s System) Spoiled(how string, spoil func(Table, persistence.Store) persistence.Store) System {
	s.Name += ", where " + how
	s.Spoil = spoil
	return s
}

// guarded is the engine of a process whose clock is off.
func guarded(p *Process, store persistence.Store, config idempotent.Config) (Protocol, error) {
	config.Operation = "explored"
	config.TTL = ttl
	p.steps = p.world.system.Saga.steps(p)
	config.Logger = slog.New(slog.DiscardHandler)
	if p.world.system.Durable {
		return durably(p, store, config)
	}
	config.Steps = saga.Steps(p.steps.declared()...)
	store = spoiledFor(p, store)
	guard, err := idempotent.New(seen{Store: store, p: p}, config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, run func(context.Context) (string, error)) (string, error) {
		answer, err := idempotent.Do(ctx, guard, keyText, run)
		switch {
		case errors.Is(err, idempotent.ErrInProgress):
			err = marked{err, ErrRejected}
		case errors.Is(err, idempotent.ErrPermanent):
			err = marked{err, ErrFailed}
		}
		return answer, err
	}, nil
}

// spoiledFor is the store that an engine gets.
func spoiledFor(p *Process, store persistence.Store) persistence.Store {
	if spoil := p.world.system.Spoil; spoil != nil {
		return spoil(p.world.table, store)
	}
	return store
}

// marked is an answer's error in the terms of the explorer.
type marked struct {
	error
	mark error
}

// Is reports whether target is the mark.
func (m marked) Is(target error) bool { return target == m.mark }

// Unwrap returns the error as the call has returned it.
func (m marked) Unwrap() error { return m.error }

// plainly is an answer's error as the call has returned it.
func plainly(err error) error {
	if m, ok := err.(marked); ok { //nolint:errorlint // it is the outermost
		return m.error
	}
	return err
}
