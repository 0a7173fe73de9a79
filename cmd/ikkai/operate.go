package main

import (
	"context"
	"io"
	"time"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/operate"
)

func runDoctor(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var table operate.Table
	var examination operate.Examination
	flags := newFlags("ikkai doctor", "", "Permissions are tried by requests whose conditions never hold. Exit status 5: something has to be mended.\n")
	table.Flags(flags)
	desk := deskFlags(flags)
	flags.DurationVar(&examination.ClockSkew, "clock-skew", time.Second, "the guards' ClockSkew")
	flags.Float64Var(&examination.MaxUnits, "max-units", 1000, "look for stuck records for so many read units")
	flags.StringVar(&examination.CloudWatch, "cloudwatch-endpoint", "", "where CloudWatch is (default the Region's)")
	flags.BoolVar(&examination.JSON, "json", false, "one JSON object a line")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	opened, err := table.Open(ctx, *desk)
	if err != nil {
		return err
	}
	return operate.Examine(ctx, opened, examination, stdout)
}

func runCost(_ context.Context, args []string, stdout, stderr io.Writer) error {
	load := operate.Load{}
	var asJSON bool
	flags := newFlags("ikkai cost", "", "By the model of docs/cost.md, for the default names of attributes. Prices are those of your Region: without them, units are shown alone.\n")
	flags.Float64Var(&load.Requests, "requests", 1e6, "first arrivals in a month")
	flags.Float64Var(&load.Duplicates, "duplicates", 0.01, "arrivals of the same again, as a share of them")
	flags.IntVar(&load.Result, "result", 512, "bytes of a result")
	flags.IntVar(&load.Steps, "steps", 0, "steps of a request")
	flags.IntVar(&load.StepOutput, "step-output", 64, "bytes of a step's output")
	flags.IntVar(&load.Event, "event", 0, "bytes of the event that guards with KeepEvent keep; none is kept over 64 KB")
	flags.BoolVar(&load.ReadFirst, "read-first", false, "guards with ReadFirst")
	flags.DurationVar(&load.TTL, "ttl", 24*time.Hour, "how long records are kept")
	flags.Float64Var(&load.PerMillionWrites, "price-writes", 0, "price of a million write units")
	flags.Float64Var(&load.PerMillionReads, "price-reads", 0, "price of a million read units")
	flags.Float64Var(&load.PerGBMonth, "price-storage", 0, "price of a GB for a month")
	flags.BoolVar(&asJSON, "json", false, "one JSON object a line")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	return operate.Reckon(load, asJSON, stdout)
}

func runConsole(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var table operate.Table
	var page operate.Page
	flags := newFlags("ikkai console", "", "A page for this machine's browser. Its address has a random token: whoever has it is let in.\n")
	table.Flags(flags)
	desk := deskFlags(flags)
	flags.IntVar(&page.Port, "port", 0, "port on 127.0.0.1 (default a free one)")
	flags.BoolVar(&page.Write, "write", false, "let the page settle and forget records")
	flags.Float64Var(&page.MaxUnits, "max-units", 2000, "read units that one view may take")
	flags.Float64Var(&page.PricePerMillion, "price-writes", 0, "price of a million write units, for the column of costs")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	opened, err := table.Open(ctx, *desk)
	if err != nil {
		return err
	}
	return operate.Serve(ctx, opened, page, stdout, stderr)
}
