package idempotent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Batch is a job over many items, such as the payroll of a month. Name and ID are
// required.
type Batch[Item any] struct {
	// Name is that of the job's round, such as "2026-11": together with an item's ID
	// it makes the item's key. The same name goes on with a round, another name begins
	// one. UTF-8.
	Name string

	// ID tells the items of a round apart, and is the same whenever the round is
	// started: an employee's number, not a row's. It is called once for each item
	// before anything runs. UTF-8, not empty, and no two items have the same.
	ID func(Item) string

	// Concurrency is how many items run at the same time. Defaults to 8: items mostly
	// wait for the network, and the SDK's HTTP client keeps ten connections to a host.
	// More than there are items is all of them.
	Concurrency int

	// StopBefore is how much time there must be until the context's deadline to start
	// an item: about as long as the slowest takes. An item that got so late while its
	// record was being acquired is given up again. Defaults to twice what the slowest
	// item of this start has taken so far, and to at least a second, or a fifth of the
	// time that there was at the beginning where that is less. Where there never is so
	// much time as it asks for, nothing ever runs.
	StopBefore time.Duration

	// Progress, if set, is called after each item, on the goroutine that called Each:
	// one call at a time, and what is settled never gets less. While it runs, no item
	// is started.
	Progress func(Progress)
}

// defaultConcurrency is explained at [Batch].
const defaultConcurrency = 8

// Progress is how far a start of a batch has come. All counts are of items; each
// item is counted once in Total, and once in one of the others.
type Progress struct {
	Total int
	// Done have run in this start, and succeeded.
	Done int
	// Replayed had succeeded before, in another start.
	Replayed int
	// Permanent have failed for good, now or in another start ([Permanent]). That is
	// recorded: no start will run them again.
	Permanent int
	// Failed could not be finished; another start tries them again.
	Failed int
	// Held are under way in another start, or were until it died, and still were when
	// this start had looked at them again for as long as a lease.
	Held int
	// Pending are not settled yet; when Each has returned, they were not started.
	Pending int
	// Elapsed is how long the start has lasted.
	Elapsed time.Duration
}

// BatchReport is what a start of a batch has come to.
type BatchReport[Item any] struct {
	Progress
	// Left are the items that another start has to do, in their order: those that
	// failed, are held by somebody else, or were not started.
	Left []Item
	// Errors say why items failed, or failed for good, in their order. There are
	// never more than 100, those that came first; the counts tell how many there were.
	Errors []*ItemError
}

// maxItemErrors bounds the memory that errors take where every item fails.
const maxItemErrors = 100

// ItemError says why an item of a batch failed. It is permanent (see [Permanent]) if
// the item's own error is.
type ItemError struct {
	ID  string
	Err error
}

func (e *ItemError) Error() string { return fmt.Sprintf("idempotent: item %s: %v", e.ID, e.Err) }

// Unwrap returns the item's error, as the function or the guard gave it.
func (e *ItemError) Unwrap() error { return e.Err }

// UnfinishedError says that a batch has items left: start it again. It wraps no error
// of a guarded function, so that the failure of one item, however permanent, never is
// that of a call around the whole batch.
type UnfinishedError struct {
	mark

	Batch    string // its name
	Progress Progress
	// Err is why no more items were started: a *NotStartedError where there was no
	// time left or the context was over, an *ItemError with a store's error where the
	// store has failed. It is nil where each item had its turn.
	Err error
}

