package main

import (
	"cmp"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// retries is when Lambda starts an asynchronous invocation again that has failed: after
// the first failure, and after the second. Then the event goes into the queue for people
// (template.yaml).
// https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
var retries = []time.Duration{time.Minute, 2 * time.Minute}

// locked is for how long a run that died locks whom it was paying, at most.
const locked = time.Minute

// start is one start of the payroll.
type start struct {
	bank string        // behaves so
	dies time.Duration // after its beginning; 0 for never
	soon time.Duration // after the last one; 0 for Lambda's own pause
}

// startByLambda has Lambda start the payroll of November: as often as it would, and with
// its pauses, unless somebody is sooner by hand. It tells how many starts it took, or 0 where all have failed.
func startByLambda(t *testing.T, db *dynamotest.DB, starts ...start) int {
	t.Helper()
	for n, s := range starts {
		if n > 0 {
			time.Sleep(cmp.Or(s.soon, retries[n-1]))
		}
		began := time.Now()
		err := invoke(t, newEnvironment(t, db, s.bank, ""), s.dies)
		if took := time.Since(began); s.dies == 0 && took > locked+10*time.Second {
			t.Errorf("start %d took %v: a run that died has locked its employees for longer than %v", n+1, took, locked)
		}
		if err == nil {
			return n + 1
		}
	}
	return 0
}

// invoke invokes the function in an environment that dies. Lambda notices at once, and
// at the latest when the time-out is over; what the process would have gone on with
// reaches nobody.
func invoke(t *testing.T, e *lambdatest.Environment, dies time.Duration) error {
	t.Helper()
	var answer error
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		_, answer = e.Invoke(november)
	}()
	var death <-chan time.Time
	if dies > 0 {
		death = time.After(dies)
	}
	select {
	case <-ended:
		return answer
	case <-death:
		e.Kill()
		return fmt.Errorf("killed after %v", dies)
	}
}

// A payroll that is killed is paid by Lambda's own later starts, whenever it is killed:
// a dead run locks whom it was paying for about a minute, and a start waits for them.
// Nobody has to look into the queue for people.
func TestLambdasOwnStartsPayAPayrollThatWasKilled(t *testing.T) {
	const employees = 40 // five rounds of eight
	for name, c := range map[string]struct {
		starts []start
		took   int
	}{
		"at its first transfers":       {[]start{{bank: "steady", dies: 50 * time.Millisecond}, {bank: "steady"}}, 2},
		"in its third round":           {[]start{{bank: "steady", dies: 250 * time.Millisecond}, {bank: "steady"}}, 2},
		"at its last transfers":        {[]start{{bank: "steady", dies: 450 * time.Millisecond}, {bank: "steady"}}, 2},
		"before it has begun":          {[]start{{bank: "steady", dies: time.Nanosecond}, {bank: "steady"}}, 2},
		"after everybody was paid":     {[]start{{bank: "steady", dies: 600 * time.Millisecond}}, 1},
		"with a slow bank":             {[]start{{bank: "slow", dies: 2500 * time.Millisecond}, {bank: "slow"}}, 2},
		"after leases were renewed":    {[]start{{bank: "hang", dies: 10 * time.Minute}, {bank: "steady"}}, 2},
		"by its time-out":              {[]start{{bank: "hang", dies: timeout}, {bank: "steady"}}, 2},
		"twice":                        {[]start{{bank: "steady", dies: 50 * time.Millisecond}, {bank: "steady", dies: 150 * time.Millisecond}, {bank: "steady"}}, 3},
		"twice by a bank that hangs":   {[]start{{bank: "hang", dies: timeout}, {bank: "hang", dies: timeout}, {bank: "steady"}}, 3},
		"and then the bank fails once": {[]start{{bank: "steady", dies: 250 * time.Millisecond}, {bank: "flaky"}, {bank: "steady"}}, 3},
		"and started again by hand":    {[]start{{bank: "steady", dies: 350 * time.Millisecond}, {bank: "steady", soon: 5 * time.Second}}, 2},
		"and again while that waits":   {[]start{{bank: "steady", dies: 350 * time.Millisecond}, {bank: "steady", dies: 30 * time.Second, soon: 5 * time.Second}, {bank: "steady"}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := newDatabase(t, employees)
				if took := startByLambda(t, db, c.starts...); took != c.took {
					t.Errorf("start %d has finished the payroll, and not %d", took, c.took)
				}
				wantPaid(t, db, employees)
			})
		})
	}
}
