package storetest_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

func TestRulesAreNamedOnceAndExplained(t *testing.T) {
	named := make(map[string]bool)
	form := regexp.MustCompile(`^[a-z-]+/[a-zA-Z0-9-]+$`)
	for _, rule := range storetest.Rules() {
		if !form.MatchString(rule.Name) {
			t.Errorf("the name %q is not of the form subject/demand", rule.Name)
		}
		if named[rule.Name] {
			t.Errorf("two rules are named %s", rule.Name)
		}
		named[rule.Name] = true
		if !strings.HasSuffix(rule.Doc, ".") {
			t.Errorf("%s is not explained in a sentence: %q", rule.Name, rule.Doc)
		}
	}
}

// plain hides every ability of a store but those of Store.
type plain struct{ persistence.Store }

// refusing has the methods of a Checkpointer, but not the ability.
type refusing struct{ persistence.Store }

func (refusing) Checkpoint(context.Context, persistence.Lease, string, []byte) error {
	return errors.ErrUnsupported
}

func TestARuleIsNotApplicableToAStoreWithoutTheAbilityItNeeds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		store persistence.Store
		lacks []storetest.Need
	}{
		{"a plain store", plain{persistence.NewMemory()},
			[]storetest.Need{storetest.NeedsCheckpointer, storetest.NeedsRenewer, storetest.NeedsReader, storetest.NeedsBatchReader, storetest.NeedsPlanter, storetest.NeedsForgetter, storetest.NeedsLister, storetest.NeedsSizer, storetest.NeedsLedger}},
		{"a store that refuses checkpoints", refusing{persistence.NewMemory()},
			[]storetest.Need{storetest.NeedsCheckpointer, storetest.NeedsRenewer, storetest.NeedsReader, storetest.NeedsBatchReader, storetest.NeedsPlanter, storetest.NeedsForgetter, storetest.NeedsLister, storetest.NeedsSizer, storetest.NeedsLedger}},
		{"a store without plants", persistence.NewMemory(),
			[]storetest.Need{storetest.NeedsPlanter, storetest.NeedsLister, storetest.NeedsSizer, storetest.NeedsLedger}},
		{"a store with everything", newFlawed(func(*flawed) {}), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lacks := make(map[storetest.Need]bool)
			for _, need := range tt.lacks {
				lacks[need] = true
			}
			for _, rule := range storetest.Rules() {
				err := rule.Check(t.Context(), tt.store)
				switch {
				case lacks[rule.Needs] && !errors.Is(err, storetest.ErrNotApplicable):
					t.Errorf("%s needs a %v: want ErrNotApplicable, got %v", rule.Name, rule.Needs, err)
				case lacks[rule.Needs] && !strings.Contains(err.Error(), rule.Needs.String()):
					t.Errorf("%s: the error %q does not name what is needed, %v", rule.Name, err, rule.Needs)
				case !lacks[rule.Needs] && err != nil:
					t.Errorf("%s: %v", rule.Name, err)
				}
			}
		})
	}
}

func TestManyChecksShareOneStore(t *testing.T) {
	shared := newFlawed(func(*flawed) {})
	for _, round := range []string{"first", "second"} {
		for _, rule := range storetest.Rules() {
			t.Run(round+"/"+rule.Name, func(t *testing.T) {
				t.Parallel()
				if err := rule.Check(t.Context(), shared); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestABrokenRuleSaysWhatWasExpectedAndSeen(t *testing.T) {
	thief := newFlawed(func(f *flawed) {
		f.complete = func(ctx context.Context, l lease, o outcome) error {
			l.Owner = f.find(l.Key).Owner
			return f.right.Complete(ctx, l, o)
		}
	})
	for _, rule := range storetest.Rules() {
		if rule.Name != "complete/owner-only" {
			continue
		}
		err := rule.Check(t.Context(), thief)
		const want = `complete by a stranger: want the error "persistence: the lease is lost", got: no error`
		if err == nil || err.Error() != want {
			t.Errorf("want the error %q, got %v", want, err)
		}
		return
	}
	t.Error("there is no such rule")
}

func TestAnUnreachableStoreBreaksRulesWithItsOwnError(t *testing.T) {
	down := &persistence.Fault{Op: "acquire", Retryable: true, Err: errors.New("connection refused")}
	unreachable := newFlawed(func(f *flawed) {
		f.acquire = func(context.Context, claim) (record, error) { return record{}, down }
		f.transact = func([]storekit.Write, bool, func() error) error { return down }
	})
	for _, rule := range storetest.Rules() {
		if err := rule.Check(t.Context(), unreachable); !errors.Is(err, down) {
			t.Errorf("%s: want an error that wraps %q, got %v", rule.Name, down, err)
		}
	}
}
