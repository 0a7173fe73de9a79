package sqlstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
)

// now is the clock of these tests: data, like everything a store knows of time.
var now = time.Date(2100, 1, 1, 0, 0, 0, 250_000_000, time.UTC)

// lab is a store on a new table, and the way into the table past the store.
type lab struct {
	*sqlstore.Store
	db      *sql.DB // past the store, and past what its connections suffer
	config  sqlstore.Config
	dialect sqlstore.Dialect
}

// newLab returns a store whose connections go through a line, which may be nil.
func newLab(t testing.TB, d database, through *line, parameters ...string) lab {
	t.Helper()
	way := d.connector(t, parameters...)
	db := open(t, way)
	config := newTable(t, db, d.dialect)
	stores := db
	if through != nil || d.dialect == sqlstore.SQLite {
		stores = open(t, through.to(way))
	}
	if d.dialect == sqlstore.SQLite {
		stores.SetMaxOpenConns(2) // enough to meet, and SQLite has those who wait poll
	}
	store, err := sqlstore.New(stores, config)
	if err != nil {
		t.Fatal(err)
	}
	return lab{store, db, config, d.dialect}
}

// place is a parameter in the words of the dialect.
func (l lab) place(n int) string {
	if l.dialect == sqlstore.SQLite {
		return fmt.Sprintf("?%d", n)
	}
	return fmt.Sprintf("$%d", n)
}

// Plant implements storetest.Planter.
func (l lab) Plant(ctx context.Context, r persistence.Record) error {
	at := func(t time.Time, count func(time.Time) int64) any {
		if t.IsZero() {
			return nil
		}
		return count(t)
	}
	steps := make(map[string]string)
	for name, output := range r.Steps {
		steps[name] = string(output)
	}
	text, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	var result any
	if r.Status.Finished() && !r.ResultOmitted {
		result = append([]byte{}, r.Result...)
	}
	values := ""
	for i := range 9 {
		values += ", " + l.place(i+1)
	}
	_, err = l.db.ExecContext(ctx, `INSERT INTO "`+l.config.Table+`"
		(idempotency_key, status, owner, lease_until, expire_at, fingerprint, result, steps, attempt)
		VALUES (`+values[2:]+`)
		ON CONFLICT (idempotency_key) DO UPDATE SET status = excluded.status, owner = excluded.owner,
			lease_until = excluded.lease_until, expire_at = excluded.expire_at, fingerprint = excluded.fingerprint,
			result = excluded.result, steps = excluded.steps, attempt = excluded.attempt`,
		r.Key, string(r.Status), r.Owner, at(r.LeaseUntil, time.Time.UnixMilli), at(r.ExpiresAt, time.Time.Unix),
		r.Fingerprint, result, string(text), r.Attempt)
	return err
}

// record reads the record that is there.
func (l lab) record(t testing.TB, key string) (persistence.Record, bool) {
	t.Helper()
	r, found, err := l.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return r, found
}

func claim(owner string) persistence.Claim {
	return persistence.Claim{
		Key:        "payment#1",
		Owner:      owner,
		Now:        now,
		LeaseUntil: now.Add(30500 * time.Millisecond),
		ExpiresAt:  now.Add(time.Hour).Truncate(time.Second).Add(time.Second),
	}
}

func completed(result string) persistence.Outcome {
	return persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: now.Add(time.Hour)}
}

func acquire(t testing.TB, s persistence.Store, c persistence.Claim) persistence.Record {
	t.Helper()
	r, err := s.Acquire(t.Context(), c)
	if err != nil || r.Owner != c.Owner {
		t.Fatalf("%s does not get the record: %+v, %v", c.Owner, r, err)
	}
	return r
}
