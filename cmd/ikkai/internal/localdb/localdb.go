// Package localdb serves the embedded DynamoDB to local development: what a template or a word on the command line says of
// tables, items to begin with, and a line that tells what goes on.
package localdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Options say what is served, and how.
type Options struct {
	Host        string        // to listen on
	Port        int           // 0 for a free one
	Tables      []string      // as ParseTables reads them
	Seeds       []string      // files as DB.SeedJSON reads them
	Limits      bool          // throughput as on AWS
	ReadTimeout time.Duration // for a client to send a request
	IdleTimeout time.Duration // for a connection without a request
	Live        bool          // tell progress in a line that is written over and over
	Notes       io.Writer     // of what a template asks for and is not served
}

// shutdownTimeout is for requests that are under way when it is over.
const shutdownTimeout = 5 * time.Second

// Run serves until the context ends; then it lets the requests end that are under way, and tells out what was served. What
// can't be read or served is an error before anything is.
func Run(ctx context.Context, out io.Writer, options Options) error {
	var settings []dynamotest.Option
	if options.Limits {
		settings = append(settings, dynamotest.WithThroughputLimits())
	}
	db := dynamotest.Open(settings...)
	for _, given := range options.Tables {
		tables, err := ParseTables(given)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := t.create(ctx, db, options.Notes); err != nil {
				return err
			}
			fmt.Fprintf(out, "table %s\n", t.Name())
		}
	}
	for _, file := range options.Seeds {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		seeded, err := db.SeedJSON(content)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintf(out, "%d items of %s\n", seeded, file)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(options.Host, strconv.Itoa(options.Port)))
	if err != nil {
		return err
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		fmt.Fprintf(options.Notes, "whoever reaches %s can read and write all tables\n", listener.Addr())
	}
	fmt.Fprintf(out, "DynamoDB at http://%s, kept in memory until Ctrl+C\n", listener.Addr())
	return serve(ctx, out, listener, db, options)
}

func serve(ctx context.Context, out io.Writer, listener net.Listener, handler http.Handler, options Options) error {
	traffic := &traffic{next: handler}
	server := &http.Server{
		Handler: traffic, ReadHeaderTimeout: options.ReadTimeout, ReadTimeout: options.ReadTimeout, IdleTimeout: options.IdleTimeout,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var ticks <-chan time.Time
	if options.Live {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-ticks:
			fmt.Fprintf(out, "\r\x1b[K%s", traffic)
		case err := <-served:
			return err
		case <-ctx.Done():
			if options.Live {
				fmt.Fprint(out, "\r\x1b[K")
			}
			patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer cancel()
			err := server.Shutdown(patience)
			if err != nil {
				err = fmt.Errorf("breaking what is still under way: %w", errors.Join(err, server.Close()))
			}
			if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
				err = errors.Join(err, ended)
			}
			fmt.Fprintf(out, "%s; nothing is kept\n", traffic)
			return err
		}
	}
}
