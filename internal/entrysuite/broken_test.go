package entrysuite_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/internal/entrysuite"
	"github.com/ikkai-go/idempotency/persistence"
)

// Entry points that are wrong on purpose break the rules that they are wrong about, and
// the suite sees it.
func TestABrokenEntryPointIsCaught(t *testing.T) {
	for name, test := range map[string]struct {
		entry entrysuite.Entry
		rules []string
	}{
		"takes its key from what encoding/json decodes": {
			entrysuite.Entry{Open: decodesFirst, Selects: true},
			[]string{"what the key is selected from is what the function gets", "a key in another case is not a missing key"},
		},
		"drops the invocation's context": {
			entrysuite.Entry{Open: ofItsOwnContext},
			[]string{
				"a request belongs to its tenant", "the function's context ends early enough to record and answer",
				"what comes at the end of the context is recorded", "a table that hangs does not keep the answer past the deadline",
				"a function is not started when it is too late",
			},
		},
		"keeps its own answers": {
			entrysuite.Entry{Open: remembers},
			[]string{
				"a request that comes twice runs once, and gets the same answer", "a request belongs to its tenant",
				"a failure is told, and a retry runs",
			},
		},
		"runs beside the guard where that fails": {
			entrysuite.Entry{Open: insists},
			[]string{"nothing runs while the store is down", "other content under the same key is refused", "what only a person can mend is stuck, at error level"},
		},
		"tells of the cause instead of the error": {
			entrysuite.Entry{Open: tellsTheInnermost},
			[]string{"what a retry resumes says so"},
		},
		"makes keys of its own in every try": {
			entrysuite.Entry{Open: counts},
			[]string{"other content under the same key is refused", "the key is handed on without a record: the store is down", "a failure for good is recorded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var broken []string
			for _, rule := range entrysuite.Rules() {
				if problems := entrysuite.Broken(t, rule, test.entry); len(problems) > 0 {
					broken = append(broken, rule.Name)
				}
			}
			for _, rule := range test.rules {
				if !slices.Contains(broken, rule) {
					t.Errorf("the suite does not see that it breaks %q; it sees %q", rule, broken)
				}
			}
		})
	}
}

func decodesFirst(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	c.Key, c.Fingerprint = nil, nil
	guard := newGuard(t, store, c)
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		var o order
		if err := json.Unmarshal(payload(r), &o); err != nil {
			return told("", err)
		}
		return told(idempotent.Do(ctx, guard, o.ID, func(ctx context.Context) (string, error) { return fn(ctx, o.request()) }))
	}
}

func ofItsOwnContext(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	door := openDoAs(t, store, c, fn)
	return func(context.Context, entrysuite.Request) entrysuite.Answer {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return door(ctx, entrysuite.Request{Key: "o-1", Content: "10"})
	}
}

func remembers(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	door, answers := openDoAs(t, store, c, fn), make(map[string]entrysuite.Answer)
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		if a, known := answers["any"]; known {
			return a
		}
		answers["any"] = door(ctx, r)
		return answers["any"]
	}
}

func insists(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	door := openDoAs(t, store, c, fn)
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		if a := door(ctx, r); !a.Failed {
			return a
		}
		return told(fn(ctx, r))
	}
}

func tellsTheInnermost(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	guard := newGuard(t, store, c)
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		result, err := idempotent.DoAs(ctx, guard, guard.Identify(payload(r)), func(ctx context.Context) (string, error) { return fn(ctx, r) })
		if partial, ok := err.(*saga.PartialSuccessError); ok { //nolint:errorlint // wrong on purpose
			err = partial.Err
		}
		return told(result, err)
	}
}

func counts(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	c.Key, c.Fingerprint = idempotency.MustJMESPath("try"), nil
	guard := newGuard(t, store, c)
	tries := 0
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		tries++
		raw, err := json.Marshal(map[string]int{"try": tries})
		if err != nil {
			t.Fatal(err)
		}
		return told(idempotent.DoAs(ctx, guard, guard.Identify(raw), func(ctx context.Context) (string, error) { return fn(ctx, r) }))
	}
}
