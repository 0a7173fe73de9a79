package batch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/persistence"
)

func newGuard(config idempotent.Config) *idempotent.Guard {
	config.Logger = slog.New(slog.DiscardHandler)
	guard, err := idempotent.New(persistence.NewMemory(), config)
	if err != nil {
		panic(err)
	}
	return guard
}

// The payroll of a month. The first start finds the bank closed half-way; the second
// pays whoever is left, and nobody twice.
func ExampleEach() {
	guard := newGuard(idempotent.Config{Operation: "salary", TTL: 90 * 24 * time.Hour})
	type employee struct {
		Number string
		Salary int
	}
	staff := []employee{{"e-1", 3000}, {"e-2", 3500}, {"e-3", 4000}, {"e-4", 4500}}
	payroll := batch.Batch[employee]{
		Name:        "2026-11",
		ID:          func(e employee) string { return e.Number },
		Concurrency: 1, // for the output to be in order
	}

	bankIsOpen := false
	pay := func(_ context.Context, e employee) error {
		switch {
		case e.Number == "e-2":
			return idempotent.Permanent(errors.New("account closed"))
		case e.Salary >= 4000 && !bankIsOpen:
			return errors.New("bank closed")
		}
		fmt.Println("paying", e.Number, e.Salary)
		return nil
	}
	for range 2 {
		report, err := batch.Each(context.Background(), guard, payroll, staff, pay)
		fmt.Printf("%d paid now, %d before, %d failed for good, left: %v\n", report.Done, report.Replayed, report.Permanent, report.Left)
		for _, failure := range report.Errors {
			fmt.Println(failure)
		}
		fmt.Println(err)
		bankIsOpen = true
	}
	// Output:
	// paying e-1 3000
	// 1 paid now, 0 before, 1 failed for good, left: [{e-3 4000} {e-4 4500}]
	// idempotent: item e-2: account closed
	// idempotent: item e-3: bank closed
	// idempotent: item e-4: bank closed
	// idempotent: batch 2026-11: 2 of 4 items left (2 failed, 0 held, 0 not started)
	// paying e-3 4000
	// paying e-4 4500
	// 2 paid now, 1 before, 1 failed for good, left: []
	// idempotent: item e-2: account closed
	// <nil>
}

// A bar that moves with the work: what is settled, of all.
func ExampleProgress() {
	guard := newGuard(idempotent.Config{Operation: "invoice"})
	invoices := batch.Batch[string]{
		Name: "2026-11",
		ID:   func(customer string) string { return customer },
		Progress: func(p batch.Progress) {
			fmt.Printf("%d/%d\n", p.Total-p.Pending, p.Total)
		},
	}
	send := func(context.Context, string) error { return nil }
	_, _ = batch.Each(context.Background(), guard, invoices, []string{"c-1", "c-2", "c-3"}, send)
	// Output:
	// 1/3
	// 2/3
	// 3/3
}
