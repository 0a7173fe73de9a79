package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/idempotent"
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

	// Slowest is about how long the slowest item takes. One that would have less time,
	// until the guard's Reserve before the context's deadline begins, is not started, or is
	// given up again where it got so late while its record was being acquired. But what
	// starts in the first half of the time always may. Defaults to twice what the slowest
	// item of this start has taken so far, and to at least as long as that reserve.
	Slowest time.Duration

	// Progress, if set, is called after each item, on the goroutine that called Each:
	// one call at a time, and what is settled never gets less. While it runs, no item
	// is started.
	Progress func(Progress)
}

// defaultConcurrency is explained at [Batch].
const defaultConcurrency = 8

// Each runs fn once for each item. It may be killed at any time, and be started again
// with the same batch: what is finished is not run again, what was under way is, once
// its lease is over. Two starts at the same time share the work.
//
// Every item is a guarded call of its own, under a key made of the batch's name and
// the item's ID; within fn, [idempotent.CallFrom] gives the key to hand to downstream services.
// Records must last as long as the batch may be started again: Config.TTL is
// a day unless it says otherwise, after which the item would run again.
//
// If the guard has a Fingerprint, it sees the item's JSON form: an item that has
// changed since it was run fails with *idempotent.MismatchError. A guard with a Key is refused.
//
// The error is nil if every item has succeeded or failed for good: those that did are
// in the report only, because another start could do nothing about them. It is an
// [*UnfinishedError] if items are left; returned from a Lambda handler it makes the
// runtime start the batch again, for asynchronous events twice. Whatever is wrong with
// the arguments comes joined ([*idempotent.ConfigError]), before anything has run.
//
// No more items are started when too little time is left (Batch.Slowest), when ctx
// is over, or when the store fails: with an error that trying again won't mend, or
// with more failures in a row than items run at once. Those under way are waited for
// in any case, so no goroutine outlives Each. If fn panics, Each panics with
// [*ItemPanic] when the others are settled; if fn ends its goroutine, Each does so
// too.
func Each[Item any](ctx context.Context, guard *idempotent.Guard, b Batch[Item], items []Item, fn func(context.Context, Item) error) (Report[Item], error) {
	ids, err := b.check(guard, items, fn)
	if err != nil {
		return Report[Item]{}, err
	}
	s := &start{
		guard:       guard.Batch(ctx, b.Slowest),
		name:        b.Name,
		ids:         ids,
		content:     func(item int) any { return contentOf(items[item]) },
		run:         func(ctx context.Context, item int) error { return fn(ctx, items[item]) },
		observe:     b.Progress,
		concurrency: min(cmp.Or(b.Concurrency, defaultConcurrency), len(items)),
		outcomes:    make([]itemOutcome, len(items)),
		errs:        make(map[int]error),
		began:       time.Now(),
	}
	s.counts[itemPending] = len(items)
	err = errUnwound
	ctx, end := guard.Begin(ctx, idempotent.Event{Kind: idempotent.EventBatch})
	defer func() { end(err) }()
	s.all(ctx)

	report := Report[Item]{Progress: s.progress()}
	for item, o := range s.outcomes {
		if err := s.errs[item]; err != nil {
			report.Errors = append(report.Errors, &ItemError{ID: ids[item], Err: err})
		}
		if o.left() {
			report.Left = append(report.Left, items[item])
		}
	}
	err = nil
	if len(report.Left) > 0 {
		err = &UnfinishedError{Batch: b.Name, Progress: report.Progress, Err: s.stopped}
	}
	return report, err
}

// errUnwound is how a batch has ended whose function, or Progress, did not return.
var errUnwound = errors.New("a panic, or the goroutine exited")

// contentOf is what a Fingerprint sees of an item, also of one that is nil.
func contentOf(item any) any {
	if item == nil {
		return json.RawMessage("null")
	}
	return item
}

// check returns the items' IDs, or all that is wrong with a batch.
func (b Batch[Item]) check(guard *idempotent.Guard, items []Item, fn func(context.Context, Item) error) ([]string, error) {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, &idempotent.ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	if guard == nil {
		fault("Each.guard", "is nil: a batch has no guard")
	} else if c := guard.Config(); c.Key != nil || c.Dialect != nil {
		fault("Each.guard", "has a Key, and an item's key is made of Batch.Name and its ID")
	}
	if guard != nil && guard.Config().KeepEvent {
		fault("Each.guard", "has KeepEvent, and an item is no event: the batch is started again")
	}
	if fn == nil {
		fault("Each.fn", "is nil: a batch has no function")
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
	if b.Slowest < 0 {
		fault("Batch.Slowest", "is %v, and must not be negative", b.Slowest)
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
