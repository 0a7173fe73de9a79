package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// The doc comment of the package says what each path costs.
func TestEveryPathTakesAsManyStatementsAsItSays(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		through := new(line)
		store := newLab(t, d, through)
		takes := func(want int, what string, err error) {
			t.Helper()
			if sent := through.requests(); len(sent) != want || err != nil {
				t.Errorf("%s: %v, want %d statements, sent %d:\n%s", what, err, want, len(sent), strings.Join(sent, "\n"))
			}
		}
		asks := func(want int, what, owner string, now time.Time) persistence.Lease {
			t.Helper()
			c := claim(owner)
			c.Now, c.LeaseUntil = now, now.Add(time.Minute)
			r, err := store.Acquire(t.Context(), c)
			takes(want, what, err)
			return r.Lease()
		}
		_, _, err := store.Read(t.Context(), "none")
		takes(2, "the first statement of a store, which asks for the table's columns", err)
		duplicate := 1
		if d.dialect == sqlstore.SQLite {
			duplicate = 2
		}
		first := asks(1, "fresh acquire", "first", now)
		asks(duplicate, "duplicate", "other", now)
		takes(1, "checkpoint", store.Checkpoint(t.Context(), first, "reserve", []byte("box 7")))
		takes(2, "checkpoint again", store.Checkpoint(t.Context(), first, "reserve", []byte("box 7")))
		second := asks(1+duplicate, "take-over", "second", now.Add(2*time.Minute))
		takes(2, "late complete", ignore(store.Complete(t.Context(), first, completed("late")), persistence.ErrLeaseLost))
		takes(1, "release with steps", store.Release(t.Context(), second))
		third := asks(1, "resume", "third", now)
		third.Steps = nil
		takes(2, "release without knowing of steps", store.Release(t.Context(), third))
		takes(3, "release again", store.Release(t.Context(), third))
		fourth := asks(1, "resume", "fourth", now)
		takes(1, "complete", store.Complete(t.Context(), fourth, completed("done")))
		asks(duplicate, "replay", "other", now)
		_, _, err = store.Read(t.Context(), fourth.Key)
		takes(1, "read", err)
	})
}

func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return errors.Join(err, errors.New("not as expected"))
}

// Of callers that complete at once, one has its writes carried out, and all of them get
// its record.
func TestOneOfManyCommits(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		books := newLedger(t, newLab(t, d, nil), "a", "b")
		var all sync.WaitGroup
		var owners sync.Map
		for i := range 32 {
			c := claim("caller " + string(rune('0'+i)))
			all.Go(func() {
				r, err := books.CompleteAtOnce(t.Context(), c, completed("by "+c.Owner), books.transfer("a", "b", 7))
				if err != nil || string(r.Result) != "by "+r.Owner {
					t.Errorf("got %+v, %v", r, err)
				}
				owners.Store(r.Owner, true)
			})
		}
		all.Wait()
		if n := len(slices.Collect(maps.Keys(maps.Collect(owners.Range)))); n != 1 {
			t.Errorf("%d records were answered", n)
		}
		books.wants(t, "a", 93)
		books.wants(t, "b", 107)
	})
}

