package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/figures"
)

// WriteJSON writes the report as one JSON document. Durations are nanoseconds.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteMarkdown writes the report as tables that are readable as they are.
func (r Report) WriteMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "%v\n\n", r.Machine)
	fmt.Fprintf(w, "## Calls\n\n%s; results of %s; %d rounds, each call by turns.\n\n", r.Endpoint, figures.Bytes(int64(r.ResultBytes)), r.Rounds)
	calls := figures.NewTable("call", "requests", "p50", "p99", "p50 against bare", "against the requests", "against by hand")
	for _, c := range r.Calls {
		calls.Row(c.Name, fmt.Sprint(c.Requests), figures.Duration(c.P50), figures.Duration(c.P99), ratioText(c.AgainstBare), ratioText(c.AgainstSame), ratioText(c.AgainstHand))
	}
	if err := calls.Write(w); err != nil {
		return err
	}
	fmt.Fprint(w, "\n## The toolkit's own work\n\nThe same calls, with a client that answers at once: neither network nor SDK.\n\n")
	own := figures.NewTable("call", "time", "memory", "allocs")
	for _, o := range r.Own {
		own.Row(o.Name, figures.Duration(o.Cost.time()), figures.Bytes(o.Cost.Bytes), fmt.Sprint(o.Cost.Allocs))
	}
	if err := own.Write(w); err != nil {
		return err
	}
	fmt.Fprint(w, "\n## Keys\n\nWithout any request, against what encoding/json takes by hand.\n\n")
	keys := figures.NewTable("key", "payload", "time", "memory", "allocs", "by hand", "memory", "allocs", "time against by hand", "against decoding")
	for _, k := range r.Keys {
		keys.Row(
			"`"+k.Expression+"`", figures.Bytes(int64(k.PayloadBytes)),
			figures.Duration(k.Toolkit.time()), figures.Bytes(k.Toolkit.Bytes), fmt.Sprint(k.Toolkit.Allocs),
			figures.Duration(k.Baseline.time()), figures.Bytes(k.Baseline.Bytes), fmt.Sprint(k.Baseline.Allocs),
			ratioText(k.Ratio), ratioText(k.AgainstDecoding),
		)
	}
	if err := keys.Write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for i, k := range r.Keys {
		if i == 0 || k.Expression != r.Keys[i-1].Expression {
			fmt.Fprintf(w, "By hand, `%s`: %s.\n", k.Expression, k.BaselineDoes)
		}
	}
	fmt.Fprintln(w, "Decoding: Unmarshal of the payload into any, and no more.")
	return nil
}

func (c Cost) time() time.Duration { return time.Duration(c.Nanoseconds) }

// ratioText leaves a cell empty where there is nothing to compare.
func ratioText(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f×", ratio)
}
