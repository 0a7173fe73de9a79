package coldstart

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/figures"
)

func TestWhatIsAddedIsComparedRoundByRound(t *testing.T) {
	ms := time.Millisecond
	// The third round was slow for both, which is not the toolkit's doing.
	got := newSpan("answer", figures.Durations{10 * ms, 12 * ms, 90 * ms}, figures.Durations{11 * ms, 14 * ms, 93 * ms})
	want := Span{
		Name:    "answer",
		Bare:    Spread{P50: 12 * ms, P90: 90 * ms},
		Wrapped: Spread{P50: 14 * ms, P90: 93 * ms},
		Added:   Added{P50: 2 * ms, Low: 1 * ms, High: 3 * ms},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSizesAreCompared(t *testing.T) {
	got := newReport(&function{size: 1000}, &function{size: 1100}, Warmth{}).Size
	if want := (Size{Bare: 1000, Wrapped: 1100, Added: 100}); got != want {
		t.Errorf("the sizes are %+v, want %+v", got, want)
	}
}

var sample = Report{
	Machine: figures.Machine{OS: "linux", Arch: "arm64", Cores: 4, Go: "go1.26"},
	Rounds:  10,
	Spans: []Span{{
		Name: "answer",
		Bare: Spread{P50: 6 * time.Millisecond, P90: 7 * time.Millisecond}, Wrapped: Spread{P50: 6500 * time.Microsecond, P90: 8 * time.Millisecond},
		Added: Added{P50: 400 * time.Microsecond, Low: -20 * time.Microsecond, High: time.Millisecond},
	}},
	Warmth: Warmth{
		Spans: []WarmSpan{{
			CPU: "whole", Name: "answer",
			Cold: Spread{P50: 9 * time.Millisecond, P90: 10 * time.Millisecond}, Warm: Spread{P50: 4 * time.Millisecond, P90: 5 * time.Millisecond},
			Added: Added{P50: -5 * time.Millisecond, Low: -6 * time.Millisecond, High: -4 * time.Millisecond},
		}},
		LeftOut: "no control group",
	},
	Size: Size{Bare: 10 << 20, Wrapped: 10<<20 + 700<<10, Added: 700 << 10},
}

func TestMarkdown(t *testing.T) {
	var got bytes.Buffer
	if err := sample.WriteMarkdown(&got); err != nil {
		t.Fatal(err)
	}
	want := `linux/arm64, 4 cores, go1.26

## Cold start

One function, its idempotency written by hand (bare) and with the toolkit (wrapped); 10 starts of each, by turns.

|        | bare p50 | p90  | wrapped p50 | p90  | added p50 | between (95 %)  |
| ---    | ---      | ---  | ---         | ---  | ---       | ---             |
| answer | 6 ms     | 7 ms | 6.5 ms      | 8 ms | 400 µs    | -20 µs and 1 ms |

## IDEMPOTENCY_WARM, over TLS

The wrapped function without (cold) and with its connection opened in the init phase (warm); 10 starts of each, by turns.

| CPU   |        | cold p50 | p90   | warm p50 | p90  | added p50 | between (95 %)  |
| ---   | ---    | ---      | ---   | ---      | ---  | ---       | ---             |
| whole | answer | 9 ms     | 10 ms | 4 ms     | 5 ms | -5 ms     | -6 ms and -4 ms |

NOT MEASURED with a throttled CPU: no control group

## Binary

As deployed: without cgo, symbols and the go1.x runtime's RPC server.

|       | bare     | wrapped  | added  |
| ---   | ---      | ---      | ---    |
| size  | 10.0 MB  | 10.7 MB  | 700 KB |
| bytes | 10485760 | 11202560 | 716800 |
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONHoldsTheWholeReport(t *testing.T) {
	var got bytes.Buffer
	if err := sample.WriteJSON(&got); err != nil {
		t.Fatal(err)
	}
	var back Report
	decoder := json.NewDecoder(&got)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample, back); diff != "" {
		t.Error(diff)
	}
}
