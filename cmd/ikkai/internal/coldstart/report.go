package coldstart

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/figures"
)

// Report is what was measured.
type Report struct {
	Machine figures.Machine `json:"machine"`
	// Rounds is how often each function was started, in either way.
	Rounds int    `json:"rounds"`
	Spans  []Span `json:"spans"`
	Warmth Warmth `json:"warmth"`
	Size   Size   `json:"size"`
}

// Span is how long a part of a cold start takes by hand and with the toolkit.
type Span struct {
	Name    string `json:"name"`
	Bare    Spread `json:"bare"`
	Wrapped Spread `json:"wrapped"`
	Added   Added  `json:"added"`
}

// Spread says how much the starts of one function differ.
type Spread struct {
	P50 time.Duration `json:"p50_ns"`
	P90 time.Duration `json:"p90_ns"`
}

// Added is what the toolkit adds to the bare function's start of the same round:
// the median, and the bounds that the true median lies between with a probability
// of 95 %. Where one of them is negative and the other is not, the difference is
// less than can be measured in so many rounds.
type Added struct {
	P50  time.Duration `json:"p50_ns"`
	Low  time.Duration `json:"low_ns"`
	High time.Duration `json:"high_ns"`
}

// Size is how large the binaries are, in bytes.
type Size struct {
	Bare    int64 `json:"bare_bytes"`
	Wrapped int64 `json:"wrapped_bytes"`
	Added   int64 `json:"added_bytes"`
}

func newReport(bare, wrapped *function, warmth Warmth) Report {
	b, w := bare.measured, wrapped.measured
	return Report{
		Machine: figures.ThisMachine(),
		Rounds:  len(b.poll),
		Spans: []Span{
			newSpan("process start → first poll", b.poll, w.poll),
			newSpan("first invocation", b.invocation, w.invocation),
			newSpan("process start → first answer", b.answer, w.answer),
			newSpan("CPU time of the process", b.cpu, w.cpu),
			newSpan("event → answer, in the emulator", b.emulated, w.emulated),
		},
		Warmth: warmth,
		Size:   Size{Bare: bare.size, Wrapped: wrapped.size, Added: wrapped.size - bare.size},
	}
}

// newSpan compares durations of which the n-th on both sides are of one round.
func newSpan(name string, bare, wrapped figures.Durations) Span {
	differences := make(figures.Durations, len(bare))
	for i := range differences {
		differences[i] = wrapped[i] - bare[i]
	}
	low, high := differences.MedianBetween()
	return Span{
		Name: name, Bare: spreadOf(bare), Wrapped: spreadOf(wrapped),
		Added: Added{P50: differences.Quantile(0.5), Low: low, High: high},
	}
}

func spreadOf(d figures.Durations) Spread {
	return Spread{P50: d.Quantile(0.5), P90: d.Quantile(0.9)}
}

// WriteJSON writes the report as one JSON document. Durations are nanoseconds.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteMarkdown writes the report as tables that are readable as they are.
func (r Report) WriteMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "%v\n\n## Cold start\n\n", r.Machine)
	fmt.Fprintf(w, "One function, its idempotency written by hand (bare) and with the toolkit (wrapped); %d starts of each, by turns.\n\n", r.Rounds)
	spans := figures.NewTable("", "bare p50", "p90", "wrapped p50", "p90", "added p50", "between (95 %)")
	for _, s := range r.Spans {
		spans.Row(s.Name,
			figures.Duration(s.Bare.P50), figures.Duration(s.Bare.P90),
			figures.Duration(s.Wrapped.P50), figures.Duration(s.Wrapped.P90),
			figures.Duration(s.Added.P50), figures.Duration(s.Added.Low)+" and "+figures.Duration(s.Added.High))
	}
	if err := spans.Write(w); err != nil {
		return err
	}
	if err := r.Warmth.writeMarkdown(w, r.Rounds); err != nil {
		return err
	}
	fmt.Fprint(w, "\n## Binary\n\nAs deployed: without cgo, symbols and the go1.x runtime's RPC server.\n\n")
	size := figures.NewTable("", "bare", "wrapped", "added")
	size.Row("size", figures.Bytes(r.Size.Bare), figures.Bytes(r.Size.Wrapped), figures.Bytes(r.Size.Added))
	size.Row("bytes", strconv.FormatInt(r.Size.Bare, 10), strconv.FormatInt(r.Size.Wrapped, 10), strconv.FormatInt(r.Size.Added, 10))
	return size.Write(w)
}
