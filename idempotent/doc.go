// Package idempotent makes a function run once for each request that arrives
// twice: a client's retry, a redelivery, two Lambda environments at once. The
// second arrival gets the first one's answer.
//
//	guard, err := idempotent.New(store, idempotent.Config{
//		Operation: "payment",
//		Key:       idempotency.MustJMESPath("body.payment_id"),
//	})
//	...
//	lambda.Start(guard.Handler(charge))
//
// A [Guard] guards one operation. [Guard.Handler] wraps a whole Lambda handler
// and works on the raw bytes of event and response; [Func] wraps a typed
// function; [Do] runs a closure under a key that the caller makes. All three
// obey one law:
//
//	key ─▶ acquire ─┬─ mine ──────────▶ run ─┬─ result ──────▶ complete ─▶ result
//	                │                        ├─ Permanent(err) ▶ complete ─▶ err
//	                │                        ├─ other error ──▶ release ──▶ err, unchanged
//	                │                        └─ panic, Goexit ▶ release ──▶ goes on
//	                ├─ completed ─────▶ the stored result
//	                ├─ failed for good ▶ *PermanentError
//	                ├─ other payload ─▶ *MismatchError
//	                └─ running ───────▶ wait for it, or *InProgressError
//
// Package batch runs a function for each of many items, as calls of their own.
//
// # Where requests come from
//
// What a duplicate looks like, and how it is answered, depends on who sends it.
// Package httpguard guards HTTP APIs, eventguard queues, streams and topics, and
// client is for those who call a guarded API. They use nothing of this package
// but what it exports.
//
// An adapter of your own does five things, and has a method of [Guard] for each:
//
//   - It identifies a request: [Guard.IdentifyOr] takes a payload, and an ID that the
//     source gives it; [Guard.Identity] a key found by other means. What it refuses before a
//     guard is asked, it tells by [Guard.Report]; and lets it pass where [Guard.Off] says
//     that the guards are switched off.
//   - It runs the function under the identity, by [DoAs], through a guard that is
//     [Guard.Observing], since the function's own error does not tell what became of the
//     record.
//   - It answers by [VerdictOf].
//   - Where it has to answer for many calls, [Guard.Batch] divides the time once for all of
//     them, [Guard.Late] says when no other may start, and requests of equal [Identity.Request]
//     do not run side by side.
//   - Where the source may send for longer than the TTL, [Guard.Keeping] keeps outcomes.
//
// # Steps and sagas
//
// A call that does several things can have them as steps, declared in Config.Steps.
// [Step] keeps what a step has returned in the record, so that a later attempt of
// the call gets it without running the step again:
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
// or the runtime. If nobody does within Config.TTL, the record expires, and the
// request is new.
//
// Undoing means that the steps that have a Compensate ([StepSpec]) are undone in the
// reverse of the order in which they were finished; each is recorded, and not undone
// twice. That the call goes backward is recorded first, and stands: from then on no
// step is run any more, whatever the next attempts would say. [Saga] does the same
// inside of the function, which can then answer with a result.
//
// A step that is interrupted, after its effect and before its checkpoint, runs
// again. Hand the token of [StepFrom] to the service that it calls; where the service
// knows no keys, have the step run at most once (StepSpec.AtMostOnce), and find out
// what became of it.
//
// docs/steps.md in this module says when to use what, how records look, what a
// deployment may change, and what to do with a record that is stuck.
//
// # Effects that commit with the record
//
// Where the records are in DynamoDB, effects that are writes to DynamoDB need none of
// that. Those that the function enlists (dynamostore.Enlist) are carried out in the
// transaction that completes its record: all of them with the record, or none and no
// record. They happen once, whatever is lost, killed or repeated, and a run that has
// lost its lease writes nothing. In a step they commit with its checkpoint, in a Compensate with the record
// that the step is undone.
//
// A write whose condition does not hold makes the transaction fail, and with it the
// function, or the step, after it has returned. The error is what the write says of
// that (its OnRefused), in the place of the result: with [Permanent] it is recorded,
// with any other error a retry runs. A handler that has an answer for it enlists in a
// step, whose error it sees.
//
// With Config.OnlyEnlists a call whose only effects are such writes is one request in
// all. Its function may run in several callers at once, and what one of them has
// committed is everybody's answer.
//
// # What is promised
//
// At most one run for each lease; a stored result is never changed or lost
// before it expires; nobody is locked out by a write of their own whose reply
// got lost; a duplicate never touches the original. A step that is recorded as
// finished is not run again, and one that is recorded as undone is not undone again;
// a superseded owner records neither. Enlisted writes happen once, with the record, or
// not at all.
//
// What is not promised is that effects outside the store happen exactly once. A
// run, or a step, that dies after its effect and before its record is run again when
// the lease is over. Hand [DownstreamKey] to the downstream service as its idempotency
// key, and that window is closed there.
//
// docs/guarantees.md in this module has each promise, what it rests on, and the
// checks that show it; docs/cost.md has the requests and capacity of every path.
//
// # Time
//
// A run holds its record by a lease of Config.Lease, a minute by default, and renews it for
// as long as it lives: so a run that has died locks its key for no longer than that. Where
// the context's deadline comes sooner, the lease ends with it, plus an allowance for the
// difference between the clocks of two environments.
//
// The context that the function gets ends before its lease does, and a Config.Reserve before
// the deadline at which Lambda kills: early enough to record what came of it, and to say so.
// Settling ends a moment before the deadline for the same reason. It ends as well where the
// table can't be reached for as long as the lease lasts; a longer Lease is the way out.
//
// # Tenants
//
// Where Lambda isolates tenants, the tenant is in the invocation's context and not in its
// event. It is a part of every key by itself: see [Tenants].
//
// # Switching it off
//
// With IDEMPOTENCY_DISABLED (or POWERTOOLS_IDEMPOTENCY_DISABLED) set to 1, t, true,
// y, yes or on, every guarded function runs every time, unprotected, and each run
// is reported. The variables are read at every call, as [Guard.Off] does; any other
// value leaves the guards on. For local runs and tests only.
//
// # Errors
//
// Each error is a type and a sentinel; errors.As and errors.Is both work. The
// runtime reports the type's name as errorType, which Step Functions can match.
// [VerdictOf] says of each what is known to have been done, and whether the same request may
// be sent again: what HTTP answers, lists of failed records and logs go by.
//
//	errorType              sentinel             when                                    code, done, retry
//	ConfigError            ErrConfig            the guard or its use has to be changed  invalid_config, nothing, no
//	KeyError               ErrKey               the key is missing, or unusable         key_missing or key_unusable, nothing, no
//	InProgressError        ErrInProgress        a duplicate while the first runs        in_progress, maybe, yes
//	MismatchError          ErrMismatch          same key, another payload               mismatch, nothing, no
//	PermanentError         ErrPermanent         the recorded failure, or a new one      failed, maybe, no
//	ResultNotStoredError   ErrResultNotStored   done before, nothing to replay          result_not_stored, all, no
//	ReplayError            ErrReplay            the stored result does not fit          replay_unreadable, all, no
//	OutcomeUnknownError    ErrOutcomeUnknown    an earlier run died, see RefuseUnknown  outcome_unknown, maybe, no
//	LeaseLostError         ErrLeaseLost         ran, but was taken over meanwhile       lease_lost, all or maybe, yes
//	StoreError             ErrStore             the record could not be acquired        store_failed, nothing, see Retryable
//	StoreError             ErrStore             it could not be settled                 not_stored, as far as is known
//	NotStartedError        ErrNotStarted        no time left to run                     not_started, nothing, yes
//	ResponseTooLargeError  ErrTooLarge          ran, and Lambda would refuse the answer response_too_large, all, no
//	StepError              ErrStep              a step could not run, or not be kept    by its cause
//	PartialSuccessError    ErrPartialSuccess    failed after finished steps             partial_success, something, yes
//	CompensationError      ErrCompensation      failed for good, and not undone yet     compensation_failed, something, yes
//	batch.UnfinishedError  batch.ErrUnfinished  a batch has items left                  unfinished, as far as is known, yes
//
// Where only a person can mend it, the last three of a step's or saga's have the code stuck, and
// say not to retry.
//
// Whatever error the guarded function itself returns comes out as it is, neither
// wrapped nor joined. There are two exceptions: a *PartialSuccessError wraps it where
// finished steps are kept, a *CompensationError where they are not undone. The latter
// wraps the permanent failure as well, so ask for it first.
package idempotent
