package storetest

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

func success(result string) persistence.Outcome {
	return persistence.Outcome{
		Status:    persistence.StatusCompleted,
		Result:    []byte(result),
		ExpiresAt: start.Add(recordLength).Truncate(time.Second),
	}
}

func failure(result string) persistence.Outcome {
	o := success(result)
	o.Status = persistence.StatusFailed
	return o
}

func withoutResult() persistence.Outcome {
	o := success("")
	o.ResultOmitted = true
	return o
}

// differences compares what the contract says about records, in the units it
// says it in; it is empty where there are none. Of a finished record the lease
// and the steps no longer matter, and its attempts need not be known.
func differences(want, got persistence.Record) string {
	var lines strings.Builder
	compare := func(field string, same bool, want, got any) {
		if !same {
			fmt.Fprintf(&lines, "\t%s: want %v, got %v\n", field, want, got)
		}
	}
	compare("Key", want.Key == got.Key, want.Key, got.Key)
	compare("Status", want.Status == got.Status, want.Status, got.Status)
	compare("Owner", want.Owner == got.Owner, want.Owner, got.Owner)
	compare("ExpiresAt", want.ExpiresAt.Unix() == got.ExpiresAt.Unix(), clock(want.ExpiresAt), clock(got.ExpiresAt))
	compare("Fingerprint", want.Fingerprint == got.Fingerprint, quote(want.Fingerprint), quote(got.Fingerprint))
	compare("Result", bytes.Equal(want.Result, got.Result), quote(want.Result), quote(got.Result))
	compare("ResultOmitted", want.ResultOmitted == got.ResultOmitted, want.ResultOmitted, got.ResultOmitted)
	if want.Status.Finished() {
		compare("Attempt", got.Attempt == 0 || want.Attempt == got.Attempt, want.Attempt, got.Attempt)
		return lines.String()
	}
	if want.Status == persistence.StatusProcessing {
		compare("LeaseUntil", want.LeaseUntil.UnixMilli() == got.LeaseUntil.UnixMilli(), clock(want.LeaseUntil), clock(got.LeaseUntil))
	}
	compare("Steps", maps.EqualFunc(want.Steps, got.Steps, bytes.Equal), stepList(want.Steps), stepList(got.Steps))
	compare("Attempt", want.Attempt == got.Attempt, want.Attempt, got.Attempt)
	return lines.String()
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// quote shows text of any length in one line.
func quote[T string | []byte](text T) string {
	const enough = 60
	if len(text) <= enough {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q… (%d bytes)", text[:enough], len(text))
}

// stepList shows steps in the order of their names.
func stepList(steps map[string][]byte) string {
	shown := make(map[string]string, len(steps))
	for name, output := range steps {
		shown[name] = quote(output)
	}
	return fmt.Sprint(shown)
}
