package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
)

// openMemory opens a database that ends with its only connection.
func openMemory() *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// In a function, db is sql.Open("pgx", url), and the dialect PostgreSQL.
func ExampleNew() {
	db := openMemory()
	defer db.Close()
	ctx := context.Background()
	config := sqlstore.Config{Dialect: sqlstore.SQLite}
	if err := sqlstore.Migrate(ctx, db, config); err != nil {
		panic(err)
	}
	store, err := sqlstore.New(db, config)
	if err != nil {
		panic(err)
	}
	now := time.Now()
	record, err := store.Acquire(ctx, persistence.Claim{
		Key: "payment#1", Owner: "me",
		Now: now, LeaseUntil: now.Add(time.Minute), ExpiresAt: now.Add(time.Hour),
	})
	fmt.Println(record.Status, record.Owner, err)
	// Output: PROCESSING me <nil>
}

// The row and the record commit together: however often the event comes, there is one
// order.
func ExampleEnlist() {
	db := openMemory()
	defer db.Close()
	ctx := context.Background()
	config := sqlstore.Config{Dialect: sqlstore.SQLite}
	_, err := db.ExecContext(ctx, `CREATE TABLE orders (id integer PRIMARY KEY, item text NOT NULL)`)
	if err := errors.Join(err, sqlstore.Migrate(ctx, db, config)); err != nil {
		panic(err)
	}
	store, err := sqlstore.New(db, config)
	if err != nil {
		panic(err)
	}
	guard, err := idempotent.New(store, idempotent.Config{Operation: "order", Key: idempotency.WholePayload()})
	if err != nil {
		panic(err)
	}
	type request struct{ Item string }
	place := idempotent.Func(guard, func(ctx context.Context, r request) (string, error) {
		err := sqlstore.Enlist(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (?)`, r.Item)
			return err
		})
		return "ordered: " + r.Item, err
	})
	for range 3 {
		fmt.Println(place(ctx, request{Item: "tea"}))
	}
	var orders int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM orders`).Scan(&orders)
	fmt.Println(orders, "order", err)
	// Output:
	// ordered: tea <nil>
	// ordered: tea <nil>
	// ordered: tea <nil>
	// 1 order <nil>
}

// For a migration tool of your own.
func ExampleSchema() {
	script, err := sqlstore.Schema(sqlstore.Config{Dialect: sqlstore.PostgreSQL, Table: "shop.idempotency"})
	fmt.Println(script, err)
	// Output:
	// CREATE TABLE IF NOT EXISTS "shop"."idempotency_schema" (version bigint PRIMARY KEY);
	//
	// CREATE TABLE IF NOT EXISTS "shop"."idempotency" (
	// 	idempotency_key text COLLATE "C" PRIMARY KEY,
	// 	status          text NOT NULL,
	// 	owner           text NOT NULL,
	// 	lease_until     bigint,
	// 	expire_at       bigint,
	// 	fingerprint     text NOT NULL,
	// 	result          bytea,
	// 	steps           jsonb NOT NULL,
	// 	attempt         bigint NOT NULL
	// );
	//
	// CREATE INDEX IF NOT EXISTS "idempotency_expire_at" ON "shop"."idempotency" (expire_at);
	//
	// INSERT INTO "shop"."idempotency_schema" (version) VALUES (1) ON CONFLICT DO NOTHING;
	//
	// ALTER TABLE "shop"."idempotency" ADD COLUMN IF NOT EXISTS started_at bigint;
	//
	// ALTER TABLE "shop"."idempotency" ADD COLUMN IF NOT EXISTS function text;
	//
	// ALTER TABLE "shop"."idempotency" ADD COLUMN IF NOT EXISTS request_id text;
	//
	// ALTER TABLE "shop"."idempotency" ADD COLUMN IF NOT EXISTS event bytea;
	//
	// INSERT INTO "shop"."idempotency_schema" (version) VALUES (2) ON CONFLICT DO NOTHING;
	//  <nil>
}

// Migrate may be called at every start.
func ExampleMigrate() {
	db := openMemory()
	defer db.Close()
	for range 2 {
		fmt.Println(sqlstore.Migrate(context.Background(), db, sqlstore.Config{Dialect: sqlstore.SQLite}))
	}
	// Output:
	// <nil>
	// <nil>
}

// A scheduled function removes what has expired, some at a time.
func ExampleStore_Sweep() {
	db := openMemory()
	defer db.Close()
	ctx := context.Background()
	config := sqlstore.Config{Dialect: sqlstore.SQLite}
	if err := sqlstore.Migrate(ctx, db, config); err != nil {
		panic(err)
	}
	store, err := sqlstore.New(db, config)
	if err != nil {
		panic(err)
	}
	const batch = 1000
	for removed := batch; removed == batch; {
		if removed, err = store.Sweep(ctx, time.Now().Add(-time.Hour), batch); err != nil {
			panic(err)
		}
		fmt.Println(removed, "removed")
	}
	// Output: 0 removed
}
