package main

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/functions/payroll/salaries"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestEverybodyIsPaidOnceAMonth(t *testing.T) {
	db := newDatabase(t, 20)
	if got, want := pay(t, newEnvironment(t, db, "", ""), november), (salaries.Summary{Month: "2026-11", Employees: 20, Paid: 20}); got != want {
		t.Errorf("the first start: %+v, want %+v", got, want)
	}
	wantPaid(t, db, 20)
	db.ResetLog()
	if got, want := pay(t, newEnvironment(t, db, "", ""), november), (salaries.Summary{Month: "2026-11", Employees: 20, Before: 20}); got != want {
		t.Errorf("the second start: %+v, want %+v", got, want)
	}
	wantPaid(t, db, 20)
	if got := len(db.Requests()); got != 3 {
		t.Errorf("a start with nothing left took %d requests, want one for the staff, and two that look for what is finished", got)
	}
	if got := pay(t, newEnvironment(t, db, "", ""), []byte(`{"month":"2026-12"}`)); got.Paid != 20 {
		t.Errorf("in the next month %d are paid", got.Paid)
	}
}

func TestTheMonthIsThatOfTheEvent(t *testing.T) {
	for name, c := range map[string]struct{ event, month string }{
		"by hand":                      {`{"month":"2026-11"}`, "2026-11"},
		"on schedule":                  {string(lambdatest.Event(t, "scheduler-payroll")), "2026-11"},
		"on a schedule of other zones": {`{"scheduled_time":"2026-12-01T00:30:00+02:00"}`, "2026-11"},
		"none":                         {`{}`, ""},
		"a day":                        {`{"month":"2026-11-25"}`, ""},
		"no such month":                {`{"month":"2026-13"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			db := newDatabase(t, 1)
			_, err := newEnvironment(t, db, "", "").Invoke([]byte(c.event))
			if (err != nil) != (c.month == "") {
				t.Errorf("the error is %v", err)
			}
			if got := transfersOf(t, db, c.month)["e-000"]; (got == 1) != (c.month != "") {
				t.Errorf("for %s there are %d transfers", c.month, got)
			}
		})
	}
}

// A bank that takes a second for each transfer, eight at a time, does not get through
// in ten seconds.
func TestItStopsInTimeAndTheNextStartGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const employees = 100
		db := newDatabase(t, employees)
		starts := 0
		for paid := 0; paid < employees; starts++ {
			start := time.Now()
			_, err := newHastyEnvironment(t, db, 10*time.Second, "slow", "off").Invoke(november)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("start %d took %v", starts, took)
			}
			before := paid
			paid = len(transfersOf(t, db, "2026-11"))
			if unfinished, ok := errors.AsType[*batch.UnfinishedError](err); paid < employees &&
				(!ok || unfinished.Progress.Pending != employees-paid || unfinished.Progress.Done != paid-before) {
				t.Fatalf("start %d has paid %d, and says %v", starts, paid-before, err)
			}
			wantPaid(t, db, paid)
		}
		if starts != 2 {
			t.Errorf("it took %d starts", starts)
		}
	})
}

func TestTwoStartsAtOnceShareTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const employees = 40
		db := newDatabase(t, employees)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { newEnvironment(t, db, "steady", "off").Invoke(november) })
		}
		group.Wait()
		pay(t, newEnvironment(t, db, "", "off"), november)
		wantPaid(t, db, employees)
	})
}

func TestWhoCannotBePaidIsLeftForTheNextStart(t *testing.T) {
	db := newDatabase(t, 10)
	employ(t, db, "e-007", 0)
	_, err := newEnvironment(t, db, "", "").Invoke(november)
	if unfinished, ok := errors.AsType[*batch.UnfinishedError](err); !ok || unfinished.Progress.Failed != 1 {
		t.Errorf("the error is %v", err)
	}
	wantPaid(t, db, 9)
	employ(t, db, "e-007", 3000_00)
	if got := pay(t, newEnvironment(t, db, "", ""), november); got.Paid != 1 || got.Before != 9 {
		t.Errorf("the next start: %+v", got)
	}
	wantPaid(t, db, 10)
}

func TestABankThatRefusesIsAskedAgain(t *testing.T) {
	db := newDatabase(t, 10)
	if _, err := newEnvironment(t, db, "refuse", "").Invoke(november); !errors.Is(err, batch.ErrUnfinished) {
		t.Errorf("the error is %v", err)
	}
	wantPaid(t, db, 0)
	pay(t, newEnvironment(t, db, "", ""), november)
	wantPaid(t, db, 10)
}

// The bank has transferred, the run has died, and the salary is another one by then.
func TestARaiseDoesNotPayASecondTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t, 1)
		a, b := newEnvironment(t, db, "", ""), newEnvironment(t, db, "", "")
		db.Inject(dynamotest.Fault{Table: payrollTable, Operation: "PutItem", Do: dynamotest.After(func(dynamotest.Request) { a.Kill() })})
		a.Invoke(november)
		employ(t, db, "e-000", 3100_00)
		time.Sleep(retries[0])
		if _, err := b.Invoke(november); !errors.Is(err, batch.ErrUnfinished) {
			t.Errorf("the error is %v", err)
		}
		employ(t, db, "e-000", 3000_00)
		pay(t, b, november)
		wantPaid(t, db, 1)
	})
}

func TestAPayslipOutlivesTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t, 5)
		e := newEnvironment(t, db, "", "off")
		pay(t, e, november)
		time.Sleep(100 * 24 * time.Hour)
		pay(t, e, november)
		wantPaid(t, db, 5)
	})
}

func TestWithTheGuardsOffThePayslipsHold(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "true")
	db := newDatabase(t, 5)
	e := newEnvironment(t, db, "", "")
	pay(t, e, november)
	pay(t, e, november)
	wantPaid(t, db, 5)
}

// What no record can prevent where the bank ignores its key: the run dies between the
// transfer and the record.
func TestWithoutDownstreamKeysARunThatDiedPaysTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDatabase(t, 1)
		a, b := newEnvironment(t, db, "", "off"), newEnvironment(t, db, "", "off")
		db.Inject(dynamotest.Fault{Table: payrollTable, Operation: "PutItem", Do: dynamotest.After(func(dynamotest.Request) { a.Kill() })})
		a.Invoke(november)
		time.Sleep(retries[0])
		pay(t, b, november)
		if got := transfersOf(t, db, "2026-11")["e-000"]; got != 2 {
			t.Errorf("%d transfers; if it is one, say so in the documents", got)
		}
	})
}

func TestEverySettingIsChecked(t *testing.T) {
	lambdatest.EverySettingIsChecked(t, map[string]string{
		"IDEMPOTENCY_TABLE": "",
		"PAYROLL_TABLE":     "",
		"SIMULATED_BANK":    "off",
	}, func(spoilt map[string]string) error {
		_, err := wiring.Build(newFunction, newDatabase(t, 0).Client(), settings, spoilt)
		return err
	})
}
