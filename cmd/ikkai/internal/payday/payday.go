// Package payday pays the salaries of functions/payroll on this machine: in starts
// that are too short for all of them, one after the other, as Lambda does it.
package payday

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/payroll/salaries"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Options say what is to be paid, and how.
type Options struct {
	Month     string // as in "2026-11"
	Employees int    // that there are
	Timeout   time.Duration
}

// Narrator tells what happens.
type Narrator interface {
	// Start is a start of the payroll, counted from 1.
	Start(n int)
	// Progress comes after each employee.
	Progress(batch.Progress)
	// End is that of a start; the error says why somebody is left.
	End(salaries.Summary, error)
}

// Run starts the payroll until everybody is paid, and returns how many are. It ends
// between two starts, and a start between two employees, if ctx does. What was done is
// in the database, for another Run to go on.
func Run(ctx context.Context, client *dynamodb.Client, o Options, narrator Narrator) (employees int, err error) {
	settings := salaries.Settings{PayrollTable: "payroll", SimulatedBank: "steady"}
	records := dynamostore.Config{Table: "idempotency"}
	if err := errors.Join(dynamostore.CreateTable(ctx, client, records), salaries.CreateTable(ctx, client, settings)); err != nil {
		return 0, err
	}
	store, err := dynamostore.New(client, records)
	if err != nil {
		return 0, err
	}
	payroll, err := salaries.New(store, client, settings)
	if err != nil {
		return 0, err
	}
	for n := range o.Employees {
		err := payroll.Hire(ctx, salaries.Employee{
			ID:     fmt.Sprintf("e-%04d", n+1),
			IBAN:   fmt.Sprintf("DE%020d", n+1),
			Salary: int64(3000_00 + n),
		})
		if err != nil {
			return 0, err
		}
	}
	if err := payAll(ctx, payroll, o, narrator); err != nil {
		return 0, err
	}
	return audit(ctx, payroll, o.Month)
}

// payAll starts the payroll until nobody is left.
func payAll(ctx context.Context, payroll *salaries.Payroll, o Options, narrator Narrator) error {
	for n := 1; ; n++ {
		narrator.Start(n)
		summary, err := pay(ctx, payroll, o, narrator)
		narrator.End(summary, err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.Is(err, batch.ErrUnfinished):
			return err
		case summary.Paid > 0:
			continue
		}
		// A run that was killed holds those who are left, until its lease is over.
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pay is one start, with the deadline that Lambda would give it.
func pay(ctx context.Context, payroll *salaries.Payroll, o Options, narrator Narrator) (salaries.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	return payroll.Pay(ctx, o.Month, narrator.Progress)
}

// audit asks the bank whether everybody was paid once, and returns how many were paid.
func audit(ctx context.Context, payroll *salaries.Payroll, month string) (int, error) {
	transfers, err := payroll.Transfers(ctx, month)
	if err != nil {
		return 0, err
	}
	var faults []error
	for employee, times := range transfers {
		if times != 1 {
			faults = append(faults, fmt.Errorf("%s was paid %d times", employee, times))
		}
	}
	return len(transfers), errors.Join(faults...)
}
