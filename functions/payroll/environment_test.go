package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/functions/payroll/salaries"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

const (
	payrollTable = "payroll"
	timeout      = 15 * time.Minute // as in template.yaml
)

// settings are those of the function as it is deployed.
var settings = map[string]string{"IDEMPOTENCY_TABLE": lambdatest.IdempotencyTable, "PAYROLL_TABLE": payrollTable}

// newDatabase is one with that many employees.
func newDatabase(t *testing.T, employees int) *dynamotest.DB {
	t.Helper()
	db := lambdatest.NewDatabase(t, payrollTable)
	for n := range employees {
		employ(t, db, fmt.Sprintf("e-%03d", n), 3000_00)
	}
	return db
}

// employ puts an employee into the table, in place of the one that is there.
func employ(t testing.TB, db *dynamotest.DB, id string, salary int64) {
	t.Helper()
	err := db.Seed(payrollTable, ledger.Row{
		"pk":     ledger.Text("employee#" + id),
		"iban":   ledger.Text("DE00 " + id),
		"salary": ledger.Number(salary),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// newEnvironment starts the function as it is deployed, with a bank of the given
// settings.
func newEnvironment(t *testing.T, db *dynamotest.DB, behaviour, keys string) *lambdatest.Environment {
	t.Helper()
	return newHastyEnvironment(t, db, timeout, behaviour, keys)
}

// newHastyEnvironment starts it with another time-out.
func newHastyEnvironment(t *testing.T, db *dynamotest.DB, timeout time.Duration, behaviour, keys string) *lambdatest.Environment {
	t.Helper()
	return lambdatest.Start(t, db, timeout, func(client *dynamodb.Client) (any, error) {
		return wiring.Build(newFunction, client, settings, map[string]string{"SIMULATED_BANK": behaviour, "BANK_IDEMPOTENT": keys})
	})
}

var november = []byte(`{"month":"2026-11"}`)

// pay starts the payroll and wants it to finish.
func pay(t *testing.T, e *lambdatest.Environment, event []byte) salaries.Summary {
	t.Helper()
	answer, err := e.Invoke(event)
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	var summary salaries.Summary
	if err := json.Unmarshal(answer, &summary); err != nil {
		t.Fatal(err)
	}
	return summary
}

// wantPaid wants that many of the employees to have been paid for November, each once,
// and to have a payslip.
func wantPaid(t *testing.T, db *dynamotest.DB, employees int) {
	t.Helper()
	for employee, transfers := range transfersOf(t, db, "2026-11") {
		if transfers != 1 {
			t.Errorf("%s was paid %d times", employee, transfers)
		}
	}
	if rows := lambdatest.Rows(db, payrollTable); rows["transfer"] != employees || rows["payslip"] != employees {
		t.Errorf("there are %d transfers and %d payslips, want %d", rows["transfer"], rows["payslip"], employees)
	}
}

func transfersOf(t *testing.T, db *dynamotest.DB, month string) map[string]int {
	t.Helper()
	transfers := make(map[string]int)
	for _, row := range db.Items(payrollTable) {
		if row := ledger.Row(row); row["transfer"] == nil && row.Text("month") == month {
			transfers[row.Text("employee")]++
		}
	}
	return transfers
}
