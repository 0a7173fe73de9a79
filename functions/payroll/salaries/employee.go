package salaries

import (
	"context"
	"strings"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
)

// Employee is who is paid.
type Employee struct {
	ID     string // a number that stays, whatever else changes
	IBAN   string
	Salary int64 // a month's, in cents
}

// The row of an employee is "employee#" + the ID.

func (p *Payroll) employees(ctx context.Context) ([]Employee, error) {
	rows, err := p.table.List(ctx, "employee#")
	if err != nil {
		return nil, err
	}
	staff := make([]Employee, len(rows))
	for i, row := range rows {
		// A salary that can't be read is none, and fails its employee only.
		salary, _ := row.Number("salary")
		staff[i] = Employee{
			ID:     strings.TrimPrefix(row.Text("pk"), "employee#"),
			IBAN:   row.Text("iban"),
			Salary: salary,
		}
	}
	return staff, nil
}

// Hire adds an employee, unless one with that ID is there.
func (p *Payroll) Hire(ctx context.Context, e Employee) error {
	_, err := p.table.Add(ctx, "employee#"+e.ID, ledger.Row{
		"iban":   ledger.Text(e.IBAN),
		"salary": ledger.Number(e.Salary),
	})
	return err
}

// Transfers counts what the bank has transferred for a month, for each employee's ID.
func (p *Payroll) Transfers(ctx context.Context, month string) (map[string]int, error) {
	rows, err := p.table.List(ctx, "transfer#")
	transfers := make(map[string]int)
	for _, row := range rows {
		if row.Text("month") == month {
			transfers[row.Text("employee")]++
		}
	}
	return transfers, err
}
