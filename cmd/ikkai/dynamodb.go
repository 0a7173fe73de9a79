package main

import (
	"context"
	"flag"
	"io"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/localdb"
)

func runDynamoDB(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	options := localdb.Options{Notes: stderr}
	flags := flag.NewFlagSet("ikkai dynamodb", flag.ContinueOnError)
	flags.StringVar(&options.Host, "host", "127.0.0.1", "address to listen on; nobody is asked for a password there")
	flags.IntVar(&options.Port, "port", 8000, "port to listen on; 0 for a free one")
	flags.Var((*list)(&options.Tables), "table", "a table, as name=key or name=key,sort:N; or the tables of a template.yaml, or FILE#LogicalID of it; may be repeated")
	flags.Var((*list)(&options.Seeds), "seed", "a JSON file of items by table, as batch-write-item takes them or without PutRequest; may be repeated")
	flags.BoolVar(&options.Limits, "throughput-limits", false, "throttle as AWS does: 1,000 writes and 3,000 reads a second and partition, and what is provisioned")
	flags.DurationVar(&options.ReadTimeout, "read-timeout", 30*time.Second, "for a client to send a request")
	flags.DurationVar(&options.IdleTimeout, "idle-timeout", 2*time.Minute, "for a connection without a request")
	if err := parse(flags, args, stderr); err != nil {
		return err
	}
	options.Live = isTerminal(stdout)
	return localdb.Run(ctx, stdout, options)
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}
