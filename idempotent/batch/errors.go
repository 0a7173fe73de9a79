package batch

import (
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
)

// ItemError says why an item of a batch failed. It is permanent (see [idempotent.Permanent]) if
// the item's own error is.
type ItemError struct {
	ID  string // the item's
	Err error  // the item's own error
}

func (e *ItemError) Error() string { return fmt.Sprintf("idempotent: item %s: %v", e.ID, e.Err) }

// Unwrap returns the item's error, as the function or the guard gave it.
func (e *ItemError) Unwrap() error { return e.Err }

// mark tells whether a guarded function has passed the error on.
type mark = origin.Mark

// UnfinishedError says that a batch has items left: start it again. It wraps no error
// of a guarded function, so that the failure of one item, however permanent, never is
// that of a call around the whole batch.
type UnfinishedError struct {
	mark

	Batch    string   // its name
	Progress Progress // how far it has come
	// Err is why no more items were started: a *idempotent.NotStartedError where there was no
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
	ID string // the item's
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

// Verdict is what [idempotent.VerdictOf] says of the batch.
func (e *UnfinishedError) Verdict() idempotent.Verdict {
	v := idempotent.Verdict{Done: idempotent.DoneNothing, Retry: true, Code: idempotent.CodeUnfinished}
	switch p := e.Progress; {
	case p.Done+p.Replayed+p.Permanent > 0:
		v.Done = idempotent.DoneSomething
	case p.Failed+p.Held > 0:
		v.Done = idempotent.DoneMaybe
	}
	return v
}
