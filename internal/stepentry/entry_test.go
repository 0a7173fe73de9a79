package stepentry_test

import (
	"encoding/json"
	"testing"

	"github.com/ikkai-go/idempotency/internal/stepentry"
)

// What is stored stays readable by all versions: these are the bytes.
func TestEntriesAreStoredAsEver(t *testing.T) {
	for _, c := range []struct {
		entry any
		want  string
	}{
		{stepentry.Entry{Order: 2, Output: json.RawMessage(`"box"`), Input: "abc", Compensable: true}, `{"order":2,"output":"box","input":"abc","compensable":true}`},
		{stepentry.Entry{Order: 1, Omitted: true}, `{"order":1,"omitted":true}`},
		{stepentry.Entry{Void: true}, `{"void":true}`},
		{stepentry.Decision{Failure: stepentry.Failure{Type: "E", Message: "m"}, Declined: []string{"a"}}, `{"errorType":"E","errorMessage":"m","declined":["a"]}`},
		{stepentry.CompensationFailure{Step: "a", Failure: stepentry.Failure{Type: "E", Message: "m"}}, `{"step":"a","errorType":"E","errorMessage":"m"}`},
	} {
		if got, err := json.Marshal(c.entry); err != nil || string(got) != c.want {
			t.Errorf("%+v is stored as %s (%v), want %s", c.entry, got, err, c.want)
		}
	}
	if err := stepentry.Decode([]byte(`{"order":1,"later":true}`), new(stepentry.Entry)); err == nil {
		t.Error("what a later version has written is read as if it meant nothing")
	}
}

func TestNamesAreTakenApartAsTheyWereMade(t *testing.T) {
	for _, c := range []struct {
		name, step, kind string
		n                int
	}{
		{"charge", "charge", "", 1},
		{"charge" + stepentry.Nth(stepentry.Started, 1), "charge", stepentry.Started, 1},
		{"charge" + stepentry.Nth(stepentry.Declined, 12), "charge", stepentry.Declined, 12},
		{stepentry.Unwinding, "", stepentry.Unwinding, 1},
		{"charge:started:1", "charge", ":started:1", 0},
		{"charge:started:02", "charge", ":started:02", 0},
	} {
		step, suffix := stepentry.CutName(c.name)
		kind, n := stepentry.CutNth(suffix)
		if step != c.step || kind != c.kind || n != c.n {
			t.Errorf("%s is %q %q %d", c.name, step, kind, n)
		}
	}
}
