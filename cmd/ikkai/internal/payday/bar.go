package payday

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/ikkai-go/idempotency/functions/payroll/salaries"
	"github.com/ikkai-go/idempotency/idempotent/batch"
)

// Bar tells a start by a progress bar, on a terminal.
type Bar struct {
	*Lines
	bar *progressbar.ProgressBar
}

// NewBar returns a narrator that writes to a terminal.
func NewBar(w io.Writer) *Bar { return &Bar{Lines: NewLines(w)} }

// Progress implements [Narrator].
func (b *Bar) Progress(p batch.Progress) {
	if b.bar == nil {
		b.bar = progressbar.NewOptions(p.Total,
			progressbar.OptionSetWriter(b.w),
			progressbar.OptionSetDescription(fmt.Sprintf("start %d", b.n)),
			progressbar.OptionSetWidth(40),
			progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = b.bar.Set(p.Total - p.Pending) // a terminal that is gone ends the program by a signal
}

// End implements [Narrator].
func (b *Bar) End(s salaries.Summary, err error) {
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar = nil
	}
	b.Lines.End(s, err)
}
