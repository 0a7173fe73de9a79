package payday

import (
	"fmt"
	"io"

	"github.com/ikkai-go/idempotency/functions/payroll/salaries"
	"github.com/ikkai-go/idempotency/idempotent/batch"
)

// Lines tells a start in a line.
type Lines struct {
	w io.Writer
	n int
}

// NewLines returns a narrator that writes to w.
func NewLines(w io.Writer) *Lines { return &Lines{w: w} }

// Start implements [Narrator].
func (l *Lines) Start(n int) { l.n = n }

// Progress implements [Narrator].
func (*Lines) Progress(batch.Progress) {}

// End implements [Narrator].
func (l *Lines) End(s salaries.Summary, err error) {
	fmt.Fprintf(l.w, "start %d: %v\n", l.n, s)
	if err != nil {
		fmt.Fprintf(l.w, "         %v\n", err)
	}
}