// Transfers of many callers at once, each sent twice by two of them, and with losses on
// the way: money is neither made nor lost, and each happens once.
func TestTransfersHappenOnceAndTheSumStays(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		through := losing(d, nil)
		accounts := []string{"a", "b", "c"}
		books := newLedger(t, newLab(t, d, through), accounts...)
		through.lose = func(number int, _ string) loss {
			if number%11 == 0 {
				return reply
			}
			return nothing
		}
		const transfers = 24
		var all sync.WaitGroup
		for caller := range 4 {
			all.Go(func() {
				for i := range transfers {
					if i%2 == caller%2 {
						continue
					}
					c := claim("caller " + string(rune('0'+caller)))
					c.Key = "transfer " + string(rune('0'+i))
					from, to := accounts[i%3], accounts[(i+1)%3]
					r, err := books.Acquire(t.Context(), c)
					if err == nil && r.Owner == c.Owner && r.Status == persistence.StatusProcessing {
						err = books.CompleteWith(t.Context(), r.Lease(), completed("done"), books.transfer(from, to, i+1))
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		want := map[string]int{"a": 100, "b": 100, "c": 100}
		for i := range transfers {
			want[accounts[i%3]] -= i + 1
			want[accounts[(i+1)%3]] += i + 1
		}
		for id, balance := range want {
			books.wants(t, id, balance)
		}
	})
}

func TestExpiredRecordsAreSweptInBatches(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		plant := func(key string, r persistence.Record) {
			r.Key, r.Owner = key, "me"
			if err := store.Plant(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		second := now.Truncate(time.Second)
		plant("oldest", persistence.Record{Status: persistence.StatusCompleted, ExpiresAt: second.Add(-3 * time.Second)})
		plant("older", persistence.Record{Status: persistence.StatusPartial, ExpiresAt: second.Add(-2 * time.Second)})
		plant("old", persistence.Record{Status: persistence.StatusProcessing, ExpiresAt: second.Add(-time.Second), LeaseUntil: second.Add(-time.Second)})
		plant("live lease", persistence.Record{Status: persistence.StatusProcessing, ExpiresAt: second.Add(-time.Second), LeaseUntil: now})
		plant("last second", persistence.Record{Status: persistence.StatusCompleted, ExpiresAt: second})
		plant("for ever", persistence.Record{Status: persistence.StatusCompleted})
		left := func(want ...string) {
			t.Helper()
			for _, key := range []string{"oldest", "older", "old", "live lease", "last second", "for ever"} {
				if _, found := store.record(t, key); found != slices.Contains(want, key) {
					t.Errorf("%q is there: %v", key, found)
				}
			}
		}
		for _, want := range []int{2, 1, 0} {
			if n, err := store.Sweep(t.Context(), now, 2); n != want || err != nil {
				t.Errorf("swept %d, %v, want %d", n, err, want)
			}
			if want == 2 {
				left("old", "live lease", "last second", "for ever")
			}
		}
		left("live lease", "last second", "for ever")
		_, err := store.Sweep(t.Context(), now, 0)
		refusedAs(t, err, persistence.ErrInvalid)
	})
}

// pgx has several ways to send a statement. Behind a proxy that shares connections, some
// of them are of no use.
func TestTheStoreWorksInEveryQueryModeOfPgx(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
			t.Run(mode, func(t *testing.T) {
				store := counted{newLedger(t, newLab(t, d, nil, "default_query_exec_mode="+mode))}
				for _, rule := range storetest.Rules() {
					if strings.HasPrefix(rule.Name, "race/") || strings.HasSuffix(rule.Name, "too-large") || rule.Needs == storetest.NeedsSizer {
						continue // nothing of a mode is in these, or they don't apply
					}
					if err := rule.Check(t.Context(), store); err != nil {
						t.Errorf("%s: %v", rule.Name, err)
					}
				}
			})
		}
	})
}

// A server whose default is stricter fails statements that meet others; they are repeated.
func TestTheServersDefaultIsolationMayBeStricter(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil, "default_transaction_isolation=serializable")
		for _, rule := range storetest.Rules() {
			if strings.HasPrefix(rule.Name, "race/") {
				if err := rule.Check(t.Context(), store); err != nil {
					t.Errorf("%s: %v", rule.Name, err)
				}
			}
		}
	})
}

