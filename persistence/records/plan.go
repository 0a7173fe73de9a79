package records

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
)

// Plan is what would be done about a record, if it still is what was shown. Making one does
// nothing.
type Plan struct {
	// Shown is the record that the plan is for.
	Shown Record
	// Does says in words what [Plan.Do] does, a sentence each, in order.
	Does []string
	// Notes say what else there is to know before it is done.
	Notes []string

	do func(context.Context) (Record, error)
}

// String returns all of the plan in words, a line each.
func (p *Plan) String() string {
	lines := append([]string{fmt.Sprintf("%s: the state is %s.", p.Shown.Key, p.Shown.State)}, p.Does...)
	for _, note := range p.Notes {
		lines = append(lines, "Note: "+note)
	}
	return strings.Join(lines, "\n")
}

// Do carries the plan out and returns the record as it is then; the zero Record where it is
// gone. A [*ChangedError] or a [*RunningError] says that the record is not what was shown, and
// that nothing was done. After any other error the same plan can be carried out again, as long as
// nobody else has the record: what it has done before is not done twice. A settlement that has
// begun does not end with the context, but after [Config.Hold].
func (p *Plan) Do(ctx context.Context) (Record, error) { return p.do(ctx) }

func (p *Plan) does(format string, args ...any) {
	p.Does = append(p.Does, fmt.Sprintf(format, args...))
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// plan begins a plan for a record that may be written to: it can be understood, and nobody
// is running it.
func (d *Desk) plan(shown Record) (*Plan, error) {
	switch {
	case shown.Unreadable != "":
		return nil, &RefusedError{shown.Key, shown.State, "it can't be understood: " + shown.Unreadable}
	case shown.stored.Key == "":
		return nil, &RefusedError{shown.Key, shown.State, "it was not shown by a Desk"}
	case d.config.stateOf(shown.stored, d.config.Now()) == StateRunning:
		return nil, &RunningError{shown.Key, shown.LeaseUntil}
	default:
		return &Plan{Shown: shown}, nil
	}
}

// changed is the error of a plan whose record is not what was shown.
func (d *Desk) changed(ctx context.Context, key string) error {
	now, err := d.Show(ctx, key)
	_, gone := errors.AsType[*NotFoundError](err)
	switch {
	case gone:
		return &ChangedError{Key: key}
	case err != nil:
		return fmt.Errorf("records: %s has changed since it was shown, and can't be shown again: %w", key, err)
	default:
		return &ChangedError{Key: key, Now: &now}
	}
}

// failed is the error of a plan that the store has failed in the middle of.
func failed(key, what string, err error) error {
	if errors.Is(err, persistence.ErrTooLarge) {
		return fmt.Errorf("records: %s: %s does not fit into the record: %w", key, what, err)
	}
	return fmt.Errorf("records: %s: %s: %w", key, what, err)
}
