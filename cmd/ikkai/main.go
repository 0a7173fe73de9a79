// Command ikkai shows what the toolkit promises and measures what it costs.
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
)

// command is one of ikkai's subcommands.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

var commands = []command{
	{"demo", "show Lambda functions survive retries, races, time-outs and failures", runDemo},
	{"new", "make the folder of a new function: handler, test, and what deploys it", runNew},
	{"dynamodb", "serve an embedded DynamoDB for local development", runDynamoDB},
	{"payroll", "pay a month's salaries in starts that are too short, and nobody twice", runPayroll},
	{"bench", "measure the toolkit's calls beside the bare SDK's, and its work on keys", runBench},
	{"bench-cold", "measure what the toolkit adds to a cold start and to the binary", runBenchCold},
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
// failed, 2 if it was called wrongly.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return 2
	}
	for _, c := range commands {
		if c.name != args[0] {
			continue
		}
		switch err := c.run(ctx, args[1:], stdout, stderr); {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			return 2
		default:
			fmt.Fprintf(stderr, "ikkai %s: %v\n", c.name, err)
			return 1
		}
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(stdout)
		return 0
	}
	fmt.Fprintf(stderr, "ikkai: no command %q\n\n", args[0])
	usage(stderr)
	return 2
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: ikkai <command> [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\nikkai <command> --help tells the flags of a command.\n")
}

// parse reads a command's flags; it takes no further arguments.
func parse(flags *flag.FlagSet, args []string, stderr io.Writer) error {
	flags.SetOutput(stderr)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "%s takes no argument %q\n", flags.Name(), flags.Arg(0))
		flags.Usage()
		return errUsage
	}
	return nil
}
