package eventguard

import (
	"context"
	"log/slog"
)

// failed returns the failed records of a batch, by index: each id once and in the
// order of the batch; or the error that fails the whole batch.
func (p processor) failed(ctx context.Context, records []record, errs []error) ([]int, error) {
	var failed []FailedRecord
	var indices []int
	named := make(map[string]bool)
	for i, err := range errs {
		if err == nil {
			continue
		}
		f := FailedRecord{ID: records[i].id, Err: err}
		_ = contain(func() error { // errors and loggers are the user's
			f.Verdict = verdictOf(err)
			p.log(ctx, f)
			return nil
		})
		failed = append(failed, f)
		if !named[f.ID] {
			named[f.ID] = true
			indices = append(indices, i)
		}
	}
	// An empty id in the answer is a failure of the whole batch to Lambda as well,
	// but one that tells nobody why.
	if named[""] || len(failed) > 0 && p.config.OnFailure == FailBatch {
		return nil, &BatchError{Failed: failed, Records: len(errs)}
	}
	return indices, nil
}

// inOrder runs the records of a shard until one fails, and returns it. What is behind
// it needs no verdict: the source goes back to the failure and delivers all from there.
func (p processor) inOrder(ctx context.Context, records []record) ([]int, error) {
	errs := p.process(ctx, records)
	for i, err := range errs {
		if err != nil {
			clear(errs[i+1:])
			break
		}
	}
	return p.failed(ctx, records, errs)
}

// items is the answer of a batch: never null, which Lambda takes for success too,
// but other readers need not.
func items[Item ~struct {
	ItemIdentifier string `json:"itemIdentifier"`
}](records []record, failed []int) []Item {
	answer := make([]Item, 0, len(failed))
	for _, i := range failed {
		answer = append(answer, Item{ItemIdentifier: records[i].id})
	}
	return answer
}

// log tells why a record failed: the answer of the batch can't.
func (p processor) log(ctx context.Context, f FailedRecord) {
	attrs := []slog.Attr{
		slog.String("event", "record_failed"), slog.String("code", string(f.Verdict.Code)), slog.String("record", f.ID), slog.Any("error", f.Err),
	}
	if panicked, ok := f.Err.(*PanicError); ok { //nolint:errorlint // contain makes it
		attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
	}
	p.logger().LogAttrs(ctx, level(f.Verdict), "idempotency: record failed", attrs...)
}
