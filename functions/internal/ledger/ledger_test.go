package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
)

func newPeople(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.New(lambdatest.NewDatabase(t, "people").Client(), "people")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestARowThatIsThereStaysAsItIs(t *testing.T) {
	l := newPeople(t)
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

func TestRowsAreListedByTheBeginningOfTheirKeys(t *testing.T) {
	l := newPeople(t)
	var want []string
	for n := range 6 { // more than a page holds
		want = append(want, fmt.Sprintf("person#%d", n))
	}
	essay := ledger.Row{"essay": ledger.Text(strings.Repeat("a", 300_000))}
	for _, pk := range append([]string{"dog#1", "people"}, want...) {
		if _, err := l.Add(t.Context(), pk, essay); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := l.List(t.Context(), "person#")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		got = append(got, row.Text("pk"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed are %q", got)
	}
}

func TestATableIsCreatedOnce(t *testing.T) {
	client := lambdatest.NewDatabase(t, "people").Client()
	for _, table := range []string{"people", "dogs", "dogs"} {
		if err := ledger.CreateTable(t.Context(), client, table); err != nil {
			t.Error(err)
		}
	}
	dogs, err := ledger.New(client, "dogs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dogs.Add(t.Context(), "dog#1", ledger.Row{"name": ledger.Text("Rex")}); err != nil {
		t.Error(err)
	}
	if err := ledger.CreateTable(t.Context(), client, "?"); err == nil {
		t.Error("there is a table of an impossible name")
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
