package demo

import (
	"context"
	"fmt"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// The scene of functions/payroll, a batch job on a schedule. The month is always the same.

const november = Month("2026-11")

func payday(ctx context.Context, s *show) error {
	const half = staff / 2
	s.crashAt(ctx, "env-17", dynamotest.Fault{Table: payroll.table, Operation: "PutItem", Nth: half})
	death, err := s.start(ctx, "env-17")
	if err != nil {
		return err
	}
	s.look(s.stage.lookAtBank())
	s.promise("it is killed at the twentieth transfer, with more of them under way",
		crashed(death.Work, death.Failure), s.stage.transferred(half, staff-1))
	second, err := s.start(ctx, "env-18")
	if err != nil {
		return err
	}
	s.promise("started again at once it pays the others, and says that those are left whose lease still runs",
		unfinished(second), s.stage.transferred(half+1, staff))
	if err := s.untilUnlocked(ctx); err != nil {
		return err
	}
	third, err := s.start(ctx, "env-18")
	if err != nil {
		return err
	}
	s.look(s.stage.lookAtBank())
	s.promise("after the lease it pays those; the bank knows the keys of the transfers that it has made",
		paid(third, third.Paid, staff-third.Paid), s.stage.transferred(staff, staff))
	last, err := s.start(ctx, "env-18")
	if err != nil {
		return err
	}
	s.promise("and from then on nobody, for reads by the hundred instead of a write for each employee",
		paid(last, 0, staff), s.stage.transferred(staff, staff))
	return nil
}

// transferred finds fault with fewer or more transfers than that, and with an employee
// who has got two.
func (s *stage) transferred(least, most int) string {
	switch all, _, each := s.transfers(); {
	case all < least, all > most:
		return fmt.Sprintf("the bank has made %s instead of %d to %d", counted(all, "transfer"), least, most)
	case each > 1:
		return fmt.Sprintf("an employee was paid %d times", each)
	default:
		return ""
	}
}
