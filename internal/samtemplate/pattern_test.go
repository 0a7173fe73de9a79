package samtemplate_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/internal/samtemplate"
)

func TestAPatternMatchesWhatItSays(t *testing.T) {
	const stuck = `{"event":"stuck","code":"outcome_unknown","n":1}`
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{`{ $.event = "stuck" }`, stuck, true},
		{`{$.event="stuck"}`, stuck, true},
		{`{ ($.event = "stuck") }`, stuck, true},
		{`{ $.event = "stuc" }`, stuck, false},
		{`{ $.kind = "stuck" }`, stuck, false},
		{`{ $.n = "1" }`, stuck, false},
		{`{ ($.event = "lease_lost") || ($.event = "stuck") }`, stuck, true},
		{`{ ($.event = "stuck") && ($.code = "outcome_unknown") }`, stuck, true},
		{`{ ($.event = "stuck") && ($.code = "stuck") }`, stuck, false},
		{`{ $.event = "stuck" || $.event = "a" && $.code = "b" }`, stuck, true},
		{`{ ($.event = "stuck" || $.event = "a") && $.code = "b" }`, stuck, false},
		{`{ $.event = "stuck" }`, `{"message":"stuck","nested":{"event":"stuck"}}`, false},
		{`{ $.event = "stuck" }`, `panic: "event":"stuck"`, false},
		{`{ $.event = "stuck" }`, ``, false},
	} {
		pattern, err := samtemplate.ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		} else if got := pattern.Matches([]byte(c.line)); got != c.want {
			t.Errorf("%s matches %s: %t, want %t", c.pattern, c.line, got, c.want)
		}
	}
	if (samtemplate.Pattern{}).Matches([]byte(stuck)) {
		t.Error("the zero pattern matches")
	}
}

func TestWhatIsNoPatternIsRefused(t *testing.T) {
	for _, text := range []string{
		``, `ERROR`, `{ }`, `{ $.event }`, `{ $.event = stuck }`, `{ $.event != "stuck" }`, `{ ($.event = "stuck" }`,
		`{ $.event = "stuck") }`, `{ $.event = "stuck" || }`, `{ $.event = "stuck" && }`, `{ "stuck" = $.event }`, `{ $.event = "stuck" "lost" }`,
	} {
		if _, err := samtemplate.ParsePattern(text); err == nil {
			t.Errorf("%s is taken for a pattern", text)
		}
	}
}
