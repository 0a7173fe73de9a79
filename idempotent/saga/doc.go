// Package saga makes steps of the parts of a guarded call: a later attempt of the call gets
// what a finished step has returned without running it again, and a call that fails for good
// undoes its steps.
//
//	var reserve = saga.NewStep(saga.Spec[string]{Name: "reserve-stock", Compensate: putBack})
//	var charge = saga.NewStep(saga.Spec[string]{Name: "charge"})
//
//	guard, err := idempotent.New(store, idempotent.Config{Operation: "checkout", Steps: saga.Steps(reserve, charge)})
//	...
//	box, err := reserve.Run(ctx, func(ctx context.Context, call saga.Call) (string, error) {
//		return stock.Reserve(ctx, call.Token, order.Lines)
//	})
//
// A [Step] is declared once, with all that undoes it, and a guard's function may run those
// that [Steps] has declared for it. Each obeys one law:
//
//	name ─▶ finished before ─┬─ yes ─▶ its output
//	                         └─ no ──▶ run ─┬─ output ─▶ checkpoint ─▶ output
//	                                        └─ error ──▶ err, unchanged
//
// That changes the ends of a call that has finished steps:
//
//	run ─┬─ result ────────▶ complete ─▶ result
//	     ├─ Permanent(err) ▶ undo ─┬─ done ──────▶ complete ─▶ err
//	     │                         └─ not done ──▶ keep the steps ─▶ *CompensationError
//	     ├─ other error ───▶ keep the steps ─▶ *PartialSuccessError
//	     └─ panic, Goexit ─▶ keep the steps ─▶ goes on
//
// A record whose steps are kept is PARTIAL_SUCCESS. Nobody holds it: the next arrival
// of the request runs the function again, and resumes. A run that has died is taken
// over when its lease is over, with the steps that it had finished. So errors of steps
// need no loops here; whoever sends the request is what tries again, be it a client, a queue
// or the runtime. If nobody does within the guard's TTL, the record expires, and the
// request is new.
//
// # Undoing
//
// The steps that have a Compensate ([Spec]) are undone in the reverse of the order in which
// they were finished; each is recorded, and not undone twice. That the call goes backward is
// recorded first, and stands: from then on no step is run any more, whatever the next
// attempts would say. What undoes a step is known from its declaration, so also an attempt
// whose function does not come to it undoes it. [Run] does the same inside of the function,
// which can then answer with a result.
//
// # What is not promised
//
// A step that is interrupted, after its effect and before its checkpoint, runs again. Hand
// the token of its [Call] to the service that it calls; where the service knows no keys, have
// the step run at most once (Spec.AtMostOnce), and find out what became of it.
//
// docs/steps.md in this module says when to use what, how records look, what a
// deployment may change, and what to do with a record that is stuck.
//
// # Errors
//
// What is wrong with a declaration is program text, and panics where it is made. The errors
// of calls are these, beside those of package idempotent; [idempotent.VerdictOf] judges them.
//
//	errorType            sentinel           when                                  code, done, retry
//	StepError            ErrStep            a step could not run, or not be kept  by its cause
//	PartialSuccessError  ErrPartialSuccess  failed after finished steps           partial_success, something, yes
//	CompensationError    ErrCompensation    failed for good, and not undone yet   compensation_failed, something, yes
//
// Where only a person can mend it, they have the code stuck, and say not to retry. A
// *PartialSuccessError wraps the function's error; a *CompensationError wraps the permanent
// failure as well, so ask for it first.
package saga
