package storetest_test

import (
	"path"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// sabotage is one way to break a store. The suite must see it, and call it by
// the name of the rule that it breaks.
type sabotage struct {
	name string
	// breaks are the rules that fail, all of them and no others, as names or
	// patterns of [path.Match]. A rule is also listed where its story needs what
	// was broken: without take-overs there are no zombies.
	breaks []string
	do     func(f *flawed)
}

func sabotages() []sabotage {
	return slices.Concat(misjudged, misowned, misrenewed, mangled, mishandled, misoperated, misread, miscommitted)
}

func TestASabotagedStoreFailsUnderTheRulesItBreaksAndNoOthers(t *testing.T) {
	for _, sabotage := range sabotages() {
		t.Run(sabotage.name, func(t *testing.T) {
			t.Parallel()
			if len(sabotage.breaks) == 0 {
				t.Error("it is not noticed at all")
			}
			broken := brokenRules(t, sabotage.do)
			for _, rule := range storetest.Rules() {
				expected := slices.ContainsFunc(sabotage.breaks, func(pattern string) bool { return matches(t, pattern, rule.Name) })
				err, failed := broken[rule.Name]
				switch {
				case expected && !failed:
					t.Errorf("%s: not noticed", rule.Name)
				case failed && !expected:
					t.Errorf("%s: fails as well: %v", rule.Name, err)
				}
			}
			for _, pattern := range sabotage.breaks {
				if !slices.ContainsFunc(storetest.Rules(), func(r storetest.Rule) bool { return matches(t, pattern, r.Name) }) {
					t.Errorf("there is no rule %s", pattern)
				}
			}
		})
	}
}

func TestAStoreWithoutSabotageBreaksNoRule(t *testing.T) {
	for name, err := range brokenRules(t, func(*flawed) {}) {
		t.Errorf("%s: %v", name, err)
	}
}

func TestEveryRuleCanFail(t *testing.T) {
	for _, rule := range storetest.Rules() {
		if !slices.ContainsFunc(sabotages(), func(s sabotage) bool {
			return slices.ContainsFunc(s.breaks, func(pattern string) bool { return matches(t, pattern, rule.Name) })
		}) {
			t.Errorf("no sabotage breaks %s", rule.Name)
		}
	}
}

// brokenRules checks all rules on a sabotaged store and returns those that fail.
// It does so in a bubble, where a store that pauses waits for all other
// goroutines to get as far as they can, and for no clock.
func brokenRules(t *testing.T, do func(f *flawed)) map[string]error {
	broken := make(map[string]error)
	synctest.Test(t, func(t *testing.T) {
		for _, rule := range storetest.Rules() {
			if err := rule.Check(t.Context(), newFlawed(do)); err != nil {
				broken[rule.Name] = err
			}
		}
	})
	return broken
}

func matches(t *testing.T, pattern, name string) bool {
	t.Helper()
	matched, err := path.Match(pattern, name)
	if err != nil {
		t.Fatalf("pattern %q: %v", pattern, err)
	}
	return matched
}
