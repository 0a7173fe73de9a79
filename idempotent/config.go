package idempotent

import (
	"context"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/internal/foreign"
	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
)

// Config says how an operation is guarded. Only Operation is required.
type Config struct {
	// Operation names the business action, such as "payment". It is part of
	// every key, so that two operations never share a record, and is given
	// explicitly because Go functions have no stable names. Required; the rules
	// are those of [idempotency.CheckOperation].
	Operation string

	// Key selects from the payload what identifies a request. Required for
	// [Guard.Handler] and [Func]; [idempotency.WholePayload] is right only where nothing
	// in the payload differs between tries, so not for the events of API Gateway or SQS.
	// [Do] and packages batch and httpguard get their keys otherwise, and refuse a
	// guard that has one. With package eventguard nil means the source's own ID of each
	// record.
	Key *idempotency.Expression

	// Fingerprint selects what must not differ between the tries of one key,
	// such as the amount. Defaults to nothing. A payload in which it is missing
	// is refused. [Do] has no payload to compare and refuses a guard that has one:
	// [Guard.Identity] takes a fingerprint of another making.
	Fingerprint *idempotency.Expression

	// Dialect, if set, is how another toolkit recognises requests: package powertools has
	// those of Powertools for AWS Lambda. It takes the place
	// of Key and Fingerprint, and Operation is then no part of the key. [Guard.Handler]
	// shows it the event as it came; [Func] shows it the event's JSON form in Go, which
	// is another one where the type leaves members out or spells numbers its way.
	Dialect foreign.Dialect

	// RunWithoutKey runs the function for a payload that has no key, without a record, every
	// time, and reports it. Not for a payload that can't be understood, which is always
	// refused. Defaults to false: the answer is *KeyError, and the function does not run.
	RunWithoutKey bool

	// OnlyLock stores that the function has succeeded, and not with what: a duplicate
	// gets *ResultNotStoredError. For results that are too large, too secret or of no use
	// to a duplicate. Steps and permanent failures are recorded all the same. Defaults to
	// false: a result is stored, and duplicates get it.
	OnlyLock bool

	// Steps are the steps that the function may run: saga.Steps of the package saga. Needs
	// a store that is a [persistence.Checkpointer]. Defaults to none.
	Steps journal.Steps

	// KeepEvent keeps what a run was called with in its record, until that is finished, so
	// that whoever operates the function can resume it without its client: see package
	// persistence/records. [Guard.Handler] keeps the event as it came, [Func] its JSON form.
	// Package httpguard keeps the request as an event of its API, without what signs somebody
	// in; eventguard keeps an event with the one record. [Do] and [DoAs] have none, nor has
	// package batch, whose items are resumed by starting the batch, and refuse the guard. An
	// event of more than 64 KB is not kept, nor one that can't be sealed; the run is not
	// failed for that. It is not logged, and stands in the table as the results do: see
	// package sealed. Each write of the record is larger by it. Defaults to false.
	KeepEvent bool

	// OnlyEnlists promises that the function has no effects but the writes that it
	// enlists (dynamostore.Enlist). It then runs without a PROCESSING record, in any
	// number of callers at once, and its result and its writes commit in one
	// transaction, if nobody else's have: one request in all. The others get the
	// result that was committed; also where their own run has failed, which costs a
	// read, and is told by the next try where that read came too early. Needs a store that is a [storekit.Transactor] and a
	// [persistence.Reader], and excludes Steps and durable functions. Defaults to false.
	OnlyEnlists bool

	// TTL is how long an outcome is replayed, counted from its completion.
	// Defaults to 24 hours, and is at least a second.
	TTL time.Duration

	// Lease is for how long a run that has died locks its key. A run that is alive may
	// take as long as its context has time: it renews its lease by a conditional write
	// whenever half of it is over, and a checkpoint of a step renews it for free. Its
	// context ends with the lease that the store has confirmed last, less ClockSkew, so
	// also where the table can't be reached for that long; a longer Lease is the way out.
	// Runs shorter than half a lease cost nothing more. Defaults to a minute, or to TTL
	// where that is shorter; see LeaseWholeRuns for leases that are not renewed, as
	// those of calls with OnlyEnlists, which hold no record.
	Lease time.Duration

	// LeaseWholeRuns gives a run one lease that is not renewed: until its context's
	// deadline, or for Lease where there is none, which then defaults to 15 minutes, Lambda's
	// longest timeout. A run that has died locks its key for all of that time. Defaults to
	// false; a store that is no [persistence.Renewer] has such leases anyway.
	LeaseWholeRuns bool

	// MinLease keeps others out for at least so long after a run has started that has not
	// ended, also where the context's deadline comes sooner. Defaults to none: after
	// its deadline a Lambda run is dead.
	MinLease time.Duration

	// ExecutionTimeout is how long an execution may live of a function that is durable: the
	// ExecutionTimeout of its DurableConfig. An execution that has ended otherwise than by its
	// function's answer (stopped, timed out, failed without one) locks its key for so long,
	// counted from its start. One that is paused together with its timeout lives longer: allow
	// for that. Defaults to 31,622,400 seconds, the longest that Lambda takes. Of no effect elsewhere.
	ExecutionTimeout time.Duration

	// ClockSkew is by how much the clocks of two environments may differ. It is
	// added to the lease. Defaults to a second.
	ClockSkew time.Duration

	// RefuseUnknown answers with *OutcomeUnknownError where an earlier run has not finished
	// within its lease: it died, or is still going on somewhere without the right to. Whether
	// its effect has happened is not known, and somebody has to find out: a record that nobody
	// settles locks its key until it expires, also one whose run never started. Defaults to
	// false: the next caller takes the record over and runs once more, which is right where
	// that is harmless, or guarded downstream.
	RefuseUnknown bool

	// Wait is how long a duplicate waits for the run it duplicates before it
	// gives up with *InProgressError; never more than half of the time until the
	// context's deadline. Defaults to not waiting at all.
	Wait time.Duration

	// ReadFirst looks for a finished record before it tries to write one. That
	// is cheaper where most calls are replays, and dearer where most are not.
	// The store must be a [persistence.Reader].
	ReadFirst bool

	// NoLookAhead claims every call of a batch (package batch, and the events of eventguard).
	// Otherwise those look for finished records by the hundred before they claim the rest, where
	// that seems cheaper: where a batch seems to have been started before, which is found out by
	// looking for six records of a hundred, 16 at most, and by what claims find. A batch of fewer
	// than 17 calls is claimed; with ReadFirst it always looks. It needs a store that can (all of
	// this module can), and on DynamoDB the permission dynamodb:BatchGetItem; without it, and
	// where looking fails, each is asked for by itself. Defaults to false.
	NoLookAhead bool

	// FailOpen prefers an answer to protection where the store can't be reached: where the
	// record can't be acquired the function runs without one, and where the result can't be
	// stored it is returned as if it had been. A retry may then run again. Defaults to false:
	// the answer is *StoreError, and a function that has not run yet does not run.
	FailOpen bool

	// Reserve is how much of the time until the context's deadline is kept for recording
	// the outcome and answering: the function's context ends that much earlier, and no
	// function is started later. Lambda kills a function at its deadline, and what is not
	// recorded by then runs again. Never more than half of the time that a call has.
	// Defaults to a second, or to a tenth of that time where it is shorter.
	Reserve time.Duration

	// StoreTimeout bounds each call of the store, all its retries included: to
	// acquire a record, which also takes no more than half of the time until the
	// context's deadline, and to settle it after the function has run, which does
	// not depend on the function's context but ends a moment before the deadline (a
	// fifth of the Reserve), so that the caller still hears what is known. A store may give up
	// sooner to acquire a record where it is asked too much. Defaults to 5 seconds.
	StoreTimeout time.Duration

	// TenantsShareRecords leaves the tenant out of keys where Lambda isolates tenants (its
	// tenant isolation mode): the same key is then the same request, whoever sends it.
	// Defaults to false: the tenant that Lambda has in its context
	// (lambdacontext.LambdaContext.TenantID) is a part of every key, so that no tenant gets
	// another one's answer: see [idempotency.TenantKey].
	TenantsShareRecords bool

	// Observe, if set, is called for every [Event], on the goroutine of the call, or
	// of the step; EventRenewed, and EventStoreFailed of a renewal, come on one of their
	// own beside it. It must be safe for concurrent use.
	Observe func(context.Context, Event)

	// Trace, if set, is told of the parts of calls when they begin: [EventBatch],
	// EventCall, EventRun, EventStep, EventCompensation and EventRequest. The context that
	// it returns is the one in which the part goes on, with a span for instance; that of
	// the guarded function's own requests, too. The function that it returns is called when
	// the part has ended, once, and also where a panic or runtime.Goexit ends it, with the
	// same Event and its Err and Elapsed. It must be safe for concurrent use. Packages emf
	// and otelguard have one. Without it nothing is measured.
	Trace func(context.Context, Event) (context.Context, func(Event))

	// OnReplay, if set, is called for every replay and returns what is answered
	// instead of the stored result.
	OnReplay func(context.Context, Replay) ([]byte, error)

	// Logger gets the events too: what needs attention as warnings and errors,
	// the rest for debugging; never a payload or a result. Filters go by the attributes
	// "event" ([EventKind]) and "code" ([Code]), not by the message. Defaults to
	// [slog.Default] as it is when something is logged.
	Logger *slog.Logger
}

const (
	defaultTTL          = 24 * time.Hour
	defaultLease        = time.Minute
	defaultClockSkew    = time.Second
	defaultStoreTimeout = 5 * time.Second
)

func (c Config) withDefaults(renews bool) Config {
	if c.TTL == 0 {
		c.TTL = defaultTTL
	}
	if c.Lease == 0 {
		c.Lease = longestRun
		if renews {
			c.Lease = defaultLease
		}
		if c.TTL >= time.Second {
			c.Lease = min(c.Lease, c.TTL)
		}
	}
	if c.ClockSkew == 0 && c.Lease > 0 {
		c.ClockSkew = min(defaultClockSkew, c.Lease/2)
	}
	if c.ExecutionTimeout == 0 {
		c.ExecutionTimeout = longestExecution
	}
	if c.StoreTimeout == 0 {
		c.StoreTimeout = defaultStoreTimeout
	}
	return c
}
