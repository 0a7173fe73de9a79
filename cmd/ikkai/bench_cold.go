package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/coldstart"
)

func runBenchCold(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ikkai bench-cold", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "write one JSON document instead of Markdown tables")
	rounds := flags.Int("rounds", 0, "how often each function is started, in either way (default 200)")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	fmt.Fprintln(stderr, "building two functions and the Lambda emulator, which takes minutes the first time, and starting them by turns")
	report, err := coldstart.Run(ctx, coldstart.Options{Rounds: *rounds})
	if err != nil {
		return err
	}
	if *asJSON {
		return report.WriteJSON(stdout)
	}
	return report.WriteMarkdown(stdout)
}
