package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/proof/explore"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
)

// The engine on this store keeps its promises in every interleaving. A request is a call
// of the store; what may come between two statements of a call is for lincheck to find.
func TestEveryInterleavingKeepsThePromises(t *testing.T) {
	for _, bounds := range []explore.Bounds{
		{Callers: 2, Faults: 1},
		{Callers: 2, Passes: 1, Boundaries: true},
	} {
		report := explore.Run(t, explore.System{Name: "ikkai on SQLite", Open: openTable(t)}, bounds)
		report.Write(t.Output())
		if len(report.Violations) > 0 {
			t.Error("promises are broken")
		}
	}
}

func openTable(t *testing.T) func() (explore.Table, error) {
	return func() (explore.Table, error) {
		db := open(t, sqliteFile(":memory:"))
		db.SetMaxOpenConns(1)
		config := sqlstore.Config{Dialect: sqlstore.SQLite}
		if err := sqlstore.Migrate(context.Background(), db, config); err != nil {
			return nil, err
		}
		store, err := sqlstore.New(db, config)
		return explored{lab{store, db, config, config.Dialect}}, err
	}
}

type explored struct{ lab }

// Reset implements explore.Table.
func (e explored) Reset() {
	if _, err := e.db.ExecContext(context.Background(), `DELETE FROM idempotency`); err != nil {
		panic(err)
	}
}

// RemoveExpired implements explore.Table.
func (e explored) RemoveExpired(now time.Time) {
	if _, err := e.Sweep(context.Background(), now, 1); err != nil {
		panic(err)
	}
}

// Record implements explore.Table.
func (e explored) Record() (persistence.Record, bool) {
	var key string
	if e.db.QueryRowContext(context.Background(), `SELECT idempotency_key FROM idempotency`).Scan(&key) != nil {
		return persistence.Record{}, false
	}
	r, found, err := e.Read(context.Background(), key)
	if err != nil {
		panic(err)
	}
	var answer string
	if json.Unmarshal(r.Result, &answer) == nil {
		r.Result = []byte(answer)
	}
	return r, found
}

// Connect implements explore.Table.
func (e explored) Connect(p *explore.Process) (explore.Protocol, error) {
	guard, err := idempotent.New(&remote{p: p, store: e.Store}, idempotent.Config{
		Operation: "explored", TTL: time.Minute, Logger: slog.New(slog.DiscardHandler),
	})
	return func(ctx context.Context, run func(context.Context) (string, error)) (string, error) {
		answer, err := idempotent.Do(ctx, guard, "key", run)
		if errors.Is(err, idempotent.ErrInProgress) {
			err = errors.Join(explore.ErrRejected, err)
		}
		return answer, err
	}, err
}

// remote is a store each of whose calls is a request of a process.
type remote struct {
	p     *explore.Process
	store *sqlstore.Store
}

func (r *remote) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	return explore.Ask(ctx, r.p, "Acquire", func() (persistence.Record, error) { return r.store.Acquire(context.Background(), c) })
}

func (r *remote) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	_, err := explore.Ask(ctx, r.p, "Complete", func() (struct{}, error) { return struct{}{}, r.store.Complete(context.Background(), l, o) })
	return err
}

func (r *remote) Release(ctx context.Context, l persistence.Lease) error {
	_, err := explore.Ask(ctx, r.p, "Release", func() (struct{}, error) { return struct{}{}, r.store.Release(context.Background(), l) })
	return err
}
