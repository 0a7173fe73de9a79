// Package coldstart measures what the toolkit adds to the cold start of a Lambda
// function. The same function exists twice, with idempotency written by hand and
// with the toolkit; their processes are started by turns, many times, so that
// whatever else the machine does falls on both alike.
package coldstart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/rie"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Options says how much to measure.
type Options struct {
	// Rounds is how often each function is started, in either way. Defaults to 200.
	Rounds int
}

const (
	// warmUp rounds are not counted: they bring the binaries into the page cache.
	warmUp          = 3
	table           = "idempotency"
	functionTimeout = 10 * time.Second
)

// Run builds the functions and the emulator, and measures. Builds and logs go to
// the .cache folder of the clone that the working directory is in.
func Run(ctx context.Context, options Options) (report Report, err error) {
	if runtime.GOOS != "linux" {
		return Report{}, fmt.Errorf("cold starts are measured on Linux, which Lambda runs on, and not on %s", runtime.GOOS)
	}
	if options.Rounds <= 0 {
		options.Rounds = 200
	}
	clone, err := rie.FindClone(ctx)
	if err != nil {
		return Report{}, err
	}
	logs, err := clone.Logs("cold-start")
	if err != nil {
		return Report{}, err
	}
	emulator, err := clone.BuildEmulator(ctx)
	if err != nil {
		return Report{}, err
	}
	var functions [2]*function
	for i, name := range []string{"bare", "wrapped"} {
		if functions[i], err = build(ctx, clone, name); err != nil {
			return Report{}, err
		}
	}
	db := dynamotest.Open()
	if err := dynamostore.CreateTable(ctx, db.Client(), dynamostore.Config{Table: table}); err != nil {
		return Report{}, err
	}
	endpoint, err := db.Serve()
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	start := &starter{emulator: emulator, logs: logs, variables: variables(endpoint)}
	if err := byTurns(ctx, options.Rounds, functions, start.process, start.emulated); err != nil {
		return Report{}, err
	}
	warmth, err := measureWarm(ctx, db, functions[1].binary, logs, options.Rounds)
	if err != nil {
		return Report{}, fmt.Errorf("over TLS: %w", err)
	}
	return newReport(functions[0], functions[1], warmth), nil
}

// function is one of the two, and what was measured of it.
type function struct {
	name      string
	binary    string            // path
	size      int64             // of the binary, in bytes
	variables map[string]string // those that only this one has
	measured  times
}

func build(ctx context.Context, clone rie.Clone, name string) (*function, error) {
	binary, err := clone.Build(ctx, "./cmd/ikkai/internal/coldstart/functions/"+name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	return &function{name: name, binary: binary, size: info.Size()}, nil
}

// variables are the environment variables of both functions.
func variables(endpoint string) map[string]string {
	return map[string]string{
		"AWS_REGION":                dynamotest.Region,
		"AWS_ACCESS_KEY_ID":         "local",
		"AWS_SECRET_ACCESS_KEY":     "local",
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint,
		"IDEMPOTENCY_TABLE":         table,
	}
}

// byTurns starts both functions in each of the ways, round by round. Who begins changes from
// round to round.
func byTurns(ctx context.Context, rounds int, functions [2]*function, ways ...func(context.Context, *function) error) error {
	for n := range warmUp + rounds {
		if n == warmUp {
			for _, f := range functions {
				f.measured = times{}
			}
		}
		for _, way := range ways {
			for _, f := range functions {
				if err := way(ctx, f); err != nil {
					return fmt.Errorf("round %d, %s: %w", n, f.name, err)
				}
			}
		}
		functions[0], functions[1] = functions[1], functions[0]
	}
	return nil
}