func (e *UnfinishedError) Error() string {
	p := e.Progress
	text := fmt.Sprintf("idempotent: batch %s: %d of %d items left (%d failed, %d held, %d not started)",
		e.Batch, p.Failed+p.Held+p.Pending, p.Total, p.Failed, p.Held, p.Pending)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is reports whether target is [ErrUnfinished].
func (e *UnfinishedError) Is(target error) bool { return target == ErrUnfinished || e.mark.Is(target) }

// Unwrap returns why no more items were started.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// ErrUnfinished matches every [*UnfinishedError].
var ErrUnfinished = errors.New("idempotent: batch unfinished")

// ItemPanic is what [Each] panics with where the function has panicked for an item.
type ItemPanic struct {
	ID string
	// Value is what the function panicked with.
	Value any
	// Stack is that of the function's goroutine, which is not the one that the panic
	// goes on in.
	Stack []byte
}

func (e *ItemPanic) Error() string {
	return fmt.Sprintf("idempotent: item %s: panic: %v\n\n%s", e.ID, e.Value, e.Stack)
}

// Unwrap returns the value, if it is an error.
func (e *ItemPanic) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Each runs fn once for each item. It may be killed at any time, and be started again
// with the same batch: what is finished is not run again, what was under way is, once
// its lease is over. Two starts at the same time share the work.
//
// Every item is a guarded call of its own, under a key made of the batch's name and
// the item's ID; within fn, [CallFrom] gives the key to hand to downstream services.
// Each item has a record of its own too, instead of a step in one record for the
// batch: an item of DynamoDB holds no more than 400 KB, and each write of it is
// charged for its whole size. So an item costs what any call does, two writes when it
// runs and one failed write (or, with Config.ReadFirst, one read) when it is finished
// already. Records must last as long as the batch may be started again: Config.TTL is
// a day unless it says otherwise, after which the item would run again.
//
// If the guard has a Fingerprint, it sees the item's JSON form: an item that has
// changed since it was run fails with *MismatchError. A guard with a Key is refused.
//
// The error is nil if every item has succeeded or failed for good: those that did are
// in the report only, because another start could do nothing about them. It is an
// [*UnfinishedError] if items are left; returned from a Lambda handler it makes the
// runtime start the batch again, for asynchronous events twice. Whatever is wrong with
// the arguments comes joined ([*ConfigError]), before anything has run.
//
// No more items are started when too little time is left (Batch.StopBefore), when ctx
// is over, or when the store fails: with an error that trying again won't mend, or
// with more failures in a row than items run at once. Those under way are waited for
// in any case, so no goroutine outlives Each. If fn panics, Each panics with
// [*ItemPanic] when the others are settled; if fn ends its goroutine, Each does so
// too.
func Each[Item any](ctx context.Context, g *Guard, b Batch[Item], items []Item, fn func(context.Context, Item) error) (BatchReport[Item], error) {
	ids, err := b.check(g, items, fn)
	if err != nil {
		return BatchReport[Item]{}, err
	}
	r := &batchRun{
		guard:       g,
		name:        b.Name,
		ids:         ids,
		content:     func(item int) any { return items[item] },
		run:         func(ctx context.Context, item int) error { return fn(ctx, items[item]) },
		observe:     b.Progress,
		concurrency: min(cmp.Or(b.Concurrency, defaultConcurrency), len(items)),
		timing:      newBatchTiming(ctx, b.StopBefore),
		outcomes:    make([]itemOutcome, len(items)),
		errs:        make(map[int]error),
		started:     time.Now(),
	}
	r.counts[itemPending] = len(items)
	r.all(ctx)

	report := BatchReport[Item]{Progress: r.progress()}
	for item, o := range r.outcomes {
		if err := r.errs[item]; err != nil {
			report.Errors = append(report.Errors, &ItemError{ID: ids[item], Err: err})
		}
		if o.left() {
			report.Left = append(report.Left, items[item])
		}
	}
	if len(report.Left) == 0 {
		return report, nil
	}
	return report, &UnfinishedError{Batch: b.Name, Progress: report.Progress, Err: r.stopped}
}

// check returns the items' IDs, or all that is wrong with a batch.
func (b Batch[Item]) check(g *Guard, items []Item, fn func(context.Context, Item) error) ([]string, error) {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	if g == nil {
		fault("Batch", "has no guard")
	}
	if g != nil && (g.config.Key != nil || g.config.Dialect != nil) {
		fault("Batch", "has a guard with a Key, and an item's key is made of Batch.Name and its ID")
	}
	if fn == nil {
		fault("Batch", "has no function")
	}
	if b.Name == "" {
		fault("Batch.Name", "is empty")
	}
	if !utf8.ValidString(b.Name) {
		fault("Batch.Name", "is %q, and must be UTF-8", b.Name)
	}
	if b.Concurrency < 0 {
		fault("Batch.Concurrency", "is %d, and must not be negative", b.Concurrency)
	}
	if b.StopBefore < 0 {
		fault("Batch.StopBefore", "is %v, and must not be negative", b.StopBefore)
	}
	if b.ID == nil {
		fault("Batch.ID", "is nil")
		return nil, errors.Join(faults...)
	}
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = b.ID(item)
	}
	faults = append(faults, idFaults(ids)...)
	return ids, errors.Join(faults...)
}

// maxIDFaults is how many bad IDs are named; a wrong ID function makes all of them bad.
const maxIDFaults = 10

// idFaults returns what is wrong with the items' IDs. Bytes that are not UTF-8 would
// all be the same in JSON.
func idFaults(ids []string) []error {
	var faults []error
	count, first := 0, make(map[string]int, len(ids))
	for i, id := range ids {
		var problem string
		before, known := first[id]
		switch {
		case id == "":
			problem = fmt.Sprintf("is empty for items[%d]", i)
		case !utf8.ValidString(id):
			problem = fmt.Sprintf("is %q for items[%d], and must be UTF-8", id, i)
		case known:
			problem = fmt.Sprintf("is %q for both items[%d] and items[%d]", id, before, i)
		default:
			first[id] = i
			continue
		}
		if count++; count <= maxIDFaults {
			faults = append(faults, &ConfigError{Field: "Batch.ID", Problem: problem})
		}
	}
	if more := count - maxIDFaults; more > 0 {
		faults = append(faults, &ConfigError{Field: "Batch.ID", Problem: fmt.Sprintf("is wrong for %d more items", more)})
	}
	return faults
}
