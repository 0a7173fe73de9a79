package main

import "testing"

func TestARowThatIsThereStaysAsItIs(t *testing.T) {
	db := newDatabase(t)
	payments, err := newTable(db.Client(), paymentsTable)
	if err != nil {
		t.Fatal(err)
	}
	for _, customer := range []string{"first", "second"} {
		row, err := payments.add(t.Context(), "payment#1", attributes{"customer": text(customer)})
		if err != nil {
			t.Fatal(err)
		}
		if got := row.text("customer"); got != "first" {
			t.Errorf("adding the %s gives the %s", customer, got)
		}
	}
	row, err := payments.get(t.Context(), "payment#1")
	if err != nil || row.text("customer") != "first" {
		t.Errorf("the row is %v (%v)", row, err)
	}
	if row, err := payments.get(t.Context(), "payment#2"); row != nil || err != nil {
		t.Errorf("there is a row that nobody added: %v (%v)", row, err)
	}
}
