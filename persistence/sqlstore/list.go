package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

var (
	_ storekit.Lister    = (*Store)(nil)
	_ storekit.Forgetter = (*Store)(nil)
)

// listLimit is how many rows a page has where nothing else is asked for.
const listLimit = 500

// List implements [storekit.Lister], in the order of the keys and by their index. It has one
// segment.
func (s *Store) List(ctx context.Context, q storekit.Query) (storekit.Page, error) {
	if q.Segment > 0 {
		return storekit.Page{}, nil
	}
	if q.Limit <= 0 {
		q.Limit = listLimit
	}
	fit, err := s.fit(ctx)
	if err != nil {
		return storekit.Page{}, fault("list", err)
	}
	var page storekit.Page
	err = persist(ctx, s.passing, func() error {
		page, err = s.page(ctx, fit, q)
		return err
	})
	return page, fault("list", err)
}

func (s *Store) page(ctx context.Context, fit *statements, q storekit.Query) (storekit.Page, error) {
	var page storekit.Page
	statuses := ""
	if len(q.Statuses) > 0 {
		text, _ := json.Marshal(q.Statuses) // strings always encode
		statuses = string(text)
	}
	before, behind := around(q.Prefix)
	rows, err := s.db.QueryContext(ctx, fit.list, max(q.Cursor, before), behind, q.Limit, statuses)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	last := ""
	for rows.Next() {
		record, err := scan(rows)
		unreadable := errors.Is(err, persistence.ErrUnreadable)
		switch {
		case (err == nil || unreadable) && !strings.HasPrefix(record.Key, q.Prefix):
		case unreadable:
			page.Unreadable = append(page.Unreadable, storekit.Unreadable{Key: record.Key, Err: err})
		case err != nil:
			return page, err
		default:
			page.Records = append(page.Records, record)
		}
		page.Seen++
		last = record.Key
	}
	if page.Seen == q.Limit {
		page.Cursor = last
	}
	return page, rows.Err()
}

// around is what all keys with a prefix lie between, and others perhaps; empty where there are
// no such texts.
func around(prefix string) (before, behind string) {
	last := len(prefix) - 1
	if last < 0 || prefix[last] >= utf8.RuneSelf-1 {
		return "", ""
	}
	return prefix[:last], prefix[:last] + string(rune(prefix[last]+1))
}

// Forget implements [storekit.Forgetter].
func (s *Store) Forget(ctx context.Context, seen persistence.Record) error {
	if err := checkKey(seen.Key); err != nil {
		return err
	}
	applied, err := s.apply(ctx, change{
		statement: s.statement.forget,
		args:      []any{seen.Key, seen.Owner, string(seen.Status), max(0, lease(seen.LeaseUntil).Int64)},
	}, nil)
	if applied || err != nil {
		return fault("forget", err)
	}
	_, found, err := s.look(ctx, seen.Key)
	if err == nil && found {
		return persistence.ErrLeaseLost
	}
	return fault("forget", err)
}
