package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/operate"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// changing is the flags of the commands that change records.
type changing struct {
	table  operate.Table
	desk   *records.Config
	change operate.Change
	flags  *flag.FlagSet
}

func newChanging(name, notes string) *changing {
	c := &changing{flags: newFlags("ikkai records "+name, "[KEY]", notes)}
	c.table.Flags(c.flags)
	c.desk = deskFlags(c.flags)
	c.flags.StringVar(&c.desk.EndedExecution, "ended-execution", "", "the ARN of a durable execution that is over, by aws lambda get-durable-execution: its record counts as that of a run that died")
	c.flags.StringVar(&c.change.Version, "version", "", "the version that was shown")
	c.flags.StringVar(&c.change.From, "from", "", "a list in the place of KEY, as ikkai records list --json prints it: a file, or - for stdin")
	c.flags.BoolVar(&c.change.Yes, "yes", false, "do it")
	c.flags.BoolVar(&c.change.JSON, "json", false, "tell what was done as JSON")
	return c
}

// parse reads the flags and the key.
func (c *changing) parse(args []string, stderr io.Writer) (err error) {
	if c.change.Key, err = parseArgument(c.flags, args, stderr); err != nil {
		return err
	}
	if (c.change.Key == "") == (c.change.From == "") {
		return &operate.UsageError{Problem: "which record? Give its KEY, or a list with --from"}
	}
	c.change.Command = "ikkai " + strings.TrimPrefix(c.flags.Name(), "ikkai ") + " " + operate.Quote(args)
	return nil
}

// make does it, or says what it would do.
func (c *changing) make(ctx context.Context, stdout, stderr io.Writer) error {
	opened, err := c.table.Open(ctx, *c.desk)
	if err != nil {
		return err
	}
	return c.change.Make(ctx, opened, os.Stdin, stdout, stderr)
}

func runSettle(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := newChanging("settle", `What became of the request, or of one of its steps. One of:
  --completed          it has succeeded; with --result FILE duplicates get that
  --failed TYPE        it has failed for good; duplicates get that and --message
  --finish-step NAME   the step was started, and has happened; with --result FILE that is its output,
                       without which no try gets past it but by a Reconcile
  --decline-step NAME  the step was started, and has not happened: it may run
  --undo-step NAME     the step was undone by hand
`)
	var completed bool
	var failed, message, finish, decline, undo, result string
	var ttl time.Duration
	c.flags.BoolVar(&completed, "completed", false, "the request has succeeded")
	c.flags.StringVar(&failed, "failed", "", "the request has failed for good, with an error of this type")
	c.flags.StringVar(&message, "message", "", "the message of --failed")
	c.flags.StringVar(&finish, "finish-step", "", "the step has happened")
	c.flags.StringVar(&decline, "decline-step", "", "the step has not happened")
	c.flags.StringVar(&undo, "undo-step", "", "the step was undone by hand")
	c.flags.StringVar(&result, "result", "", "a file of the result in JSON, or - for stdin (default a result that nobody knows)")
	c.flags.DurationVar(&ttl, "ttl", 24*time.Hour, "how long duplicates get the outcome")
	if err := c.parse(args, stderr); err != nil {
		return err
	}
	if result == "-" && c.change.From == "-" {
		return &operate.UsageError{Problem: "--result and --from can't both be stdin"}
	}
	var content []byte
	if result != "" {
		var err error
		if content, err = readResult(result); err != nil {
			return err
		}
	}
	var chosen []records.Settlement
	choose := func(given bool, s records.Settlement) {
		if given {
			chosen = append(chosen, s)
		}
	}
	choose(completed && content != nil, records.Complete(content))
	choose(completed && content == nil, records.CompleteWithoutResult())
	choose(failed != "", records.Fail(failed, message))
	choose(finish != "", records.FinishStep(finish, content))
	choose(decline != "", records.DeclineStep(decline))
	choose(undo != "", records.UndoStep(undo))
	if len(chosen) != 1 {
		return &operate.UsageError{Problem: "what became of it? One of --completed, --failed TYPE, --finish-step NAME, --decline-step NAME and --undo-step NAME"}
	}
	switch {
	case failed != "" && strings.TrimSpace(message) == "":
		return &operate.UsageError{Problem: "--failed needs --message: what duplicates are told"}
	case failed == "" && message != "":
		return &operate.UsageError{Problem: "--message is that of --failed"}
	case content != nil && !completed && finish == "":
		return &operate.UsageError{Problem: "--result is that of --completed, or of --finish-step"}
	}
	settlement := chosen[0]
	settlement.TTL = ttl
	if finish != "" || decline != "" || undo != "" {
		settlement.TTL = 0
	}
	c.change.Plan = func(ctx context.Context, desk *records.Desk, shown records.Record) (*records.Plan, error) {
		return desk.Settle(ctx, shown, settlement)
	}
	return c.make(ctx, stdout, stderr)
}

// readResult reads a result, which has to be JSON.
func readResult(name string) ([]byte, error) {
	content, err := readFile(name)
	if err != nil {
		return nil, &operate.UsageError{Problem: "--result: " + err.Error()}
	}
	if !json.Valid(content) {
		return nil, &operate.UsageError{Problem: "--result: it is not JSON. A text needs quotation marks"}
	}
	return []byte(strings.TrimSpace(string(content))), nil
}

func readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

func runForget(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := newChanging("forget", "The next request of the key runs, whatever has happened before.\n")
	if err := c.parse(args, stderr); err != nil {
		return err
	}
	c.change.Plan = func(ctx context.Context, desk *records.Desk, shown records.Record) (*records.Plan, error) {
		return desk.Forget(ctx, shown)
	}
	return c.make(ctx, stdout, stderr)
}

func runResume(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := newChanging("resume", "The function gets the event that the record keeps (idempotent.Config.KeepEvent), or a given one, and goes on\nwhere its record says. Needs lambda:InvokeFunction.\n")
	var function operate.Function
	var event string
	c.flags.StringVar(&function.Name, "function", "", "the Lambda function, as NAME, NAME:ALIAS or ARN")
	c.flags.StringVar(&function.Endpoint, "lambda-endpoint", "", "where Lambda is, for one's own emulator (default the Region's)")
	c.flags.StringVar(&event, "event", "", "a file of the event, or - for stdin (default the one that the record keeps)")
	if err := c.parse(args, stderr); err != nil {
		return err
	}
	if function.Name == "" {
		return &operate.UsageError{Problem: "which function? Name it with --function"}
	}
	if event != "" && c.change.From != "" {
		return &operate.UsageError{Problem: "--event is that of one request, and --from has many: leave it out, and each gets the event that its record keeps"}
	}
	var given []byte
	if event != "" {
		var err error
		if given, err = readFile(event); err != nil {
			return &operate.UsageError{Problem: "--event: " + err.Error()}
		}
	}
	opened, err := c.table.Open(ctx, *c.desk)
	if err != nil {
		return err
	}
	c.change.Plan = func(ctx context.Context, desk *records.Desk, shown records.Record) (*records.Plan, error) {
		return desk.Resume(ctx, shown, records.Resumption{
			Event:  given,
			Invoke: func(ctx context.Context, event []byte) error { return function.Invoke(ctx, opened, shown, event) },
		})
	}
	return c.change.Make(ctx, opened, os.Stdin, stdout, stderr)
}
