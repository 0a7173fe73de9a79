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
// A call that does several things can have them as steps: what a finished one has returned
// is in the record, and a later attempt does not run it again. One that fails for good can
// undo them. That is package saga; Config.Steps declares them to the guard.
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
// event. It is a part of every key by itself: see Config.TenantsShareRecords.
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
//	batch.UnfinishedError  batch.ErrUnfinished  a batch has items left                  unfinished, as far as is known, yes
//
// Package saga has those of steps.
//
// Whatever error the guarded function itself returns comes out as it is, neither
// wrapped nor joined; but for a function whose finished steps are kept, or not undone (package
// saga). And a permanent failure of a run that was taken over meanwhile is not the request's: a
// *LeaseLostError takes its place, and does not wrap it. (One that could not be recorded for
// other reasons stays what the function says it is; only the next arrival of the request finds
// nothing of it.) An error of this module that the function has got from a guarded call of its
// own comes out as a copy, so that [VerdictOf] knows it.
package idempotent
