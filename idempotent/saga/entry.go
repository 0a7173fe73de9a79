package saga

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent/internal/failure"
	"github.com/ikkai-go/idempotency/idempotent/internal/result"
)

// What is recorded of steps are entries of the record's steps: JSON texts under
// names that tell what they are. Entries are added and never changed, so that a
// write that comes twice, or late, does no harm.
//
//	reserve-stock              the step is finished
//	reserve-stock:started      a step that must run at most once is about to run
//	reserve-stock:declined     it is known not to have happened, and may run again
//	reserve-stock:started:2    it is about to, and so on
//	reserve-stock:compensated  the step is undone
//	:unwinding                 the call has failed for good, with this failure
//	:compensation              the first compensation that failed, with its error
const (
	startedSuffix     = ":started"
	declinedSuffix    = ":declined"
	compensatedSuffix = ":compensated"
	unwindingEntry    = ":unwinding"
	compensationEntry = ":compensation"
)

// cutEntryName takes the name of an entry apart: names of steps have no colon.
func cutEntryName(name string) (step, suffix string) {
	if at := strings.IndexByte(name, ':'); at >= 0 {
		return name[:at], name[at:]
	}
	return name, ""
}

// nth is the suffix of the nth entry of its kind; the first has no number.
func nth(suffix string, n int) string {
	if n == 1 {
		return suffix
	}
	return suffix + ":" + strconv.Itoa(n)
}

// cutNth takes a suffix apart that may have a number.
func cutNth(suffix string) (kind string, n int) {
	at := strings.LastIndexByte(suffix, ':')
	if at <= 0 {
		return suffix, 1
	}
	n, err := strconv.Atoi(suffix[at+1:])
	if err != nil || n < 2 || nth(suffix[:at], n) != suffix {
		return suffix, 0 // not of ours
	}
	return suffix[:at], n
}

// entry is what is recorded of a finished or started step.
type entry struct {
	// Order in which steps were finished, from 1.
	Order int `json:"order,omitempty"`
	// Output of the step, unless it could not be stored.
	Output  json.RawMessage `json:"output,omitempty"`
	Omitted bool            `json:"omitted,omitempty"`
	// Void says that the step has not happened, and that a late try of its writes must
	// not make it happen: the call goes backward.
	Void bool `json:"void,omitempty"`
	// Input is the digest of the step's input, if it has one.
	Input string `json:"input,omitempty"`
	// Compensable says that the step has to be undone where the call fails for good.
	Compensable bool `json:"compensable,omitempty"`
}

// decision is what is recorded of a call that has failed for good.
type decision struct {
	failure.Failure
	// Declined are the steps that were started, must run at most once, and are known
	// not to have happened.
	Declined []string `json:"declined,omitempty"`
}

// compensationFailure is what is recorded of a compensation that failed.
type compensationFailure struct {
	Step string `json:"step"`
	failure.Failure
}

// mustEncodeEntry encodes an entry of text and numbers, which always encodes.
func mustEncodeEntry(e any) []byte {
	stored, err := result.JSON(e)
	if err != nil {
		panic(err)
	}
	return stored
}

// decodeEntry is strict: what a later version may have written means something.
func decodeEntry(stored []byte, e any) error {
	decoder := json.NewDecoder(bytes.NewReader(stored))
	decoder.DisallowUnknownFields()
	return decoder.Decode(e)
}