func TestWhatTheTableCantHoldIsRefused(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		lease := acquire(t, store, claim("me")).Lease()
		for name, spoil := range map[string]func(c *persistence.Claim){
			"a key that is too long": func(c *persistence.Claim) { c.Key = strings.Repeat("k", 2049) },
			"a NUL in the key":       func(c *persistence.Claim) { c.Key = "a\x00b" },
			"bytes for a key":        func(c *persistence.Claim) { c.Key = "\xff" },
			"bytes for an owner":     func(c *persistence.Claim) { c.Owner = "\xff" },
			"bytes to compare":       func(c *persistence.Claim) { c.Fingerprint = "\xff" },
		} {
			c := claim("other")
			spoil(&c)
			_, acquiring := store.Acquire(t.Context(), c)
			_, atOnce := store.CompleteAtOnce(t.Context(), c, completed("done"), nil)
			for _, err := range []error{acquiring, atOnce} {
				if !errors.Is(err, persistence.ErrInvalid) {
					t.Errorf("%s: got %v", name, err)
				}
			}
		}
		for _, step := range []string{"", "a\x00b", "\xff"} {
			refusedAs(t, store.Checkpoint(t.Context(), lease, step, nil), persistence.ErrInvalid)
		}
		_, _, err := store.Read(t.Context(), "\xff")
		refusedAs(t, err, persistence.ErrInvalid)
		// The longest key, of bytes that do not compress.
		c := claim("me")
		for i := range 2048 / 3 {
			c.Key += string(rune(0x4E00 + i*31%20000))
		}
		c.Key = c.Key[:2046]
		acquire(t, store, c)
	})
}

// What nobody has written here stands for nothing that is known, so nothing may run.
func TestARowThatCantBeUnderstoodIsAFaultForGood(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		for name, change := range map[string]string{
			"a status from elsewhere": `status = 'INPROGRESS'`,
			"steps of another shape":  `steps = '{"a": 1}'`,
			"steps in no base64":      `steps = '{"a": "base64:?"}'`,
		} {
			store := newLab(t, d, nil)
			acquire(t, store, claim("me"))
			run(t, store.db, `UPDATE "`+store.config.Table+`" SET `+change)
			_, err := store.Acquire(t.Context(), claim("other"))
			if !errors.Is(err, persistence.ErrUnreadable) || persistence.Retryable(err) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func TestFaultsTellWhetherTryingAgainMayHelp(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		missing, err := sqlstore.New(store.db, sqlstore.Config{Dialect: d.dialect, Table: "no_such_table"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := missing.Acquire(t.Context(), claim("me")); err == nil || persistence.Retryable(err) {
			t.Errorf("no table: got %v", err)
		}
	})
	onEveryDatabase(t, func(t *testing.T, d database) {
		through := losing(d, func(int, string) loss { return request })
		store := newLab(t, d, through)
		_, err := store.Acquire(t.Context(), claim("me"))
		if f, ok := errors.AsType[*persistence.Fault](err); !ok || f.Op != "acquire" || !f.Retryable {
			t.Errorf("no connection: got %v", err)
		}
		if n := len(through.requests()); n < 8 {
			t.Errorf("%d tries", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		through.lose = func(int, string) loss { cancel(); return request }
		if _, err = store.Acquire(ctx, claim("me")); err == nil || !persistence.Retryable(err) {
			t.Errorf("the context ends: got %v", err)
		}
	})
}

// Text is kept as text, and what only looks like the other form of it is not mistaken.
func TestOutputsOfStepsComeBackAsTheyWere(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		lease := acquire(t, store, claim("me")).Lease()
		want := make(map[string][]byte)
		for i, output := range []string{"", "plain", `{"a":"<b>"}`, "\x00", "\xff", "base64:", "base64:AAAA", "base64:?"} {
			step := fmt.Sprint("step ", i)
			want[step] = []byte(output)
			if err := store.Checkpoint(t.Context(), lease, step, want[step]); err != nil {
				t.Fatal(err)
			}
		}
		if r, _ := store.record(t, lease.Key); !reflect.DeepEqual(r.Steps, want) {
			t.Errorf("got %q, want %q", r.Steps, want)
		}
	})
}

// A lock that is not had in time may be had later.
func TestALockThatIsNotHadInTimeIsRetryable(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		for _, limit := range []string{"lock_timeout=100", "statement_timeout=100"} {
			store := newLab(t, d, nil, limit)
			acquire(t, store, claim("owner"))
			tx, err := store.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(`UPDATE "` + store.config.Table + `" SET attempt = attempt`); err != nil {
				t.Fatal(err)
			}
			_, err = store.Acquire(t.Context(), claim("other"))
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
			if _, faulty := errors.AsType[*persistence.Fault](err); !faulty || !persistence.Retryable(err) {
				t.Errorf("%s: got %v", limit, err)
			}
		}
	})
}
