package saga

import (
	"context"
	"fmt"
)

// Run runs fn, whose steps belong together. Where fn fails for good ([idempotent.Permanent]),
// the finished steps are undone: their Spec.Compensate are called in the reverse
// of the order in which the steps were finished, and each that has succeeded is
// recorded and not called again. Then Run returns the error of fn.
//
// A guarded call is a saga by itself: a function that fails for good is undone before
// its failure is recorded. Run is for functions that then have an answer to give,
// such as an HTTP response with the status 402.
//
// That the call has failed for good is recorded before the first compensation, and
// from then on it does not go forward any more. Where a compensation fails, Run
// returns a [*CompensationError] with both causes. The function has to return it:
// the record is left as PARTIAL_SUCCESS, and the next arrival goes on with undoing.
// To that end the function runs again. Its finished steps return their outputs,
// others fail with [ErrUnwinding], and whatever fn then returns, Run goes on where
// undoing stopped, and returns the first failure, as *[idempotent.PermanentError], once all is
// undone. The function must get that far without the steps that never ran.
//
// Compensations run as long as the call has time, also where ctx is cancelled. What
// was recorded more than a TTL ago can't be undone any more. A call is undone as a
// whole, and once in an attempt: of several Runs the others get the same answer.
func Run[Out any](ctx context.Context, fn func(context.Context) (Out, error)) (Out, error) {
	var none Out
	j := journalFrom(ctx)
	if _, nested := CallFrom(ctx); nested || j == nil {
		return none, &StepError{Err: fmt.Errorf("%w: a saga has to be in a guarded call that declares Config.Steps, and not in a step", ErrStepMisuse)}
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	out, err := fn(inner)
	cancel() // its steps are waited for
	if answer := j.undo(ctx, err, byRun); answer != nil {
		j.outside.Drop() // a call is undone as a whole, and what is undone does not commit
		return none, answer
	}
	return out, err
}
