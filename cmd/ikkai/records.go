package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/operate"
	"github.com/ikkai-go/idempotency/persistence/records"
)

var recordsCommands = []command{
	{name: "list", summary: "records by state, operation and age; those that are stuck", run: runList},
	{name: "show", summary: "one record: what is known of it, and what its request has done", run: runShow},
	{name: "key", summary: "the key of a request's record, from the customer's own data", run: runKey},
	{name: "settle", summary: "record what became of a request, or of one of its steps", run: runSettle},
	{name: "forget", summary: "remove a record: the next request runs", run: runForget},
	{name: "resume", summary: "send a request again that died or was given up", run: runResume},
}

func runRecords(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return dispatch(ctx, "ikkai records", recordsCommands, args, stdout, stderr, recordsNotes)
}

const recordsNotes = `
settle, forget and resume say what they would do. They do it with --yes and the
--version of the record that was shown, if it still is what was shown.

exit status: 0 done, 1 failed, 2 called wrongly, 3 no such record, 4 not done:
the record is not what was shown, is being run, or is in no state for it.
`

// deskFlags declares how records are judged.
func deskFlags(flags *flag.FlagSet) *records.Config {
	config := new(records.Config)
	flags.DurationVar(&config.PartialAfter, "partial-after", 15*time.Minute, "how long a request may stay given up after some of its steps before it counts as stuck")
	flags.DurationVar(&config.Margin, "margin", 10*time.Second, "by how much this machine's clock may be ahead of the functions'")
	return config
}

func runList(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var table operate.Table
	var listing operate.Listing
	var states string
	flags := newFlags("ikkai records list", "", "")
	table.Flags(flags)
	desk := deskFlags(flags)
	flags.StringVar(&states, "state", "", "those in these states, with commas between: "+strings.Join(stateNames(), ", "))
	flags.StringVar(&listing.Filter.Operation, "operation", "", "those of an operation")
	flags.StringVar(&listing.Filter.Tenant, "tenant", "", "those of a tenant, of an operation")
	flags.BoolVar(&listing.Filter.Stuck, "stuck", false, "those that are stuck")
	flags.Func("reason", "those that are stuck for this reason: run_died, not_resumed, outcome_unknown, compensation_failed, unreadable", func(name string) error {
		reason := records.Reason(name)
		if !slices.Contains([]records.Reason{records.StuckDied, records.StuckPartial, records.StuckUnknown, records.StuckUndoing, records.StuckUnreadable}, reason) {
			return errors.New("there is no such reason")
		}
		listing.Filter.Reason = reason
		return nil
	})
	flags.DurationVar(&listing.OlderThan, "older-than", 0, "those started longer ago, such as 15m")
	flags.IntVar(&listing.Limit, "limit", 0, "end after so many")
	flags.IntVar(&listing.Filter.Segments, "segments", 1, "read so many parts of the table side by side")
	flags.Float64Var(&listing.Filter.MaxUnits, "max-units", 10_000, "end after so many read units; 0 for no limit")
	flags.Float64Var(&listing.Filter.UnitsPerSecond, "units-per-second", 0, "read no faster; 0 for no limit")
	flags.BoolVar(&listing.JSON, "json", false, "one JSON object a line")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	if states != "" {
		for name := range strings.SplitSeq(states, ",") {
			if !slices.Contains(stateNames(), name) {
				return &operate.UsageError{Problem: fmt.Sprintf("--state %q is none of %s", name, strings.Join(stateNames(), ", "))}
			}
			listing.Filter.States = append(listing.Filter.States, records.State(name))
		}
	}
	if isTerminal(stderr) {
		listing.Progress = stderr
	}
	f := listing.Filter
	if f.Tenant != "" && f.Operation == "" {
		return &operate.UsageError{Problem: "--tenant needs an --operation"}
	}
	if f.Segments < 1 || f.Segments > 256 || f.MaxUnits < 0 || f.UnitsPerSecond < 0 || listing.Limit < 0 || listing.OlderThan < 0 {
		return &operate.UsageError{Problem: "--segments is 1 to 256, and no other limit is negative"}
	}
	opened, err := table.Open(ctx, *desk)
	if err != nil {
		return err
	}
	return operate.List(ctx, opened, listing, stdout, stderr)
}

func stateNames() []string {
	return []string{string(records.StateRunning), string(records.StateDied), string(records.StatePartial), string(records.StateCompleted), string(records.StateFailed), string(records.StateExpired), string(records.StateUnreadable)}
}

func runShow(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var table operate.Table
	var showing operate.Showing
	flags := newFlags("ikkai records show", "KEY", "")
	table.Flags(flags)
	desk := deskFlags(flags)
	flags.BoolVar(&showing.Contents, "contents", false, "show result, event and outputs too; they may be a customer's")
	flags.BoolVar(&showing.JSON, "json", false, "as JSON, with contents in base64")
	var err error
	if showing.Key, err = parseWithArgument(flags, args, stderr); err != nil {
		return err
	}
	opened, err := table.Open(ctx, *desk)
	if err != nil {
		return err
	}
	return operate.Show(ctx, opened, showing, stdout)
}

func runKey(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	search := operate.Search{Claims: make(map[string]string)}
	flags := newFlags("ikkai records key", "", `The key is made as the function makes it, from one of:
  an event and the guard's expression   --operation payment --event event.json --key body.order_id
  an event of an HTTP API               --operation payment --event event.json --http --scope jwt-subject
  an Idempotency-Key and its sender     --operation payment --idempotency-key 8e03 --scope jwt-subject --claim iss=… --claim sub=…
  the text that it selects, or Do gets  --operation payment --value order-4711
  a batch and its item                  --operation payroll --batch 2026-11 --item 123
`)
	flags.StringVar(&search.Operation, "operation", "", "the guard's Operation")
	flags.StringVar(&search.Tenant, "tenant", "", "the tenant, where Lambda isolates tenants")
	flags.StringVar(&search.Event, "event", "", "a file of the event, or - for stdin")
	flags.StringVar(&search.Key, "key", "", "the guard's Key, a JMESPath expression (default the whole event)")
	flags.StringVar(&search.Value, "value", "", "the text that the expression selects, or that Do was given; a number is none")
	flags.StringVar(&search.Batch, "batch", "", "the Name of a batch")
	flags.StringVar(&search.Item, "item", "", "the ID of an item of it")
	flags.BoolVar(&search.HTTP, "http", false, "the event is that of an HTTP API")
	flags.StringVar(&search.IdempotencyKey, "idempotency-key", "", "the header of a request")
	flags.StringVar(&search.Scope, "scope", "none", "whose keys they are: none, jwt-subject, api-key, iam-principal, iam-role, claim:NAME, authorizer:NAME, header:NAME")
	flags.Func("claim", "a claim of the sender's token, as NAME=VALUE; may be repeated", func(given string) error {
		name, value, ok := strings.Cut(given, "=")
		if !ok {
			return errors.New("it is not NAME=VALUE")
		}
		search.Claims[name] = value
		return nil
	})
	flags.StringVar(&search.APIKeyID, "api-key-id", "", "the identifier of the sender's API key")
	flags.StringVar(&search.IAM, "iam", "", "the unique identifier of the sender's IAM principal")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	return operate.FindKey(ctx, search, os.Stdin, stdout)
}
