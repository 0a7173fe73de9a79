package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// versions are the schemas that there have been, each as the statements that lead to
// it from the one before. What has been published is never changed. A store works on a
// table of any of them, as far as that goes: see Store.fit.
var versions = [][]string{
	{
		`CREATE TABLE IF NOT EXISTS {table} (
	idempotency_key {key} PRIMARY KEY,
	status          text NOT NULL,
	owner           text NOT NULL,
	lease_until     {integer},
	expire_at       {integer},
	fingerprint     text NOT NULL,
	result          {bytes},
	steps           {json} NOT NULL,
	attempt         {integer} NOT NULL
){strict}`,
		`CREATE INDEX IF NOT EXISTS {index} ON {table} (expire_at)`,
	},
	{
		`ALTER TABLE {table} ADD COLUMN {if not there} started_at {integer}`,
		`ALTER TABLE {table} ADD COLUMN {if not there} function text`,
		`ALTER TABLE {table} ADD COLUMN {if not there} request_id text`,
		`ALTER TABLE {table} ADD COLUMN {if not there} event {bytes}`,
	},
}

// madeInOne is versions for a table that is not there yet, for SQLite's script: its columns
// can't be added where they are not there, and only then.
var madeInOne = []string{
	strings.Replace(versions[0][0], "\n){strict}", `,
	started_at      {integer},
	function        text,
	request_id      text,
	event           {bytes}
){strict}`, 1),
	versions[0][1],
}

const (
	makeVersions = `CREATE TABLE IF NOT EXISTS {versions} (version {integer} PRIMARY KEY)`
	addVersion   = `INSERT INTO {versions} (version) VALUES (%d)`
	addIfThere   = `INSERT INTO {versions} (version) SELECT %d WHERE EXISTS (SELECT 1 FROM pragma_table_info('{bare table}') WHERE name = 'started_at') ON CONFLICT DO NOTHING`
	lastVersion  = `SELECT coalesce(max(version), 0) FROM {versions}`
)

// types are the replacements that put a dialect's types into a schema.
var types = map[Dialect][]string{
	PostgreSQL: {"{key}", `text COLLATE "C"`, "{integer}", "bigint", "{bytes}", "bytea", "{json}", "jsonb", "{strict}", "", "{if not there}", "IF NOT EXISTS"},
	SQLite:     {"{key}", "text", "{integer}", "integer", "{bytes}", "blob", "{json}", "text", "{strict}", " STRICT", "{if not there} ", ""},
}

// schema puts names and types into the statements of a schema.
func (c Config) schema() *strings.Replacer {
	return strings.NewReplacer(append(c.names(), types[c.Dialect]...)...)
}

// Schema returns the statements that make the table and its index where they are not
// there yet, for a migration tool of your own. Running them again changes nothing. With
// SQLite they leave a table as it is that an earlier version of this module has made: that
// is for [Migrate].
func Schema(config Config) (string, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return "", err
	}
	script := []string{makeVersions}
	if config.Dialect == SQLite {
		script = append(append(script, madeInOne...), fmt.Sprintf(addVersion, 1)+" ON CONFLICT DO NOTHING", fmt.Sprintf(addIfThere, len(versions)))
		return config.schema().Replace(strings.Join(script, ";\n\n") + ";\n"), nil
	}
	for i, statements := range versions {
		script = append(script, statements...)
		script = append(script, fmt.Sprintf(addVersion, i+1)+" ON CONFLICT DO NOTHING")
	}
	return config.schema().Replace(strings.Join(script, ";\n\n") + ";\n"), nil
}

// Migrate brings the table that config describes to the newest schema, in one
// transaction, and makes it where there is none. It may be called at every start, and
// by several processes at once; but a function's own database user better has no right
// to make tables. A schema that is newer than this version of the module knows is an
// error that wraps [ErrNewerSchema].
func Migrate(ctx context.Context, db *sql.DB, config Config) error {
	if db == nil {
		return fmt.Errorf("%w: no database", ErrConfig)
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return err
	}
	err := repeat(ctx, func(err error) bool { return busy(err) || alreadyThere(err) }, func() error {
		return migrate(ctx, db, config.schema())
	})
	if err != nil {
		return fmt.Errorf("sqlstore: migrate %s: %w", config.Table, err)
	}
	return nil
}

// ErrNewerSchema means that the table has a schema that a newer version of this module
// has made.
var ErrNewerSchema = errors.New("sqlstore: the schema is newer than this version of the module")

func migrate(ctx context.Context, db *sql.DB, schema *strings.Replacer) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of no effect after Commit
	if _, err := tx.ExecContext(ctx, schema.Replace(makeVersions)); err != nil {
		return err
	}
	var current int
	if err := tx.QueryRowContext(ctx, schema.Replace(lastVersion)).Scan(&current); err != nil {
		return err
	}
	if current > len(versions) {
		return fmt.Errorf("%w: version %d, known are %d", ErrNewerSchema, current, len(versions))
	}
	for i, statements := range versions[current:] {
		// The version comes first: of several who migrate, all but one wait here, fail, and
		// find it done.
		for _, statement := range append([]string{fmt.Sprintf(addVersion, current+i+1)}, statements...) {
			if _, err := tx.ExecContext(ctx, schema.Replace(statement)); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}
