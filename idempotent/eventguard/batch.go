package eventguard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ikkai-go/idempotency/idempotent"
)

// verdicts collects what became of the records of a batch.
type verdicts struct {
	records []record
	errs    []error // by the index of the record; nil where it is done
	total   int     // records of the batch, also those without a verdict
}

// failed returns the ids of the failed records, each once and in the order of the
// batch, or the error that fails the whole batch.
func (p processor) failed(ctx context.Context, v verdicts) ([]string, error) {
	var failed []FailedRecord
	var ids []string
	named := make(map[string]bool)
	for i, err := range v.errs {
		if err == nil {
			continue
		}
		id := v.records[i].id
		p.logSafely(ctx, id, err)
		failed = append(failed, FailedRecord{ID: id, Err: err})
		if !named[id] {
			named[id] = true
			ids = append(ids, id)
		}
	}
	// An empty id in the answer is a failure of the whole batch to Lambda as well,
	// but one that tells nobody why.
	if named[""] || len(failed) > 0 && p.config.OnFailure == FailBatch {
		return nil, &BatchError{Failed: failed, Records: v.total}
	}
	return ids, nil
}

// items is the answer of a batch: never null, which Lambda takes for success too,
// but other readers need not.
func items[Item ~struct {
	ItemIdentifier string `json:"itemIdentifier"`
}](ids []string) []Item {
	answer := make([]Item, 0, len(ids))
	for _, id := range ids {
		answer = append(answer, Item{ItemIdentifier: id})
	}
	return answer
}

// logSafely logs a failure whose error may be of any kind: one whose methods panic
// must not take the batch along.
func (p processor) logSafely(ctx context.Context, id string, err error) {
	odd := contain(func() error {
		p.log(ctx, id, err)
		return nil
	})
	if odd != nil {
		p.config.Logger.LogAttrs(ctx, slog.LevelError, "idempotency: record failed",
			slog.String("record", id), slog.String("error", fmt.Sprintf("a %T whose methods panic", err)))
	}
}

// log tells why a record failed: the answer of the batch can't.
func (p processor) log(ctx context.Context, id string, err error) {
	level := slog.LevelError
	switch {
	case errors.Is(err, ErrHeldBack):
		level = slog.LevelDebug
	case errors.Is(err, idempotent.ErrInProgress), errors.Is(err, idempotent.ErrNotStarted):
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("record", id), slog.Any("error", err)}
	if panicked, ok := errors.AsType[*PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(panicked.Stack)))
	}
	p.config.Logger.LogAttrs(ctx, level, "idempotency: record failed", attrs...)
}
