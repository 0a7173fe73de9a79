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
// # Where requests come from
//
// What a duplicate looks like, and how it is answered, depends on who sends it.
// Package httpguard guards HTTP APIs, eventguard queues, streams and topics, and
// client is for those who call a guarded API. They use nothing of this package
// but what it exports: an adapter of your own takes the identity of a payload
// from [Guard.Identify] and runs under it by [DoAs]; [WithObserver] tells it what
// became of the record.
//
// # What is promised
//
// At most one run for each lease; a stored result is never changed or lost
// before it expires; nobody is locked out by a write of their own whose reply
// got lost; a duplicate never touches the original.
//
// What is not promised is that effects outside the store happen exactly once. A
// run that dies after its effect and before its record is run again when its
// lease is over. Hand [Call.Key] to the downstream service as its idempotency
// key, and that window is closed there.
//
// docs/guarantees.md in this module has each promise, what it rests on, and the
// checks that show it; docs/cost.md has the requests and capacity of every path.
//
// # Time
//
// The lease of a run is the deadline of its context plus an allowance for the
// difference between the clocks of two environments, so that nobody takes over
// a run that Lambda has not killed yet. The context that the function gets ends
// before its lease does.
//
// # Switching it off
//
// With IDEMPOTENCY_DISABLED (or POWERTOOLS_IDEMPOTENCY_DISABLED) set to 1, t, true,
// y, yes or on, every guarded function runs every time, unprotected, and each run
// is reported. The variables are read at every call, as [Disabled] does; any other
// value leaves the guards on. For local runs and tests only.
//
// # Errors
//
// Each error is a type and a sentinel; errors.As and errors.Is both work. The
// runtime reports the type's name as errorType, which Step Functions can match.
//
//	errorType             sentinel             when                                   HTTP  SQS record
//	KeyError              ErrKey               the key is missing or unusable         400   failed
//	InProgressError       ErrInProgress        a duplicate while the first runs       409   failed
//	MismatchError         ErrMismatch          same key, another payload              422   failed
//	PermanentError        ErrPermanent         the recorded failure, or a new one     (own) by choice
//	ResultNotStoredError  ErrResultNotStored   done before, nothing to replay         409   acknowledged
//	ReplayError           ErrReplay            the stored result does not fit         500   failed
//	OutcomeUnknownError   ErrOutcomeUnknown    an earlier run died, see RefuseUnknown 409   failed
//	LeaseLostError        ErrLeaseLost         ran, but was taken over meanwhile      409   failed
//	StoreError            ErrStore             the store failed, see Executed         503   failed
//	NotStartedError       ErrNotStarted        no time left to run                    503   failed
//
// Whatever error the guarded function itself returns comes out as it is, neither
// wrapped nor joined.
package idempotent
