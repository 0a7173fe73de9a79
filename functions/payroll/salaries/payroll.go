// Package salaries pays the salaries of a month, each once.
package salaries

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/metrics"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// operation is part of every key that is stored.
const operation = "salary"

// remembered is how long a record says that a salary was paid: longer than anybody
// starts a month again. The payslips say so for ever.
const remembered = 90 * 24 * time.Hour

// MonthLayout is the form of a month, as [time.Parse] knows it.
const MonthLayout = "2006-01"

// Settings are where the payroll finds things, and how its bank behaves.
type Settings struct {
	PayrollTable   string
	SimulatedBank  string
	BankIdempotent string
}

// Payroll pays salaries. It is safe for concurrent use, also by several processes.
type Payroll struct {
	guard *idempotent.Guard
	table *ledger.Ledger
	bank  *simulated.Service
}

// New returns the payroll of those settings, with its records in the store.
func New(store persistence.Store, client *dynamodb.Client, s Settings) (*Payroll, error) {
	table, err := ledger.New(client, s.PayrollTable)
	if err != nil {
		return nil, fmt.Errorf("PAYROLL_TABLE: %w", err)
	}
	bank, err := simulated.New(table, "transfer", s.SimulatedBank, s.BankIdempotent)
	if err != nil {
		return nil, fmt.Errorf("SIMULATED_BANK: %w", err)
	}
	guard, err := idempotent.New(store, metrics.Watch(idempotent.Config{Operation: operation, TTL: remembered}))
	if err != nil {
		return nil, err
	}
	return &Payroll{guard: guard, table: table, bank: bank}, nil
}

// CreateTable creates the payroll's table if it is not there yet, for local use. A deployed one
// belongs into a template.
func CreateTable(ctx context.Context, client *dynamodb.Client, s Settings) error {
	return ledger.CreateTable(ctx, client, s.PayrollTable)
}

// Summary is what a start of the payroll has come to.
type Summary struct {
	Month     string `json:"month"`
	Employees int    `json:"employees"`
	Paid      int    `json:"paid"`        // by this start
	Before    int    `json:"paid_before"` // by another one
	Left      int    `json:"left"`        // for the next one
}

func (s Summary) String() string {
	return fmt.Sprintf("%d of %d paid, %d before, %d left", s.Paid, s.Employees, s.Before, s.Left)
}

// Pay pays everybody who was not paid for the month yet. It stops in time before the
// deadline of ctx. An error says that somebody is left: start it again. Progress, if
// not nil, is told of each employee.
func (p *Payroll) Pay(ctx context.Context, month string, progress func(batch.Progress)) (Summary, error) {
	staff, err := p.employees(ctx)
	if err != nil {
		return Summary{Month: month}, err
	}
	report, err := batch.Each(ctx, p.guard, batch.Batch[Employee]{
		Name:     month,
		ID:       func(e Employee) string { return e.ID },
		Progress: progress,
	}, staff, func(ctx context.Context, e Employee) error { return p.pay(ctx, month, e) })
	for _, failure := range report.Errors {
		slog.ErrorContext(ctx, "payroll: not paid", "month", month, "employee", failure.ID, "error", failure.Err)
	}
	return Summary{
		Month:     month,
		Employees: report.Total,
		Paid:      report.Done,
		Before:    report.Replayed,
		Left:      len(report.Left),
	}, err
}

// pay pays one employee, under the key of the guarded call: the bank recognises a
// second try by it. The payslip commits with the record. No failure is permanent: who
// can't be paid is left until somebody has put right why.
func (p *Payroll) pay(ctx context.Context, month string, e Employee) error {
	payslip := "payslip#" + month + "#" + e.ID
	switch row, err := p.table.Get(ctx, payslip); {
	case err != nil:
		return err
	case row != nil:
		return nil // paid, and the record has expired since
	}
	if e.Salary <= 0 {
		return errors.New("there is no salary to pay")
	}
	transfer, err := p.bank.Do(ctx, idempotent.DownstreamKey(ctx), ledger.Row{
		"employee": ledger.Text(e.ID),
		"month":    ledger.Text(month),
		"amount":   ledger.Number(e.Salary),
		"iban":     ledger.Text(e.IBAN),
	})
	switch {
	case errors.Is(err, simulated.ErrRefused):
		return fmt.Errorf("the bank has refused the transfer to %s", e.IBAN)
	case errors.Is(err, simulated.ErrOtherRequest):
		return errors.New("an earlier try has paid another amount, or to another account")
	case err != nil:
		return err
	}
	return dynamostore.Enlist(ctx, p.table.Adding(payslip, ledger.Row{
		"employee": ledger.Text(e.ID),
		"month":    ledger.Text(month),
		"amount":   ledger.Number(e.Salary),
		"transfer": ledger.Text(transfer),
		"paid_at":  ledger.Text(time.Now().UTC().Format(time.RFC3339Nano)),
	}))
}
