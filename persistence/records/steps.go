package records

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/ikkai-go/idempotency/internal/stepentry"
	"github.com/ikkai-go/idempotency/persistence"
)

// Phase is how far a step has come.
type Phase string

const (
	// PhaseStarted is a step that must run at most once and was started: whether it has
	// happened is not known.
	PhaseStarted Phase = "started"
	// PhaseDeclined is one that was started, and is known not to have happened: it may run.
	PhaseDeclined Phase = "declined"
	// PhaseFinished is a step that has happened, and whose output is recorded.
	PhaseFinished Phase = "finished"
	// PhaseUndone is a step that was compensated, or can't happen any more because the
	// request has failed for good.
	PhaseUndone Phase = "undone"
	// PhaseUnreadable is one of which an entry can't be understood.
	PhaseUnreadable Phase = "unreadable"
)

// Step is what is recorded of a step. Steps that have left no entry are not seen.
type Step struct {
	Name  string `json:"name"`  // as the guard declares it
	Phase Phase  `json:"phase"` // how far it has come
	// Order in which it was finished, from 1; 0 where it was not, or is not opened.
	Order int `json:"order,omitempty"`
	// Starts is how often a step that must run at most once was started.
	Starts int `json:"starts,omitempty"`
	// Compensable says that it is undone where the request fails for good.
	Compensable bool `json:"compensable,omitempty"`
	// Output of a finished step; nil for others.
	Output *Value `json:"output,omitempty"`

	declines int
	entry    stepentry.Entry
}

// Undoing is how far undoing the steps of a request has come that has failed for good.
type Undoing struct {
	// ErrorType and Message are the failure. The message is a content, empty where the record
	// is not opened ([Desk.Open]), and so is the type where it is in an envelope.
	ErrorType string `json:"error_type,omitempty"`
	Message   string `json:"message,omitempty"`
	// Blocked says that a compensation has failed: of BlockedStep, with an error of the type
	// BlockedBy and BlockedMessage, which are hidden in the same way.
	Blocked        bool   `json:"blocked,omitempty"`
	BlockedStep    string `json:"blocked_step,omitempty"`
	BlockedBy      string `json:"blocked_by,omitempty"`
	BlockedMessage string `json:"blocked_message,omitempty"`

	message, blockedMessage string // as they are stored
}

// open shows the messages.
func (u *Undoing) open() { u.Message, u.BlockedMessage = u.message, u.blockedMessage }

// stepsOf reads the entries of a record's steps. What is in an envelope is known by its name.
func stepsOf(r persistence.Record) ([]Step, *Undoing) {
	steps := make(map[string]*Step)
	of := func(name string) *Step {
		if steps[name] == nil {
			steps[name] = &Step{Name: name}
		}
		return steps[name]
	}
	var undoing *Undoing
	var declined []string
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		step, suffix := stepentry.CutName(name)
		kind, n := stepentry.CutNth(suffix)
		stored := r.Steps[name]
		switch kind {
		case "":
			of(step).finish(stored)
		case stepentry.Started:
			of(step).start(n, stored)
		case stepentry.Declined:
			of(step).declines = max(of(step).declines, n)
		case stepentry.Compensated:
			of(step).Phase = PhaseUndone
		case stepentry.Unwinding:
			undoing = cmp.Or(undoing, new(Undoing))
			declined = undoing.decide(stored)
		case stepentry.Compensation:
			undoing = cmp.Or(undoing, new(Undoing))
			undoing.block(stored)
		default:
			of(step).Phase = PhaseUnreadable
		}
	}
	for _, name := range declined {
		if of(name).Phase == PhaseStarted || of(name).Phase == "" {
			of(name).Phase = PhaseDeclined
		}
	}
	if undoing != nil && steps[undoing.BlockedStep] != nil && steps[undoing.BlockedStep].Phase == PhaseUndone {
		undoing.Blocked = false // it was undone after all
	}
	return inOrder(steps), undoing
}

func inOrder(steps map[string]*Step) []Step {
	var all []Step
	for _, s := range steps {
		if (s.Phase == "" || s.Phase == PhaseStarted) && s.declines > 0 && s.declines >= s.Starts {
			s.Phase = PhaseDeclined
		}
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func (s *Step) finish(stored []byte) {
	if s.Phase == "" || s.Phase == PhaseStarted {
		s.Phase = PhaseFinished
	}
	if s.Output = valueOf(stored); s.Output.Form != "" {
		return
	}
	var e stepentry.Entry
	if err := stepentry.Decode(stored, &e); err != nil {
		s.Phase = PhaseUnreadable
		return
	}
	if s.entry = e; e.Void {
		s.Phase, s.Output = PhaseUndone, nil
		return
	}
	s.Order, s.Compensable = e.Order, e.Compensable
	s.Output = &Value{Size: len(e.Output), Omitted: e.Omitted}
}

func (s *Step) start(n int, stored []byte) {
	s.Starts = max(s.Starts, n)
	if s.Phase == "" {
		s.Phase = PhaseStarted
	}
	var e stepentry.Entry
	if s.entry.Order == 0 && stepentry.Decode(stored, &e) == nil {
		s.entry, s.Compensable = e, e.Compensable
	}
}

// decide reads why the request goes backward, and returns the steps that it declares declined.
func (u *Undoing) decide(stored []byte) (declined []string) {
	var d stepentry.Decision
	if stepentry.Decode(stored, &d) != nil {
		return nil
	}
	u.ErrorType, u.message = d.Type, d.Message
	return d.Declined
}

func (u *Undoing) block(stored []byte) {
	u.Blocked = true
	var f stepentry.CompensationFailure
	if json.Unmarshal(stored, &f) == nil {
		u.BlockedStep, u.BlockedBy, u.blockedMessage = f.Step, f.Type, f.Message
	}
}
