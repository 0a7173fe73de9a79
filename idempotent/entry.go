package idempotent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
)

// What is recorded of steps are entries of the record's steps: JSON texts under
// names that tell what they are. Entries are added and never changed, so that a
// write that comes twice, or late, does no harm.
//
//	reserve-stock              the step is finished
//	reserve-stock:started      a step that must run at most once is about to run
//	reserve-stock:compensated  the step is undone
//	:unwinding                 the call has failed for good, with this failure
//	:compensation              the first compensation that failed, with its error
const (
	finishedSuffix    = ":" // as it is read; it is not written
	startedSuffix     = ":started"
	compensatedSuffix = ":compensated"
	unwindingEntry    = ":unwinding"
	compensationEntry = ":compensation"
)

// entry is what is recorded of a finished or started step.
type entry struct {
	// Order in which steps were finished, from 1.
	Order int `json:"order,omitempty"`
	// Output of the step, unless it could not be stored.
	Output  json.RawMessage `json:"output,omitempty"`
	Omitted bool            `json:"omitted,omitempty"`
	// Input is the digest of the step's input, if it has one.
	Input string `json:"input,omitempty"`
	// Compensable says that the step has to be undone where the call fails for good.
	Compensable bool `json:"compensable,omitempty"`

	omit error // why the output could not be stored
}

// compensationFailure is what is recorded of a compensation that failed.
type compensationFailure struct {
	Step string `json:"step"`
	failure
}

// encodeEntry encodes what is recorded; all of it always encodes.
func encodeEntry(e any) []byte {
	var stored bytes.Buffer
	encoder := json.NewEncoder(&stored)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		panic(err) // outputs were encoded before, the rest is text and numbers
	}
	return bytes.TrimSuffix(stored.Bytes(), []byte("\n"))
}

// decodeEntry is strict: what a later version may have written means something.
func decodeEntry(stored []byte, e any) error {
	decoder := json.NewDecoder(bytes.NewReader(stored))
	decoder.DisallowUnknownFields()
	return decoder.Decode(e)
}

// history is what a record says of the steps of earlier attempts.
type history struct {
	steps     map[string]*stepState
	unwinding []byte // the recorded failure; nil while the call goes forward
	noted     bool   // a failed compensation
	last      int    // order of the step that was finished last
}

// stepState is what is known of a step.
type stepState struct {
	name        string
	finished    *entry
	started     *entry
	compensated bool

	// In this attempt.
	call     *step // that came last
	running  bool
	reached  bool // it has succeeded, or was recalled
	known    bool // the call has the output
	declined bool // its function has failed for good: it has not happened
	// unrecorded says that it is finished, and that the record may not say so.
	unrecorded bool
}

// readHistory reads a record's steps; declares tells which of them are known.
func readHistory(r persistence.Record, declares func(string) bool) (history, error) {
	h := history{steps: make(map[string]*stepState)}
	for name, stored := range r.Steps {
		step, kind, _ := strings.Cut(name, ":")
		err := h.read(step, ":"+kind, stored)
		if step != "" && !declares(step) {
			err = fmt.Errorf("%w: an earlier attempt has recorded it, and Config.Steps does not declare it", ErrUnknownStep)
		}
		if err != nil {
			return h, &StepError{Key: r.Key, Step: name, Err: err}
		}
	}
	return h, nil
}

func (h *history) read(step, kind string, stored []byte) error {
	var err error
	switch kind {
	case finishedSuffix:
		s := h.of(step)
		s.finished = new(entry)
		err = decodeEntry(stored, s.finished)
		h.last = max(h.last, s.finished.Order)
	case startedSuffix:
		s := h.of(step)
		s.started = new(entry)
		err = decodeEntry(stored, s.started)
	case compensatedSuffix:
		h.of(step).compensated = true
	case unwindingEntry:
		h.unwinding = stored
	case compensationEntry:
		h.noted = true
	default:
		err = fmt.Errorf("an unknown kind of entry")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", persistence.ErrUnreadable, err)
	}
	return nil
}

// of returns the state of a step, which may be new.
func (h *history) of(name string) *stepState {
	s := h.steps[name]
	if s == nil {
		s = &stepState{name: name}
		h.steps[name] = s
	}
	return s
}

// done returns the steps that are finished, and not undone, in the order in which
// they were finished.
func (h *history) done() []*stepState {
	var done []*stepState
	for _, s := range h.steps {
		if s.finished != nil && !s.compensated {
			done = append(done, s)
		}
	}
	slices.SortFunc(done, func(a, b *stepState) int {
		return cmp.Or(cmp.Compare(a.finished.Order, b.finished.Order), strings.Compare(a.name, b.name))
	})
	return done
}

// toUndo returns the steps that a failure for good has to undo, in the order in
// which it does: also those of which it is not known whether they have happened.
func (h *history) toUndo() []*stepState {
	var undo []*stepState
	for _, s := range h.steps {
		if s.finished == nil && s.started != nil && s.started.Compensable && !s.declined {
			undo = append(undo, s)
		}
	}
	slices.SortFunc(undo, func(a, b *stepState) int { return strings.Compare(a.name, b.name) })
	done := h.done()
	slices.Reverse(done)
	for _, s := range done {
		if s.finished.Compensable {
			undo = append(undo, s)
		}
	}
	return undo
}

// names returns the names of steps.
func names(steps []*stepState) []string {
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	return names
}
