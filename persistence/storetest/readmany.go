package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

func readManyRules() []Rule {
	return []Rule{
		rule("read-many/finished", NeedsBatchReader,
			"ReadMany shows finished records as claims do, each under its own key. An answer may be behind the times; of 100, one is not. A result may be too dear to get, but not one without a byte.",
			func(s *stage) {
				records := s.several(map[string]persistence.Outcome{
					"paid": success("paid"), "empty": success(""), "declined": failure("declined"), "without a result": withoutResult(),
				})
				s.findsMany(s.asked(records), records)
			}),
		rule("read-many/absent", NeedsBatchReader,
			"Where there is no record, ReadMany finds none, with a nil error, and makes none; also of a hundred keys and more.",
			func(s *stage) {
				records := s.several(map[string]persistence.Outcome{"paid": success("paid"), "empty": success("")})
				keys := []string{s.key}
				for i := range 120 {
					keys = append(keys, fmt.Sprint(s.key, " ", i))
				}
				s.findsMany(append(keys, s.asked(records)...), records)
				s.isVacant(start)
			}),
		rule("read-many/far-apart", NeedsBatchReader,
			"However many keys there are, records of the first, the last and those between are found.",
			func(s *stage) {
				outcomes := make(map[string]persistence.Outcome)
				places := map[int]bool{0: true, 9: true, 10: true, 99: true, 100: true, 199: true, 249: true}
				var keys []string
				for i := range 250 {
					name := fmt.Sprint(i)
					keys = append(keys, s.keyOf(name))
					if places[i] {
						outcomes[name] = success("")
					}
				}
				s.findsMany(keys, s.several(outcomes))
			}),
		rule("read-many/repeated-keys", NeedsBatchReader,
			"Keys may repeat; their record is returned once.",
			func(s *stage) {
				records := s.several(map[string]persistence.Outcome{"a": success("a"), "b": success("")})
				a, b := s.keyOf("a"), s.keyOf("b")
				s.findsMany([]string{a, b, a, s.key, a, s.key, b}, records)
			}),
		rule("read-many/odd-keys", NeedsBatchReader,
			"Keys that no record can have are left out, and lose none of the others.",
			func(s *stage) {
				records := s.several(map[string]persistence.Outcome{"paid": success("paid"), "empty": success("")})
				keys := append([]string{"", "a\x00b", "\xff", strings.Repeat("k", 5000)}, s.asked(records)...)
				s.findsMany(append(keys, "\xc3("), records)
			}),
		rule("read-many/unfinished", NeedsBatchReader,
			"A record that is not finished is shown as it is, or not at all, and stays as it is.",
			func(s *stage) {
				running := s.acquires("first", start)
				found, err := s.many([]string{s.key})
				s.ok("read many", err)
				for _, r := range found {
					if r.Key != s.key || r.Owner != running.Owner || r.Status != persistence.StatusProcessing || !r.LeaseUntil.Equal(running.LeaseUntil) {
						s.fail("of a running record, ReadMany shows %+v", r)
					}
				}
				s.sees(start, running)
			}),
		rule("read-many/expired", NeedsBatchReader,
			"A record that has expired is shown as one that has, or not at all: it is for the caller to judge.",
			func(s *stage) {
				records := s.several(map[string]persistence.Outcome{"paid": success("paid"), "empty": success("")})
				found, err := s.many(s.asked(records))
				s.ok("read many", err)
				for _, r := range found {
					if r.Status.Finished() && !r.Expired(expired(records[r.Key])) {
						s.fail("a record that expires at %s is shown as one that does at %s", clock(records[r.Key].ExpiresAt), clock(r.ExpiresAt))
					}
				}
			}),
		rule("read-many/unreadable", NeedsPlanter,
			"A record that can't be understood is not shown as finished, and loses none of the others.",
			func(s *stage) {
				if _, reads := s.store.(storekit.BatchReader); !reads {
					s.fail("%w: %T is no %v", ErrNotApplicable, s.store, NeedsBatchReader)
					return
				}
				records := s.several(map[string]persistence.Outcome{"paid": success("paid"), "empty": success("")})
				s.plants(persistence.Record{Key: s.key, Status: "ODD", Owner: s.owner("first"), ExpiresAt: start.Add(recordLength), Attempt: 1})
				s.findsMany(append([]string{s.key}, s.asked(records)...), records)
			}),
		rule("read-many/context", NeedsBatchReader,
			"ReadMany under a cancelled context fails with a retryable Fault that wraps the context's error.",
			func(s *stage) {
				running := s.acquires("first", start)
				_, err := s.store.(storekit.BatchReader).ReadMany(cancelled(s.ctx), []string{s.key})
				if errors.Is(err, errors.ErrUnsupported) {
					s.fail("%w", err)
					return
				}
				s.interrupted("read many", err)
				s.sees(start, running)
			}),
	}
}

// keyOf is a key of the stage beside its own.
func (s *stage) keyOf(name string) string { return s.key + "/" + name }

// several makes finished records, and returns them as claims are answered with them, by their keys.
func (s *stage) several(outcomes map[string]persistence.Outcome) map[string]persistence.Record {
	records := make(map[string]persistence.Record, len(outcomes))
	for name, o := range outcomes {
		c := s.claim("owner of "+name, start)
		c.Key = s.keyOf(name)
		s.completes(s.wins(c), o)
		c.Owner = s.owner("onlooker of " + name)
		r, err := s.store.Acquire(s.ctx, c)
		s.ok("the claim of "+c.Owner, err)
		records[c.Key] = r
	}
	return records
}

// asked are the keys of records.
func (s *stage) asked(records map[string]persistence.Record) (keys []string) {
	for key := range records {
		keys = append(keys, key)
	}
	return keys
}

func (s *stage) many(keys []string) ([]persistence.Record, error) {
	return s.store.(storekit.BatchReader).ReadMany(s.ctx, keys)
}

// findsMany demands that the finished records of some keys are found, as they are, and no others. An
// answer that is behind the times is asked for again. Records with a result may be left out: it may
// be somewhere else.
func (s *stage) findsMany(keys []string, want map[string]persistence.Record) {
	if s.err != nil {
		return
	}
	missing := ""
	for range 100 {
		found, err := s.many(keys)
		s.ok("read many", err)
		shown := make(map[string]bool)
		for _, r := range found {
			if !r.Status.Finished() {
				continue
			}
			if shown[r.Key] {
				s.fail("%s is shown twice", r.Key)
			}
			shown[r.Key] = true
			if diff := differences(want[r.Key], r); diff != "" {
				s.fail("read many shows another record:\n%s", diff)
			}
			overwrite(r.Result)
		}
		missing = ""
		for key, r := range want {
			if !shown[key] && len(r.Result) == 0 {
				missing = key
			}
		}
		if s.err != nil || missing == "" {
			return
		}
	}
	s.fail("want the finished record of %s, found none in 100 tries", missing)
}
