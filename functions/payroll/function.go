package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/functions/payroll/salaries"
)

// function is what Lambda runs. Its error makes Lambda start it again, twice at most,
// with the same event.
type function = func(context.Context, event) (salaries.Summary, error)

// event says which month is to be paid.
type event struct {
	// Month is that of a start by hand, such as "2026-11".
	Month string `json:"month"`
	// ScheduledTime is when the schedule meant to start the payroll, of that very
	// month. The clock would be the wrong one to ask: a retry may come after midnight.
	ScheduledTime time.Time `json:"scheduled_time"`
}

// newFunction is the function. It is the items of the batch that are guarded, not the
// event: whoever starts the payroll of a month again means to.
func newFunction(p wiring.Parts) (function, error) {
	payroll, err := salaries.New(p.Store, p.Client, salaries.Settings{
		PayrollTable:   p.Setting("PAYROLL_TABLE"),
		SimulatedBank:  p.Setting("SIMULATED_BANK"),
		BankIdempotent: p.Setting("BANK_IDEMPOTENT"),
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, e event) (salaries.Summary, error) {
		month, err := e.month()
		if err != nil {
			return salaries.Summary{}, err
		}
		summary, err := payroll.Pay(ctx, month, nil)
		slog.InfoContext(ctx, "payroll: "+summary.String(), "month", summary.Month, "left", summary.Left)
		return summary, err
	}, nil
}

func (e event) month() (string, error) {
	if e.Month == "" && !e.ScheduledTime.IsZero() {
		return e.ScheduledTime.UTC().Format(salaries.MonthLayout), nil
	}
	if _, err := time.Parse(salaries.MonthLayout, e.Month); err != nil {
		return "", fmt.Errorf("payroll: the event must have a month such as 2026-11, or a scheduled_time: %w", err)
	}
	return e.Month, nil
}
