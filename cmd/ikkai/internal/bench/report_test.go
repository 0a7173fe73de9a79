package bench

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/figures"
)

var sample = Report{
	Machine:     figures.Machine{OS: "linux", Arch: "arm64", Cores: 4, Go: "go1.26"},
	Endpoint:    "an endpoint",
	Rounds:      10,
	ResultBytes: 1 << 10,
	Calls: []Call{
		{Name: "bare", Requests: 2, P50: 100 * time.Microsecond, P99: 1234567 * time.Nanosecond},
		{Name: "toolkit", Requests: 2, P50: 105 * time.Microsecond, P99: 2 * time.Millisecond, AgainstBare: 1.05, AgainstSame: 1.02, AgainstHand: 0.98},
	},
	Own: []Own{{Name: "replay", Cost: Cost{12000, 4 << 10, 40}}},
	Keys: []Key{
		{Expression: "id", PayloadBytes: 1000, Toolkit: Cost{900, 64, 2}, Baseline: Cost{1800, 2 << 10, 20}, BaselineDoes: "this", Ratio: 0.5, AgainstDecoding: 0.125},
		{Expression: "id", PayloadBytes: 1 << 20, Toolkit: Cost{9000000, 3 << 20, 2}, Baseline: Cost{18000000, 2 << 10, 20}, BaselineDoes: "this", Ratio: 0.5, AgainstDecoding: 0.125},
		{Expression: "@", PayloadBytes: 32 << 10, Toolkit: Cost{1, 0, 0}, Baseline: Cost{1, 0, 0}, BaselineDoes: "that", Ratio: 1},
	},
}

func TestMarkdown(t *testing.T) {
	var got bytes.Buffer
	if err := sample.WriteMarkdown(&got); err != nil {
		t.Fatal(err)
	}
	want := `linux/arm64, 4 cores, go1.26

## Calls

an endpoint; results of 1 KB; 10 rounds, each call by turns.

| call    | requests | p50    | p99     | p50 against bare | against the requests | against by hand |
| ---     | ---      | ---    | ---     | ---              | ---                  | ---             |
| bare    | 2        | 100 µs | 1.23 ms |                  |                      |                 |
| toolkit | 2        | 105 µs | 2 ms    | 1.05×            | 1.02×                | 0.98×           |

## The toolkit's own work

The same calls, with a client that answers at once: neither network nor SDK.

| call   | time  | memory | allocs |
| ---    | ---   | ---    | ---    |
| replay | 12 µs | 4 KB   | 40     |

## Keys

Without any request, against what encoding/json takes by hand.

| key  | payload | time   | memory | allocs | by hand | memory | allocs | time against by hand | against decoding |
| ---  | ---     | ---    | ---    | ---    | ---     | ---    | ---    | ---                  | ---              |
| ` + "`id`" + ` | 1000 B  | 900 ns | 64 B   | 2      | 1.8 µs  | 2 KB   | 20     | 0.50×                | 0.12×            |
| ` + "`id`" + ` | 1.0 MB  | 9 ms   | 3.0 MB | 2      | 18 ms   | 2 KB   | 20     | 0.50×                | 0.12×            |
| ` + "`@`" + `  | 32 KB   | 1 ns   | 0 B    | 0      | 1 ns    | 0 B    | 0      | 1.00×                |                  |

By hand, ` + "`id`" + `: this.
By hand, ` + "`@`" + `: that.
Decoding: Unmarshal of the payload into any, and no more.
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
