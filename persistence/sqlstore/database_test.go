package sqlstore_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/ikkai-go/idempotency/persistence/sqlstore"
)

// database is one that the tests run on.
type database struct {
	dialect sqlstore.Dialect
	// connector to a database in which the test's tables can be made. Parameters are
	// those of the driver's connection string.
	connector func(t testing.TB, parameters ...string) driver.Connector
	// enforcing are the parameters with which foreign keys mean something.
	enforcing []string
}

// onEveryDatabase runs a test on SQLite; on a PostgreSQL server that it starts, where
// that is installed; and on the one in POSTGRES_URL, where that is set.
func onEveryDatabase(t *testing.T, test func(t *testing.T, d database)) {
	t.Run("SQLite", func(t *testing.T) { test(t, onSQLite) })
	onPostgreSQL(t, test)
}

func onPostgreSQL(t *testing.T, test func(t *testing.T, d database)) {
	t.Run("PostgreSQL", func(t *testing.T) {
		test(t, database{dialect: sqlstore.PostgreSQL, connector: connectorTo(startedServer)})
	})
	if url := os.Getenv(urlEnv); url != "" {
		t.Run(urlEnv, func(t *testing.T) {
			test(t, database{dialect: sqlstore.PostgreSQL, connector: connectorTo(func(testing.TB) string { return url })})
		})
	}
}

// urlEnv names the environment variable with the URL of a PostgreSQL database that tests
// may make tables in; they remove them again.
const urlEnv = "POSTGRES_URL"

var onSQLite = database{
	dialect: sqlstore.SQLite,
	connector: func(t testing.TB, parameters ...string) driver.Connector {
		parameters = append(parameters, "_pragma=busy_timeout(10000)", "_pragma=journal_mode(WAL)", "_pragma=synchronous(OFF)")
		return sqliteFile("file:" + filepath.Join(t.TempDir(), "records.db") + "?" + strings.Join(parameters, "&"))
	},
	enforcing: []string{"_pragma=foreign_keys(1)"},
}

// sqliteFile is the way to an SQLite database.
type sqliteFile string

func (f sqliteFile) Connect(context.Context) (driver.Conn, error) { return f.Driver().Open(string(f)) }

func (sqliteFile) Driver() driver.Driver { return new(sqlite.Driver) }

func connectorTo(server func(testing.TB) string) func(testing.TB, ...string) driver.Connector {
	return func(t testing.TB, parameters ...string) driver.Connector {
		t.Helper()
		url := server(t)
		for _, parameter := range parameters {
			separator := "?"
			if strings.Contains(url, "?") {
				separator = "&"
			}
			url += separator + parameter
		}
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		return stdlib.GetConnector(*config)
	}
}

// open opens the way to a database until the test ends.
func open(t testing.TB, way driver.Connector) *sql.DB {
	t.Helper()
	db := sql.OpenDB(way)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	t.Cleanup(func() { db.Close() })
	return db
}

// newTable makes a table that is removed when the test ends.
func newTable(t testing.TB, db *sql.DB, dialect sqlstore.Dialect) sqlstore.Config {
	t.Helper()
	config := sqlstore.Config{Dialect: dialect, Table: "t_" + rand.Text()}
	if err := sqlstore.Migrate(t.Context(), db, config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { drop(t, db, config.Table, config.Table+"_schema") })
	return config
}

func drop(t testing.TB, db *sql.DB, tables ...string) {
	for _, table := range tables {
		if _, err := db.ExecContext(context.Background(), `DROP TABLE "`+table+`"`); err != nil {
			t.Error(err)
		}
	}
}

// run runs a statement of a test's own.
func run(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}
