// Package stepentry is the form of what the engine records in a record's steps and results:
// one owner for what package saga writes and operators read.
package stepentry

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
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
	Started      = ":started"
	Declined     = ":declined"
	Compensated  = ":compensated"
	Unwinding    = ":unwinding"
	Compensation = ":compensation"
)

// CutName takes the name of an entry apart: names of steps have no colon.
func CutName(name string) (step, suffix string) {
	if at := strings.IndexByte(name, ':'); at >= 0 {
		return name[:at], name[at:]
	}
	return name, ""
}

// Nth is the suffix of the nth entry of its kind; the first has no number.
func Nth(suffix string, n int) string {
	if n == 1 {
		return suffix
	}
	return suffix + ":" + strconv.Itoa(n)
}

// CutNth takes a suffix apart that may have a number; 0 is of one that Nth does not make.
func CutNth(suffix string) (kind string, n int) {
	at := strings.LastIndexByte(suffix, ':')
	if at <= 0 {
		return suffix, 1
	}
	n, err := strconv.Atoi(suffix[at+1:])
	if err != nil || n < 2 || Nth(suffix[:at], n) != suffix {
		return suffix, 0
	}
	return suffix[:at], n
}

// Entry is what is recorded of a finished or started step.
type Entry struct {
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

// Failure is how a failure is stored. The names are those of Lambda's own error responses.
type Failure struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Encode returns the JSON of a failure. Two strings always encode.
func (f Failure) Encode() []byte {
	stored, _ := json.Marshal(f)
	return stored
}

// Decision is what is recorded of a call that has failed for good.
type Decision struct {
	Failure
	// Declined are the steps that were started, must run at most once, and are known
	// not to have happened.
	Declined []string `json:"declined,omitempty"`
}

// CompensationFailure is what is recorded of a compensation that failed.
type CompensationFailure struct {
	Step string `json:"step"`
	Failure
}

// Decode is strict: what a later version may have written means something.
func Decode(stored []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(stored))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
