package sqlstore_test

import (
	"crypto/rand"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// firstSchema is what Migrate made before records said who runs them, word for word.
var firstSchema = map[sqlstore.Dialect]string{
	sqlstore.PostgreSQL: `CREATE TABLE "{table}" (
	idempotency_key text COLLATE "C" PRIMARY KEY, status text NOT NULL, owner text NOT NULL, lease_until bigint, expire_at bigint,
	fingerprint text NOT NULL, result bytea, steps jsonb NOT NULL, attempt bigint NOT NULL
);
CREATE TABLE "{table}_schema" (version bigint PRIMARY KEY);
INSERT INTO "{table}_schema" (version) VALUES (1)`,
	sqlstore.SQLite: `CREATE TABLE "{table}" (
	idempotency_key text PRIMARY KEY, status text NOT NULL, owner text NOT NULL, lease_until integer, expire_at integer,
	fingerprint text NOT NULL, result blob, steps text NOT NULL, attempt integer NOT NULL
) STRICT;
CREATE TABLE "{table}_schema" (version integer PRIMARY KEY);
INSERT INTO "{table}_schema" (version) VALUES (1)`,
}

// olderTable returns a table of the first schema.
func olderTable(t *testing.T, d database) (*sql.DB, sqlstore.Config) {
	t.Helper()
	db := open(t, d.connector(t))
	config := sqlstore.Config{Dialect: d.dialect, Table: "older_" + rand.Text()}
	for statement := range strings.SplitSeq(strings.ReplaceAll(firstSchema[d.dialect], "{table}", config.Table), ";") {
		run(t, db, statement)
	}
	t.Cleanup(func() { drop(t, db, config.Table, config.Table+"_schema") })
	return db, config
}

func storeOn(t *testing.T, db *sql.DB, config sqlstore.Config) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.New(db, config)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestATableThatNobodyHasMigratedGoesOnWorking keeps the whole contract on it, but for what it
// has no columns for.
func TestATableThatNobodyHasMigratedGoesOnWorking(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		db, config := olderTable(t, d)
		store := storeOn(t, db, config)
		for _, rule := range storetest.Rules() {
			switch rule.Needs {
			case storetest.NeedsRun, storetest.NeedsPlanter, storetest.NeedsSizer, storetest.NeedsLedger:
				continue
			}
			if err := rule.Check(t.Context(), store); err != nil {
				t.Errorf("%s: %v", rule.Name, err)
			}
		}
	})
}

// TestAMigratedTableKeepsItsRecords migrates while a store is at work, and has a new one take
// a record over.
func TestAMigratedTableKeepsItsRecords(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		db, config := olderTable(t, d)
		before := storeOn(t, db, config)
		c := claim("first")
		if _, err := before.Acquire(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := sqlstore.Migrate(t.Context(), db, config); err != nil {
				t.Fatal(err)
			}
		}
		after := storeOn(t, db, config)
		r, found, err := after.Read(t.Context(), c.Key)
		if err != nil || !found || r.Owner != c.Owner || r.Run != (persistence.Run{}) {
			t.Fatalf("the record is %+v (%v)", r, err)
		}
		second := claim("second")
		second.Now, second.LeaseUntil = now.Add(time.Hour/2), now.Add(time.Hour)
		second.Run = persistence.Run{StartedAt: second.Now, Function: "payment:7", RequestID: "a request"}
		if _, err := after.Acquire(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		if r, _, err := after.Read(t.Context(), c.Key); err != nil || r.Owner != second.Owner || r.Function != "payment:7" || r.Attempt != 2 {
			t.Errorf("the record is %+v (%v)", r, err)
		}
		if r, _, err := before.Read(t.Context(), c.Key); err != nil || r.Owner != second.Owner {
			t.Errorf("the store from before sees %+v (%v)", r, err)
		}
	})
}

// TestTheScriptLeavesAnOlderSQLiteTableToMigrate does not say that it is of the newest schema.
func TestTheScriptLeavesAnOlderSQLiteTableToMigrate(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		db, config := olderTable(t, d)
		script, err := sqlstore.Schema(config)
		if err != nil {
			t.Fatal(err)
		}
		for statement := range strings.SplitSeq(script, ";") {
			if strings.TrimSpace(statement) != "" {
				run(t, db, statement)
			}
		}
		if err := sqlstore.Migrate(t.Context(), db, config); err != nil {
			t.Fatal(err)
		}
		c := claim("first")
		c.Run = persistence.Run{Function: "payment:7"}
		store := storeOn(t, db, config)
		if r, err := store.Acquire(t.Context(), c); err != nil || r.Function != "payment:7" {
			t.Errorf("the record is %+v (%v)", r, err)
		}
	})
}
