// Command ikkai shows what the toolkit promises, measures what it costs, and helps those who
// operate it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/operate"
)

// command is one of ikkai's subcommands.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, stdout, stderr io.Writer) error
	// commands says that it has commands of its own.
	commands bool
}

func commands() []command {
	return []command{
		{name: "demo", summary: "show Lambda functions survive retries, races, time-outs and failures", run: runDemo},
		{name: "new", summary: "make the folder of a new function: handler, test, and what deploys it", run: runNew},
		{name: "records", summary: "find records, show them, settle, forget and resume them", run: runRecords, commands: true},
		{name: "console", summary: "the same in a browser on this machine", run: runConsole},
		{name: "doctor", summary: "look after the table, its throttles, the clock and what is stuck", run: runDoctor},
		{name: "cost", summary: "reckon what a month costs", run: runCost},
		{name: "dynamodb", summary: "serve an embedded DynamoDB for local development", run: runDynamoDB},
		{name: "payroll", summary: "pay a month's salaries in starts that are too short, and nobody twice", run: runPayroll},
		{name: "bench", summary: "measure the toolkit's calls beside the bare SDK's, and its work on keys", run: runBench},
		{name: "bench-cold", summary: "measure what the toolkit adds to a cold start and to the binary", run: runBenchCold},
	}
}

func main() {
	// A reader or terminal that is gone must not keep a command from ending in order.
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGPIPE, syscall.SIGHUP)
	// The first of these ends the command in order; a second one ends the process.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errUsage ends a command whose usage has been printed already.
var errUsage = errors.New("usage")

// run runs the command that args name and returns the exit status: 1 if it
// failed, 2 if it was called wrongly, others where the command's help says so.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, "ikkai", commands(), args, stdout, stderr, "")
	var exit *operate.Exit
	var usage *operate.UsageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	}
	fmt.Fprintln(stderr, operate.Plain(err.Error()))
	switch {
	case errors.As(err, &usage):
		return 2
	case errors.As(err, &exit):
		return exit.Status
	default:
		return 1
	}
}

// dispatch runs the command that the first argument names. Its error begins with the command's
// name.
func dispatch(ctx context.Context, prefix string, commands []command, args []string, stdout, stderr io.Writer, notes string) error {
	if len(args) == 0 {
		usage(stderr, prefix, commands, notes)
		return errUsage
	}
	for _, c := range commands {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, args[1:], stdout, stderr)
		if err == nil || errors.Is(err, flag.ErrHelp) || errors.Is(err, errUsage) || c.commands {
			return err
		}
		return fmt.Errorf("%s %s: %w", prefix, c.name, err)
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(stdout, prefix, commands, notes)
		return nil
	}
	fmt.Fprintf(stderr, "%s: no command %q\n\n", prefix, args[0])
	usage(stderr, prefix, commands, notes)
	return errUsage
}

func usage(w io.Writer, prefix string, commands []command, notes string) {
	fmt.Fprintf(w, "usage: %s <command> [flags]\n\n", prefix)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(w, "%s\n%s <command> --help tells the flags of a command.\n", notes, prefix)
}
