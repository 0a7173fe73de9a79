package eventguard

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Config says how the records of an event source are handled. The zero value is
// for a source whose mapping has ReportBatchItemFailures.
type Config struct {
	// Content finds what a message of a queue is about. Defaults to [Body]. For
	// [SQS] only.
	Content Content

	// Concurrency is how many messages, or groups of a FIFO queue, run at the same
	// time. Defaults to 1; the function must be safe for more. For [SQS] only.
	Concurrency int

	// OnFailure says how a batch answers that has failures. Defaults to
	// ReportItems. For queues and streams.
	OnFailure Failures

	// OnPermanent says what becomes of a record whose function has returned
	// [idempotent.Permanent], now or in the recorded run. Defaults to
	// FailPermanent.
	OnPermanent PermanentFailure

	// Reserve is how much time until the function's deadline a record must have to
	// be started: about as long as the slowest takes. Later ones are reported as
	// failed, so that they come back, instead of being killed in mid-run. Defaults
	// to 2 seconds; never more than a fifth (by default) or a half of the time that
	// there is when the batch arrives. A record that got so late while it was being
	// acquired, or waited for another run, is released again. For queues and streams.
	Reserve time.Duration

	// Logger gets every record that failed, with its error; never a payload.
	// Defaults to [slog.Default].
	Logger *slog.Logger
}

// Failures says how a batch answers that has failures.
type Failures int

const (
	// ReportItems answers with what failed. Without ReportBatchItemFailures in the
	// event source mapping Lambda ignores that answer, and the failed records are
	// lost.
	ReportItems Failures = iota
	// FailBatch answers with *BatchError, and the whole batch comes back. That
	// needs no setting of the mapping; records that are done are replays then. But
	// each of them counts up with every failure beside it, and may end in the
	// dead-letter queue although it is done. Redriven from there it has a new id:
	// name a Key, by which it is a replay still.
	FailBatch
)

// PermanentFailure says what becomes of a record that has failed for good.
type PermanentFailure int

const (
	// FailPermanent reports it as failed. It comes back, without running again,
	// until the source gives it up, and people find it in the dead-letter queue.
	// In a FIFO queue or a stream it holds up what is behind it until then. In a FIFO
	// queue that comes back with it, counts up with it, and may follow it into the
	// dead-letter queue without having run: see "Poison in a FIFO queue".
	FailPermanent PermanentFailure = iota
	// AcknowledgePermanent counts it as done, once it is recorded. Nothing but the log
	// and the record then tells of it. A failure that could not be recorded comes back.
	AcknowledgePermanent
)

// source is a kind of event source, as far as the config is concerned.
type source int

const (
	queue source = iota
	stream
	single // asynchronous events, which come one by one
)

func (c Config) withDefaults() Config {
	if c.Content == nil {
		c.Content = Body
	}
	c.Concurrency = cmp.Or(c.Concurrency, 1)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// check returns all that is wrong with a config as it was given.
func (c Config) check(s source) error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &idempotent.ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	if c.Content != nil && s != queue {
		fault("Content", "is for SQS only")
	}
	if c.Concurrency != 0 && s != queue {
		fault("Concurrency", "is for SQS only")
	}
	if c.Concurrency < 0 {
		fault("Concurrency", "is %d, and must not be negative", c.Concurrency)
	}
	if c.OnFailure != ReportItems && s == single {
		fault("OnFailure", "is for queues and streams only")
	}
	if c.OnFailure != ReportItems && c.OnFailure != FailBatch {
		fault("OnFailure", "is %d, which is no Failures", c.OnFailure)
	}
	if c.OnPermanent != FailPermanent && c.OnPermanent != AcknowledgePermanent {
		fault("OnPermanent", "is %d, which is no PermanentFailure", c.OnPermanent)
	}
	if c.Reserve != 0 && s == single {
		fault("Reserve", "is for queues and streams only")
	}
	if c.Reserve < 0 {
		fault("Reserve", "is %v, and must not be negative", c.Reserve)
	}
	return errors.Join(faults...)
}
