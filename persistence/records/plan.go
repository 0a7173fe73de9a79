package records

import (
	"context"
	"strings"
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
	lines := append([]string{p.Shown.Key + " is " + string(p.Shown.State) + "."}, p.Does...)
	for _, note := range p.Notes {
		lines = append(lines, "Note: "+note)
	}
	return strings.Join(lines, "\n")
}

// Do carries the plan out and returns the record as it is then; the zero Record where it is
// gone. A [*ChangedError] says that the record is not what was shown, and that nothing was done.
// Any other error says at which of the steps it has failed; the plan can be carried out again.
func (p *Plan) Do(ctx context.Context) (Record, error) { return p.do(ctx) }
