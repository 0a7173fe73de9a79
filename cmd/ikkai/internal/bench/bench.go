// Package bench measures what the toolkit costs: its calls beside the bare calls
// of the SDK that they are made of, its own part of them, and the work on keys
// beside encoding/json.
//
// The calls are measured against one endpoint in one run, by turns, so that
// whatever else the machine does falls on both sides alike.
package bench

import (
	"context"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/figures"
)

// Options says what to measure. The zero value measures against the embedded
// DynamoDB.
type Options struct {
	// Endpoint is the URL of a DynamoDB endpoint. Defaults to the embedded
	// DynamoDB, over loopback HTTP, served by another process: by this program,
	// called with the arguments "bench -serve" (see [Serve]).
	Endpoint string
	// Rounds is how often each call is measured. Defaults to 4000.
	Rounds int
}

// Report is what was measured.
type Report struct {
	Machine figures.Machine `json:"machine"`
	// Endpoint answered the calls.
	Endpoint string `json:"endpoint"`
	Rounds   int    `json:"rounds"`
	// ResultBytes is the size of the stored and replayed result.
	ResultBytes int    `json:"result_bytes"`
	Calls       []Call `json:"calls"`
	Own         []Own  `json:"own"`
	Keys        []Key  `json:"keys"`
}

// Run measures. It takes less than a minute with the default options.
func Run(ctx context.Context, options Options) (Report, error) {
	if options.Rounds <= 0 {
		options.Rounds = 4000
	}
	report := Report{
		Machine:     figures.ThisMachine(),
		Rounds:      options.Rounds,
		ResultBytes: resultBytes,
	}
	var err error
	if report.Endpoint, report.Calls, err = measureCalls(ctx, options); err != nil {
		return Report{}, err
	}
	if report.Own, err = measureOwn(ctx); err != nil {
		return Report{}, err
	}
	if report.Keys, err = measureKeys(ctx); err != nil {
		return Report{}, err
	}
	return report, nil
}
