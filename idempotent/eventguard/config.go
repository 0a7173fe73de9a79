package eventguard

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Config says how the records of an event source are handled. The zero value is
// for a source whose mapping has ReportBatchItemFailures.
type Config struct {
	// Content finds what a message of a queue is about. Defaults to [Body]. For
	// [SQS] only.
	Content Content

	// Split, if set, takes a record apart in which a producer has aggregated several, such
	// as kpl.Split; its parts have data and partition key of their own, and the rest of
	// the record. Each is a record to the guard and to the function, with the event id of
	// the whole, a colon and its number from 0, if there are more than one. A failure of a
	// part is answered by the sequence number of the whole, and those before it are
	// replays then. For [Kinesis] only.
	Split func(events.KinesisEventRecord) ([]events.KinesisEventRecord, error)

	// Skip tells of a payload, as the guard's Key sees it, that it is not for this
	// function: the record is acknowledged, before a key is looked for. A function, or
	// Content, says the same by [idempotent.ErrSkip]. Defaults to skipping nothing.
	Skip func(payload []byte) bool

	// Concurrency is how many messages, groups of a FIFO queue, or partitions run at the
	// same time. Defaults to 1; the function must be safe for more. For [SQS] and [Kafka]
	// only.
	Concurrency int

	// Unordered says that the records of a partition need not keep their order: they run
	// like the messages of a standard queue, and a failure holds nothing up. Defaults to
	// false. For [Kafka] only.
	Unordered bool

	// OnFailure says how a batch answers that has failures. Defaults to
	// ReportItems. For queues and streams.
	OnFailure Failures

	// OnPermanent says what becomes of a record whose function has returned
	// [idempotent.Permanent], now or in the recorded run. Defaults to
	// FailPermanent.
	OnPermanent PermanentFailure

	// Retention is for how long the source may deliver a record again: what it keeps
	// it for, with the time in its dead-letter queue and until somebody redrives that.
	// Outcomes are replayed for at least so long, also where the guard's TTL is shorter:
	// else a redrive would run again what is done. It may be up to ten years. Defaults to
	// the longest that SQS keeps a message, 14 days; to a day for streams, as DynamoDB
	// has always and Kinesis if nothing else is set; to a week for Kafka, the default of
	// its brokers; and to the guard's TTL for SNS and EventBridge, whose archives may be
	// replayed later.
	Retention time.Duration

	// Slowest is about how long the slowest record takes. One that would have less time,
	// until the guard's Reserve for recording and answering begins, is reported as failed
	// and comes back, instead of being broken off: it is not acquired, or released again
	// where that took too long. But what starts in the first half of the time always may.
	// Defaults to twice what the slowest record of the batch has taken so far, and to at
	// least as long as that reserve. For queues, topics and streams.
	Slowest time.Duration

	// Backoff says when messages that have failed are visible again. Defaults to the
	// visibility timeout of their queue. For [SQS] only.
	Backoff Backoff

	// Logger gets every record that failed, with its error; never a payload.
	// Defaults to what [slog.Default] is when something is logged.
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
type source struct {
	splits    bool          // has records that may be aggregates
	content   bool          // of a message can be found in several ways
	parallel  bool          // has records that may run at the same time
	ordered   bool          // keeps an order by choice
	batches   bool          // answers with what failed
	retention time.Duration // by default
}

var (
	queue   = source{content: true, parallel: true, batches: true, retention: 14 * 24 * time.Hour}
	topic   = source{parallel: true, ordered: true, batches: true, retention: 7 * 24 * time.Hour}
	kinesis = source{splits: true, batches: true, retention: 24 * time.Hour}
	changes = source{batches: true, retention: 24 * time.Hour}
	single  = source{} // asynchronous events, which come one by one
)

// longestRetention is more than any source has, and far from where times overflow.
const longestRetention = 10 * 365 * 24 * time.Hour

func (c Config) withDefaults(s source) Config {
	if c.Content == nil {
		c.Content = Body
	}
	c.Concurrency = cmp.Or(c.Concurrency, 1)
	c.Backoff = c.Backoff.withDefaults()
	c.Retention = cmp.Or(c.Retention, s.retention)
	return c
}

// check returns all that is wrong with a config as it was given.
func (c Config) check(s source) error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &idempotent.ConfigError{Field: "eventguard.Config." + field, Problem: fmt.Sprintf(format, args...)})
	}
	if c.Content != nil && !s.content {
		fault("Content", "is for SQS only")
	}
	if c.Split != nil && !s.splits {
		fault("Split", "is for Kinesis only")
	}
	if c.Concurrency != 0 && !s.parallel {
		fault("Concurrency", "is for SQS and Kafka only")
	}
	if c.Unordered && !s.ordered {
		fault("Unordered", "is for Kafka only")
	}
	if c.Concurrency < 0 {
		fault("Concurrency", "is %d, and must not be negative", c.Concurrency)
	}
	if c.OnFailure != ReportItems && !s.batches {
		fault("OnFailure", "is for queues and streams only")
	}
	if c.OnFailure != ReportItems && c.OnFailure != FailBatch {
		fault("OnFailure", "is %d, which is no Failures", c.OnFailure)
	}
	if c.OnPermanent != FailPermanent && c.OnPermanent != AcknowledgePermanent {
		fault("OnPermanent", "is %d, which is no PermanentFailure", c.OnPermanent)
	}
	if c.Retention < 0 || c.Retention > longestRetention {
		fault("Retention", "is %v, and must be between 0 and ten years", c.Retention)
	}
	if c.Slowest != 0 && !s.batches {
		fault("Slowest", "is for queues, topics and streams only")
	}
	if c.Slowest < 0 {
		fault("Slowest", "is %v, and must not be negative", c.Slowest)
	}
	if c.Backoff.Change != nil && !s.content {
		fault("Backoff", "is for SQS only")
	}
	if problem := c.Backoff.problem(); problem != "" {
		fault("Backoff", "%s", problem)
	}
	return errors.Join(faults...)
}
