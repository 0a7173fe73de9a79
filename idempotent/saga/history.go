package saga

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/internal/stepentry"
	"github.com/ikkai-go/idempotency/persistence"
)

// phase is how far a step has come.
type phase int

const (
	// open: it has not happened, as far as is known.
	open phase = iota
	// begun: it must run at most once, and may have happened.
	begun
	// declined: it was begun, and is known not to have happened.
	declined
	// pending: its function has succeeded in this attempt, and the record may not say
	// so. If its effect is writes, it has happened only if they arrived.
	pending
	// finished: the record has it.
	finished
	// undone: the record says so.
	undone
)

// stepState is what is known of a step.
type stepState struct {
	name     string
	declared *definition // nil for a step that is not
	phase    phase
	entry    entry // unless it is open
	// How often it was started, and was found not to have happened after all, as recorded.
	starts, declines int

	// In this attempt.
	output  *output // nil until it is asked for
	running bool
	arrived bool    // the call has the output
	late    bool    // a try of its writes, of which nothing is known, may still arrive
	unsent  *ending // of a pending step: what would finish it
}

// compensable tells whether the step has to be undone: because it had a compensation
// when it was finished, or has one now.
func (s *stepState) compensable() bool { return s.entry.Compensable || s.declared.compensates }

// held returns the step's output in this attempt.
func (s *stepState) held() *output {
	if s.output == nil {
		s.output = s.declared.hold()
	}
	return s.output
}

// history is the steps of a call, of this attempt and of those before.
type history struct {
	declared declared
	steps    map[string]*stepState
	decision *decision // that the call goes backward, if it does
	noted    bool      // a compensation that failed
	last     int       // order of the step that was finished last
}

// readHistory reads a record's steps. The error is a *StepError.
func readHistory(r persistence.Record, declared declared) (history, error) {
	h := history{declared: declared, steps: make(map[string]*stepState)}
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		step, suffix := stepentry.CutName(name)
		err := h.read(step, suffix, r.Steps[name])
		if step != "" && declared.lookup(step) == nil {
			err = fmt.Errorf("%w: an earlier attempt has recorded it, and Config.Steps does not declare it", ErrUnknownStep)
		}
		if err != nil {
			return h, &StepError{Key: r.Key, Step: name, Err: err}
		}
	}
	for _, s := range h.steps {
		s.starts = max(s.starts, s.declines) // the start may still arrive, and be late
		if s.phase == begun && s.declines == s.starts {
			s.phase = declined
		}
	}
	if h.decision != nil {
		for _, name := range h.decision.Declined {
			h.of(name).reach(declined, entry{})
		}
	}
	return h, nil
}

func (h *history) read(step, suffix string, stored []byte) error {
	var e entry
	var err error
	kind, n := stepentry.CutNth(suffix)
	switch kind {
	case "":
		if err = stepentry.Decode(stored, &e); e.Void {
			h.of(step).reach(undone, e)
			break
		}
		h.of(step).reach(finished, e)
		h.last = max(h.last, e.Order)
	case startedSuffix:
		err = stepentry.Decode(stored, &e)
		h.of(step).reach(begun, e)
		h.of(step).starts = max(h.of(step).starts, n)
	case declinedSuffix:
		h.of(step).declines = max(h.of(step).declines, n)
	case compensatedSuffix:
		h.of(step).reach(undone, e)
	case unwindingEntry:
		h.decision = new(decision)
		err = stepentry.Decode(stored, h.decision)
	case compensationEntry:
		h.noted = true
	default:
		err = errors.New("an unknown kind of entry")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", persistence.ErrUnreadable, err)
	}
	return nil
}

// reach notes what an entry says of the step. Entries come in any order, and each
// one's phase includes those before it.
func (s *stepState) reach(p phase, e entry) {
	if p < s.phase {
		return
	}
	s.phase = p
	if p == begun || p == finished {
		s.entry = e
	}
}

// of returns the state of a step, which may be new.
func (h *history) of(name string) *stepState {
	s := h.steps[name]
	if s == nil {
		s = &stepState{name: name, declared: h.declared.lookup(name)}
		h.steps[name] = s
	}
	return s
}

// in returns the steps in any of the phases, in the order in which they were
// finished; those that are not, by name and in front.
func (h *history) in(phases ...phase) []*stepState {
	var steps []*stepState
	for _, s := range h.steps {
		if slices.Contains(phases, s.phase) {
			steps = append(steps, s)
		}
	}
	slices.SortFunc(steps, func(a, b *stepState) int {
		return cmp.Or(cmp.Compare(a.entry.Order, b.entry.Order), strings.Compare(a.name, b.name))
	})
	return steps
}

// toUndo returns the steps that a failure for good has to undo, in the order in
// which it does: first those of which it is not known whether they have happened.
func (h *history) toUndo() []*stepState {
	done := h.in(pending, finished)
	slices.Reverse(done)
	return slices.DeleteFunc(append(h.in(begun), done...), func(s *stepState) bool { return !s.compensable() })
}

// lateComers returns the steps that have not happened, as far as is known, and that would
// have to be undone if a try of their writes arrived after all.
func (h *history) lateComers() []*stepState {
	return slices.DeleteFunc(h.in(open, begun, declined), func(s *stepState) bool { return !s.late || !s.compensable() })
}

// names returns the names of steps.
func names(steps []*stepState) []string {
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	return names
}
