package sqlstore_test

import (
	"database/sql/driver"
	"testing"

	"github.com/ikkai-go/idempotency/internal/proof/lincheck"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// losing is a line that loses as it is told. With SQLite a lost connection is known by
// database/sql's own word for it: the driver has none.
func losing(d database, lose func(number int, what string) loss) *line {
	l := &line{lose: lose}
	if d.dialect == sqlstore.SQLite {
		l.broken = driver.ErrBadConn
	}
	return l
}

// everyThirdReply loses every third reply.
func everyThirdReply(number int, _ string) loss {
	if number%3 == 0 {
		return reply
	}
	return nothing
}

// SQLite has no connections to lose, and is left out here for time's sake.
func TestTheContractIsKeptWithLostReplies(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		store := newLab(t, d, losing(d, everyThirdReply))
		for _, rule := range storetest.Rules() {
			switch rule.Name {
			case "race/release":
				// A release whose reply is lost, and a record that somebody else makes before it
				// is repeated: the repeat can only report the other's record.
				continue
			case "take-over/told", "resume/told":
				continue // it is not stored, so a repeat can't tell
			}
			switch rule.Needs {
			case storetest.NeedsSizer:
				continue
			case storetest.NeedsLedger:
				continue // of a transaction's many statements every third is too much; transaction_test.go loses them
			}
			t.Run(rule.Name, func(t *testing.T) {
				if err := rule.Check(t.Context(), store); err != nil {
					t.Errorf("%s\nThe store does otherwise: %v", rule.Doc, err)
				}
			})
		}
	})
}

func TestTheStoreIsLinearizable(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, new(line))
		lincheck.Run(t, store, lincheck.Options{Histories: 3})
	})
}

// What was lost is sent again: the caller gets its answer, and a statement may have been
// carried out twice.
func TestTheStoreIsLinearizableForCallersWhoseRequestsAreRepeated(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		store := newLab(t, d, losing(d, func(number int, _ string) loss {
			if number%5 != 0 {
				return nothing
			}
			return []loss{request, reply}[number/5%2]
		}))
		if report := lincheck.Run(t, store, lincheck.Options{Histories: 3}); report.Unanswered == 0 {
			t.Error("no request was lost")
		}
	})
}

var _ persistence.Store = lab{}
