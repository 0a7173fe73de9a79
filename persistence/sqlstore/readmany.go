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

// ReadMany implements [storekit.BatchReader] with SELECTs, of ten to a hundred keys: few enough for
// every database's limit of parameters. The first one brings ten results, of whatever size they
// are; all of them about 16 MB ([storekit.ReadInParts]).
func (s *Store) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	fit, err := s.fit(ctx)
	if err != nil {
		return nil, fault("read", err)
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return checkKey(key) != nil })
	return storekit.ReadInParts(keys, func(part []string) (found []persistence.Record, err error) {
		err = persist(ctx, s.passing, func() error {
			found, err = s.rows(ctx, fit.readMany+s.parameters(len(part)), part)
			return err
		})
		return found, fault("read", err)
	})
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
