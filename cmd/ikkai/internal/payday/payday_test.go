package payday

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/functions/payroll/salaries"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// witness notes what it is told.
type witness struct {
	summaries []salaries.Summary
	onSettled func(batch.Progress)
}

func (*witness) Start(int) {}

func (w *witness) Progress(p batch.Progress) {
	if w.onSettled != nil {
		w.onSettled(p)
	}
}

func (w *witness) End(s salaries.Summary, _ error) { w.summaries = append(w.summaries, s) }

var options = Options{Month: "2026-11", Employees: 100, Timeout: time.Second}

func TestItIsStartedUntilEverybodyIsPaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := new(witness)
		paid, err := Run(t.Context(), dynamotest.New(t).Client(), options, told)
		if err != nil || paid != options.Employees {
			t.Fatalf("%d are paid: %v", paid, err)
		}
		if len(told.summaries) < 2 {
			t.Errorf("a second was enough: %v", told.summaries)
		}
		last := told.summaries[len(told.summaries)-1]
		if last.Paid+last.Before != options.Employees || last.Left != 0 {
			t.Errorf("at the last start %v", last)
		}
	})
}

func TestWhatIsInterruptedGoesOnWithTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dynamotest.New(t)
		interrupted := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		first := &witness{onSettled: func(p batch.Progress) {
			if p.Done == 20 {
				cancel(interrupted)
			}
		}}
		if _, err := Run(ctx, db.Client(), options, first); !errors.Is(err, interrupted) {
			t.Fatalf("the error is %v", err)
		}
		second := new(witness)
		paid, err := Run(t.Context(), db.Client(), options, second)
		if err != nil || paid != options.Employees {
			t.Fatalf("%d are paid: %v", paid, err)
		}
		if first.summaries[0].Paid < 20 || second.summaries[0].Before != first.summaries[0].Paid {
			t.Errorf("the first: %v, the second: %v", first.summaries, second.summaries)
		}
	})
}

// The database goes away with transfers under way, as if the process had been killed:
// nobody settles their records.
func TestItWaitsForTheLeasesOfARunThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dynamotest.New(t)
		db.Inject(dynamotest.Fault{
			Operation: "TransactWriteItems", Nth: 20, Times: dynamotest.Always, Do: dynamotest.LoseRequest(),
		})
		hasty := options
		hasty.Employees = 24
		ctx, cancel := context.WithCancel(t.Context())
		settled := &witness{onSettled: func(p batch.Progress) {
			if p.Failed > 0 {
				cancel()
			}
		}}
		if _, err := Run(ctx, db.Client(), hasty, settled); err == nil {
			t.Fatal("everybody was paid")
		}
		db.ClearFaults()
		told := new(witness)
		if paid, err := Run(t.Context(), db.Client(), hasty, told); err != nil || paid != hasty.Employees {
			t.Fatalf("%d are paid: %v", paid, err)
		}
	})
}

func TestAnEmployeeWhoIsPaidTwiceIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dynamotest.New(t)
		if _, err := Run(t.Context(), db.Client(), options, new(witness)); err != nil {
			t.Fatal(err)
		}
		err := db.Seed("payroll", map[string]types.AttributeValue{
			"pk":       &types.AttributeValueMemberS{Value: "transfer#again"},
			"month":    &types.AttributeValueMemberS{Value: "2026-11"},
			"employee": &types.AttributeValueMemberS{Value: "e-0007"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), db.Client(), options, new(witness)); err == nil || err.Error() != "e-0007 was paid 2 times" {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestHowItIsTold(t *testing.T) {
	const lines = `start 1: 40 of 100 paid, 0 before, 60 left
         60 left
start 2: 60 of 100 paid, 40 before, 0 left
`
	for name, newNarrator := range map[string]func(*bytes.Buffer) Narrator{
		"in lines":   func(w *bytes.Buffer) Narrator { return NewLines(w) },
		"with a bar": func(w *bytes.Buffer) Narrator { return NewBar(w) },
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			n := newNarrator(&said)
			n.Start(1)
			for done := range 40 {
				n.Progress(batch.Progress{Total: 100, Done: done + 1, Pending: 99 - done})
			}
			bar := said.String()
			n.End(salaries.Summary{Month: "2026-11", Employees: 100, Paid: 40, Left: 60}, errors.New("60 left"))
			n.Start(2)
			n.End(salaries.Summary{Month: "2026-11", Employees: 100, Paid: 60, Before: 40}, nil)
			if name == "in lines" {
				if said.String() != lines {
					t.Errorf("told is\n%s", said.String())
				}
				return
			}
			if !strings.Contains(bar, "start 1") || !strings.Contains(bar, "/100") {
				t.Errorf("the bar is %q", bar)
			}
			for line := range strings.Lines(lines) {
				if !strings.Contains(said.String(), line) {
					t.Errorf("%q is not told: %q", line, fmt.Sprint(said.String()))
				}
			}
		})
	}
}
