package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/payday"
	"github.com/ikkai-go/idempotency/internal/endpoint"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func runPayroll(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ikkai payroll", flag.ContinueOnError)
	employees := flags.Int("employees", 200, "how many there are")
	month := flags.String("month", time.Now().Format("2006-01"), "which one is paid")
	timeout := flags.Duration("timeout", 2*time.Second, "of a start, after which it is started again")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the guards' log would run into the bar
	client, kept := endpoint.Client()
	if !kept {
		client = dynamotest.Open().Client()
	}
	var narrator payday.Narrator = payday.NewLines(stdout)
	if isTerminal(stdout) {
		narrator = payday.NewBar(stdout)
	}
	paid, err := payday.Run(ctx, client, payday.Options{Month: *month, Employees: *employees, Timeout: *timeout}, narrator)
	switch {
	case err == nil:
		fmt.Fprintf(stdout, "the bank's ledger: %d employees are paid for %s, each once\n", paid, *month)
	case ctx.Err() != nil && kept:
		return fmt.Errorf("%w; start it again for those who are left", err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w; the embedded DynamoDB is gone, and who was paid with it (%s keeps them in another one)", err, endpoint.Variable)
	}
	return err
}
