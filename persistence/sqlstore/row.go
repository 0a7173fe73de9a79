package sqlstore

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/persistence"
)

// row asks for one row, and tells whether there is one.
func (s *Store) row(ctx context.Context, query string, args ...any) (r persistence.Record, found bool, err error) {
	r, err = scan(s.db.QueryRowContext(ctx, query, args...))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return persistence.Record{}, false, nil
	case err != nil:
		return persistence.Record{}, false, err
	}
	return r, true, nil
}

// scan reads a row. Its error wraps [persistence.ErrUnreadable] where that can't be understood.
func scan(row interface{ Scan(...any) error }) (r persistence.Record, err error) {
	var (
		lease, expiry sql.NullInt64
		omitted       bool // drivers show an empty result like none
		steps         []byte
		started       sql.NullInt64
		function, id  sql.NullString
	)
	err = row.Scan(
		&r.Key, &r.Status, &r.Owner, &lease, &expiry, &r.Fingerprint, &r.Result, &omitted, &steps, &r.Attempt, &started, &function, &id, &r.Event, &r.TookOver)
	if err != nil {
		return persistence.Record{}, err
	}
	if lease.Valid {
		r.LeaseUntil = time.UnixMilli(lease.Int64)
	}
	if expiry.Valid {
		r.ExpiresAt = time.Unix(expiry.Int64, 0)
	}
	if started.Valid {
		r.StartedAt = time.UnixMilli(started.Int64)
	}
	r.Function, r.RequestID = function.String, id.String
	r.ResultOmitted = r.Status.Finished() && omitted
	if r.Steps, err = decodeSteps(steps); err != nil {
		return r, fmt.Errorf("%w: steps of %q: %w", persistence.ErrUnreadable, r.Key, err)
	}
	switch r.Status {
	case persistence.StatusProcessing, persistence.StatusPartial, persistence.StatusCompleted, persistence.StatusFailed:
		return r, nil
	default:
		return r, fmt.Errorf("%w: %q has the status %q", persistence.ErrUnreadable, r.Key, r.Status)
	}
}

// lease is the column of the end of a lease, in milliseconds.
func lease(until time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: until.UnixMilli(), Valid: !until.IsZero()}
}

// expiry is the column of an expiry, in seconds.
func expiry(at time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: at.Unix(), Valid: !at.IsZero()}
}

// renewal returns the parameters of statements that renew a lease where it asks for that.
func renewal(l persistence.Lease) []any {
	until, expiresAt := l.Renewal()
	return []any{l.Key, l.Owner, lease(until), expiry(expiresAt)}
}

// result is the column of an outcome's result: NULL where that is omitted, which an
// empty one is not.
func result(o persistence.Outcome) any {
	if o.ResultOmitted {
		return nil
	}
	return append([]byte{}, o.Result...)
}

// The column "steps" is a JSON object of strings: the outputs by the names of the steps.
// Text, which outputs are as a rule, stays readable there; what PostgreSQL takes for no
// text comes after this prefix, and so does text that begins with it.
const inBase64 = "base64:"

func encodeStep(output []byte) string {
	if text := string(output); isText(text) && !strings.HasPrefix(text, inBase64) {
		return text
	}
	return inBase64 + base64.StdEncoding.EncodeToString(output)
}

func decodeStep(stored string) ([]byte, error) {
	if encoded, ok := strings.CutPrefix(stored, inBase64); ok {
		return base64.StdEncoding.DecodeString(encoded)
	}
	return []byte(stored), nil
}

func decodeSteps(stored []byte) (map[string][]byte, error) {
	var outputs map[string]string
	if err := json.Unmarshal(stored, &outputs); err != nil || len(outputs) == 0 {
		return nil, err
	}
	steps := make(map[string][]byte, len(outputs))
	for name, output := range outputs {
		var err error
		if steps[name], err = decodeStep(output); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// isText tells whether the database can hold an output as it is.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// maxKey is the longest key, in bytes. PostgreSQL's index entries have 2704 bytes at
// most ("B-Tree Indexes" in its manual: a third of a page); DynamoDB's keys have 2048.
const maxKey = 2048

func checkClaim(c persistence.Claim) error {
	if err := c.Check(); err != nil {
		return err
	}
	return checkKey(c.Key)
}

func checkLease(l persistence.Lease) error {
	if err := l.Check(); err != nil {
		return err
	}
	return checkKey(l.Key)
}

func checkKey(key string) error {
	if len(key) > maxKey {
		return fmt.Errorf("%w: the key has %d bytes, the table allows %d", persistence.ErrInvalid, len(key), maxKey)
	}
	return persistence.Lease{Key: key}.CheckKey()
}
