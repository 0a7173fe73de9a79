package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

var _ storekit.BatchReader = (*Store)(nil)

// keysAStatement is how many keys a statement names: few enough for every database's limit of
// parameters.
const keysAStatement = 100

// ReadMany implements [storekit.BatchReader] with a SELECT for each 100 keys.
func (s *Store) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	fit, err := s.fit(ctx)
	if err != nil {
		return nil, fault("read", err)
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return checkKey(key) != nil })
	var records []persistence.Record
	for chunk := range slices.Chunk(keys, keysAStatement) {
		var found []persistence.Record
		err := persist(ctx, s.passing, func() error {
			found, err = s.rows(ctx, fit.readMany+s.parameters(len(chunk)), chunk)
			return err
		})
		if err != nil {
			return records, fault("read", err)
		}
		records = append(records, found...)
	}
	return records, nil
}

// parameters returns a list of n parameters, in brackets.
func (s *Store) parameters(n int) string {
	mark := "$"
	if s.dialect == SQLite {
		mark = "?"
	}
	names := make([]string, n)
	for i := range names {
		names[i] = mark + strconv.Itoa(i+1)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// rows asks for rows, and leaves out those that can't be understood.
func (s *Store) rows(ctx context.Context, query string, keys []string) (records []persistence.Record, err error) {
	args := make([]any, len(keys))
	for i, key := range keys {
		args[i] = key
	}
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		record, err := scan(rows)
		switch {
		case errors.Is(err, persistence.ErrUnreadable):
		case err != nil:
			return nil, err
		default:
			records = append(records, record)
		}
	}
	return records, rows.Err()
}
