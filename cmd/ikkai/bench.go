package main

import (
	"context"
	"flag"
	"io"
	"os"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/bench"
)

func runBench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ikkai bench", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "write one JSON document instead of Markdown tables")
	rounds := flags.Int("rounds", 0, "how often each call is measured (default 4000)")
	serve := flags.Bool("serve", false, "only serve the embedded DynamoDB until stdin ends, as a bench has another process do for it")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if *serve {
		return bench.Serve(os.Stdin, stdout)
	}
	report, err := bench.Run(ctx, bench.Options{Endpoint: os.Getenv("DYNAMODB_ENDPOINT"), Rounds: *rounds})
	if err != nil {
		return err
	}
	if *asJSON {
		return report.WriteJSON(stdout)
	}
	return report.WriteMarkdown(stdout)
}
