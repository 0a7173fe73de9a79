package sqlstore

import (
	"context"
	"database/sql"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
)

// fit returns the statements that fit the table: one that nobody has migrated yet has no columns
// for who runs a record, and works without. That is asked once, before the first statement.
func (s *Store) fit(ctx context.Context) (*statements, error) {
	if known := s.fitting.Load(); known != nil {
		return known, nil
	}
	err := persist(ctx, s.passing, func() error {
		rows, err := s.db.QueryContext(ctx, s.probe)
		if err != nil {
			return err
		}
		defer rows.Close()
		return rows.Err()
	})
	fit := &s.statement
	if err != nil {
		if !noColumn(err) {
			return nil, err
		}
		fit = &s.first
	}
	s.fitting.Store(fit)
	return fit, nil
}

// noColumn tells whether a statement was refused because the table has no such column.
func noColumn(err error) bool {
	return sqlState(err) == "42703" || says(err, "no such column") // undefined_column
}

// run returns the parameters of a statement that writes who runs a record.
func (s *Store) run(fit *statements, r persistence.Run, event []byte) []any {
	if fit == &s.first {
		return nil
	}
	var kept any // or NULL, which an empty event is, too
	if len(event) > 0 {
		kept = event
	}
	return []any{
		sql.NullInt64{Int64: r.StartedAt.UnixMilli(), Valid: !r.StartedAt.IsZero()},
		sql.NullString{String: strings.ReplaceAll(r.Function, "\x00", ""), Valid: r.Function != ""},
		sql.NullString{String: strings.ReplaceAll(r.RequestID, "\x00", ""), Valid: r.RequestID != ""},
		kept,
	}
}
