package sqlstore_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/ikkai-go/idempotency/persistence/sqlstore"
)

func TestMigratingAgainChangesNothing(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		acquire(t, store, claim("me"))
		if err := sqlstore.Migrate(t.Context(), store.db, store.config); err != nil {
			t.Error(err)
		}
		if _, found := store.record(t, claim("").Key); !found {
			t.Error("the record is gone")
		}
	})
}

// Several environments may start, and migrate, at once.
func TestAnyNumberCanMigrateAtOnce(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		db := open(t, d.connector(t))
		config := sqlstore.Config{Dialect: d.dialect, Table: "at_once"}
		t.Cleanup(func() { drop(t, db, "at_once", "at_once_schema") })
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := sqlstore.Migrate(t.Context(), db, config); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

func TestANewerSchemaIsLeftAlone(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		run(t, store.db, `INSERT INTO "`+store.config.Table+`_schema" VALUES (1000)`)
		refusedAs(t, sqlstore.Migrate(t.Context(), store.db, store.config), sqlstore.ErrNewerSchema)
	})
}

// Whoever makes the table by the script has what Migrate makes, and Migrate knows it.
func TestTheScriptMakesWhatMigrateMakes(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		db := open(t, d.connector(t))
		config := sqlstore.Config{Dialect: d.dialect, Table: "by_Script"}
		script, err := sqlstore.Schema(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { drop(t, db, "by_Script", "by_Script_schema") })
		for range 2 {
			for statement := range strings.SplitSeq(script, ";") {
				if strings.TrimSpace(statement) != "" {
					run(t, db, statement)
				}
			}
		}
		if err := sqlstore.Migrate(t.Context(), db, config); err != nil {
			t.Fatal(err)
		}
		store, err := sqlstore.New(db, config)
		if err != nil {
			t.Fatal(err)
		}
		acquire(t, store, claim("me"))
	})
}

// A table in a schema needs no search path.
func TestATableCanBeInASchema(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		db := open(t, d.connector(t))
		run(t, db, `CREATE SCHEMA "order"`) // a reserved word
		defer run(t, db, `DROP SCHEMA "order" CASCADE`)
		config := sqlstore.Config{Dialect: d.dialect, Table: "order.User"}
		if err := sqlstore.Migrate(t.Context(), db, config); err != nil {
			t.Fatal(err)
		}
		store, err := sqlstore.New(db, config)
		if err != nil {
			t.Fatal(err)
		}
		acquire(t, store, claim("me"))
		var owner string
		if err := db.QueryRowContext(t.Context(), `SELECT owner FROM "order"."User"`).Scan(&owner); err != nil || owner != "me" {
			t.Errorf("got %q, %v", owner, err)
		}
	})
}

func TestAConfigIsCheckedAsAWhole(t *testing.T) {
	tests := map[string]struct {
		config sqlstore.Config
		faults int
	}{
		"nothing":                    {sqlstore.Config{}, 1},
		"a dialect is enough":        {sqlstore.Config{Dialect: sqlstore.SQLite}, 0},
		"another dialect":            {sqlstore.Config{Dialect: 3}, 1},
		"injection":                  {sqlstore.Config{Dialect: sqlstore.SQLite, Table: `a"; DROP TABLE b; --`}, 1},
		"a name of one letter":       {sqlstore.Config{Dialect: sqlstore.SQLite, Table: "a"}, 0},
		"no name":                    {sqlstore.Config{Dialect: sqlstore.PostgreSQL, Table: "public."}, 1},
		"a name that would be cut":   {sqlstore.Config{Dialect: sqlstore.PostgreSQL, Table: strings.Repeat("a", 49)}, 1},
		"the longest name":           {sqlstore.Config{Dialect: sqlstore.PostgreSQL, Table: strings.Repeat("a", 48)}, 0},
		"a schema":                   {sqlstore.Config{Dialect: sqlstore.PostgreSQL, Table: "public.records"}, 0},
		"two schemas":                {sqlstore.Config{Dialect: sqlstore.PostgreSQL, Table: "a.b.c"}, 1},
		"a schema of SQLite":         {sqlstore.Config{Dialect: sqlstore.SQLite, Table: "main.records"}, 1},
		"a stricter isolation":       {sqlstore.Config{Dialect: sqlstore.PostgreSQL, Isolation: sql.LevelSerializable}, 0},
		"an isolation that is none":  {sqlstore.Config{Dialect: sqlstore.PostgreSQL, Isolation: sql.LevelReadUncommitted}, 1},
		"an isolation of SQLite":     {sqlstore.Config{Dialect: sqlstore.SQLite, Isolation: sql.LevelSerializable}, 1},
		"everything that is to find": {sqlstore.Config{Table: "a-b.c", Isolation: sql.LevelSnapshot}, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, byNew := sqlstore.New(new(sql.DB), test.config)
			_, bySchema := sqlstore.Schema(test.config)
			for what, err := range map[string]error{"New": byNew, "Schema": bySchema} {
				faults := 0
				if err != nil {
					faults = len(strings.Split(err.Error(), "\n"))
				}
				if faults != test.faults || err != nil && !errors.Is(err, sqlstore.ErrConfig) {
					t.Errorf("%s: got %v, want %d faults", what, err, test.faults)
				}
			}
		})
	}
	_, err := sqlstore.New(nil, sqlstore.Config{Dialect: sqlstore.SQLite})
	refusedAs(t, err, sqlstore.ErrConfig)
}
