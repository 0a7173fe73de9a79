package sqlstore

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Dialect is the SQL that the database understands.
type Dialect int

const (
	// PostgreSQL is version 12 or later, also as Amazon RDS or Aurora; the tests run on
	// 15. The database's encoding must be UTF8.
	PostgreSQL Dialect = iota + 1
	// SQLite is version 3.38 or later.
	SQLite
)

// String returns the name of the database.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case SQLite:
		return "SQLite"
	default:
		return fmt.Sprintf("Dialect(%d)", int(d))
	}
}

// Config describes the database and the table. Only Dialect is required.
type Config struct {
	// Dialect of the database. Required.
	Dialect Dialect

	// Table is the table's name: letters, digits and underscores of ASCII, 48 at most;
	// with PostgreSQL the name of its schema and a dot may come before it, and should
	// where the search path is not the server's default. Upper and lower case differ.
	// Defaults to "idempotency".
	Table string

	// Isolation of the transactions that carry out writes of the application. The
	// record needs none in particular; a level above READ COMMITTED is for what the
	// writes themselves read, and has them repeated more often. PostgreSQL only.
	// Defaults to [sql.LevelReadCommitted].
	Isolation sql.IsolationLevel
}

// ErrConfig matches every fault that is found in a Config.
var ErrConfig = errors.New("sqlstore: invalid configuration")

const (
	defaultTable = "idempotency"
	maxName      = 48 // bytes; PostgreSQL cuts names at 63, and the index's is longer than the table's
)

func (c Config) withDefaults() Config {
	c.Table = cmp.Or(c.Table, defaultTable)
	if c.Dialect == PostgreSQL {
		c.Isolation = cmp.Or(c.Isolation, sql.LevelReadCommitted)
	}
	return c
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// check returns all that is wrong with a config whose defaults are filled in.
func (c Config) check() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	switch c.Dialect {
	case PostgreSQL, SQLite:
	case 0:
		fault("Dialect is missing")
	default:
		fault("Dialect is %d, which is none", int(c.Dialect))
	}
	names := strings.Split(c.Table, ".")
	if len(names) > 2 || len(names) == 2 && c.Dialect == SQLite {
		fault("Table is %q: want a table's name, with PostgreSQL perhaps a schema and a dot before it", c.Table)
	}
	for _, name := range names {
		if !identifier.MatchString(name) || len(name) > maxName {
			fault("Table is %q: %q is no name of at most %d letters, digits and underscores", c.Table, name, maxName)
		}
	}
	switch c.Isolation {
	case sql.LevelDefault:
	case sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable:
		if c.Dialect == SQLite {
			fault("Isolation is %v: SQLite's transactions are always serializable", c.Isolation)
		}
	default:
		fault("Isolation is %v: want READ COMMITTED, REPEATABLE READ or SERIALIZABLE", c.Isolation)
	}
	return errors.Join(faults...)
}

// names returns the replacements that put the names of the table, and of what
// belongs to it, into a statement.
func (c Config) names() []string {
	parts := strings.Split(c.Table, ".")
	schema, table := "", parts[len(parts)-1]
	if len(parts) == 2 {
		schema = quote(parts[0]) + "."
	}
	return []string{
		"{table}", schema + quote(table),
		"{bare table}", table,
		"{versions}", schema + quote(table+"_schema"),
		"{index}", quote(table + "_expire_at"),
	}
}

// quote keeps the case of a name, and words that SQL reserves from being read as such.
func quote(name string) string { return `"` + name + `"` }
