package main

import (
	"context"
	"flag"
	"io"
	"os"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/demo"
)

func runDemo(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ikkai demo", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "write one JSON object a line instead of a timeline")
	plain := flags.Bool("no-color", false, "write the timeline without colors; so does the environment variable NO_COLOR")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if *asJSON {
		return demo.Run(ctx, demo.NewJSONLines(stdout), run)
	}
	var palette demo.Palette
	if !*plain && os.Getenv("NO_COLOR") == "" && isTerminal(stdout) {
		palette = demo.ANSI
	}
	return demo.Run(ctx, demo.NewTimeline(stdout, palette), run)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
