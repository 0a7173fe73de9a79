package coldstart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/figures"
)

// Warmth is what it changes, over TLS, that the wrapped function opens its connection in the
// init phase (IDEMPOTENCY_WARM) and not with the first event.
type Warmth struct {
	Spans []WarmSpan `json:"spans"`
	// LeftOut says why there is no throttled CPU among the spans; empty if there is.
	LeftOut string `json:"left_out,omitempty"`
}

// WarmSpan is how long a part of a cold start takes without and with it.
type WarmSpan struct {
	CPU  string `json:"cpu"`
	Name string `json:"name"`
	Cold Spread `json:"cold"`
	Warm Spread `json:"warm"`
	// Added is negative where time is saved.
	Added Added `json:"added"`
}

// measureWarm starts the wrapped function by turns without and with it, with a whole CPU and
// with the share that a small function has.
func measureWarm(ctx context.Context, db http.Handler, binary, folder string, rounds int) (w Warmth, err error) {
	bundle := filepath.Join(folder, "ca.pem")
	server, err := serveTLS(ctx, db, bundle)
	if err != nil {
		return Warmth{}, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	settings := variables(server.url)
	settings["AWS_CA_BUNDLE"] = bundle

	start := &starter{variables: settings}
	if w.Spans, err = start.warmSpans(ctx, binary, rounds); err != nil {
		return Warmth{}, err
	}
	if unavailable := tryThrottle(controlGroups); unavailable != nil {
		w.LeftOut = unavailable.Error()
		return w, nil
	}
	for _, start.cpu = range []cpu{smallCPU, smallAfterInit} {
		spans, err := start.warmSpans(ctx, binary, rounds)
		if ctx.Err() != nil {
			return Warmth{}, err
		}
		if err != nil { // the rest of the report stands without it
			w.LeftOut = fmt.Sprintf("with %v of a CPU: %v", start.cpu, err)
			return w, nil
		}
		w.Spans = append(w.Spans, spans...)
	}
	return w, nil
}

func (s *starter) warmSpans(ctx context.Context, binary string, rounds int) ([]WarmSpan, error) {
	cold := &function{name: "cold", binary: binary}
	warm := &function{name: "warm", binary: binary, variables: map[string]string{"IDEMPOTENCY_WARM": "true"}}
	if err := byTurns(ctx, rounds, [2]*function{cold, warm}, s.process); err != nil {
		return nil, err
	}
	span := func(name string, cold, warm figures.Durations) WarmSpan {
		all := newSpan(name, cold, warm)
		return WarmSpan{CPU: s.cpu.String(), Name: name, Cold: all.Bare, Warm: all.Wrapped, Added: all.Added}
	}
	return []WarmSpan{
		span("process start → first poll", cold.measured.poll, warm.measured.poll),
		span("first event → its answer", cold.measured.invocation, warm.measured.invocation),
		span("process start → first answer", cold.measured.answer, warm.measured.answer),
	}, nil
}

func (w Warmth) writeMarkdown(to io.Writer, rounds int) error {
	fmt.Fprint(to, "\n## IDEMPOTENCY_WARM, over TLS\n\n")
	fmt.Fprintf(to, "The wrapped function without (cold) and with its connection opened in the init phase (warm); %d starts of each, by turns.\n\n", rounds)
	table := figures.NewTable("CPU", "", "cold p50", "p90", "warm p50", "p90", "added p50", "between (95 %)")
	for _, s := range w.Spans {
		table.Row(s.CPU, s.Name,
			figures.Duration(s.Cold.P50), figures.Duration(s.Cold.P90),
			figures.Duration(s.Warm.P50), figures.Duration(s.Warm.P90),
			figures.Duration(s.Added.P50), figures.Duration(s.Added.Low)+" and "+figures.Duration(s.Added.High))
	}
	if err := table.Write(to); err != nil || w.LeftOut == "" {
		return err
	}
	_, err := fmt.Fprintf(to, "\nNOT MEASURED with a throttled CPU: %s\n", w.LeftOut)
	return err
}
