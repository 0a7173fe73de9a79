package ledger_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
)

func TestARowThatIsThereStaysAsItIs(t *testing.T) {
	l, err := ledger.New(lambdatest.NewDatabase(t, "people").Client(), "people")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		row, err := l.Add(t.Context(), "person#1", ledger.Row{"name": ledger.Text(name)})
		if err != nil {
			t.Fatal(err)
		}
		if got := row.Text("name"); got != "first" {
			t.Errorf("adding the %s gives the %s", name, got)
		}
	}
	row, err := l.Get(t.Context(), "person#1")
	if err != nil || row.Text("name") != "first" {
		t.Errorf("the row is %v (%v)", row, err)
	}
	if row, err := l.Get(t.Context(), "person#2"); row != nil || err != nil {
		t.Errorf("there is a row that nobody added: %v (%v)", row, err)
	}
}

func TestALedgerNeedsATable(t *testing.T) {
	if _, err := ledger.New(nil, ""); err == nil {
		t.Error("there is a ledger in no table")
	}
}

func TestARowHasWhatIsInItWithTheSameValue(t *testing.T) {
	row := ledger.Row{"a": ledger.Number(1), "b": ledger.Text("1")}
	for _, c := range []struct {
		other ledger.Row
		has   bool
	}{
		{nil, true},
		{ledger.Row{"a": ledger.Number(1)}, true},
		{ledger.Row{"a": ledger.Text("1")}, false},
		{ledger.Row{"a": ledger.Number(2)}, false},
		{ledger.Row{"c": ledger.Number(1)}, false},
	} {
		if got := row.Has(c.other); got != c.has {
			t.Errorf("%v has %v: %t", row, c.other, got)
		}
	}
}
