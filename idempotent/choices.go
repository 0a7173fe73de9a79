package idempotent

// MissingKey says what a payload without a key means.
type MissingKey int

const (
	// RefuseMissing answers with *KeyError; the function does not run.
	RefuseMissing MissingKey = iota
	// RunUnprotected runs the function without a record, every time, and reports
	// it. Not for a payload that can't be understood, which is always refused.
	RunUnprotected
)

// Results says what is stored of a function's results.
type Results int

const (
	// StoreResults stores a result, so that duplicates get it.
	StoreResults Results = iota
	// OnlyLock stores that the function has succeeded, and not with what: a duplicate
	// gets *ResultNotStoredError. For results that are too large, too secret or of no use
	// to a duplicate. Steps and permanent failures are recorded all the same.
	OnlyLock
)

// Renewal says whether the leases of long runs are renewed.
type Renewal int

const (
	// RenewLeases gives a run a short lease, and renews it for as long as the run lives.
	RenewLeases Renewal = iota
	// LeaseWholeRuns gives a run one lease that lasts until its context's deadline, or for
	// Config.Lease where there is none, which then defaults to 15 minutes, Lambda's longest
	// timeout. A run that has died locks its key for all of that time.
	LeaseWholeRuns
)

// Tenants says how requests of different tenants are told apart.
type Tenants int

const (
	// SeparateRecords makes the tenant that Lambda has in its context
	// (lambdacontext.LambdaContext.TenantID) a part of every key, so that no tenant gets
	// another one's answer: see [idempotency.TenantKey].
	SeparateRecords Tenants = iota
	// ShareRecords leaves the tenant out. The same key is then the same request, whoever
	// sends it.
	ShareRecords
)

// EndedLease says what it means that an earlier run has not finished within its lease: it
// died, or is still going on somewhere without the right to.
type EndedLease int

const (
	// RunAgain lets the next caller take the record over and run once more. Right where
	// running again is harmless, or guarded downstream.
	RunAgain EndedLease = iota
	// RefuseUnknown answers with *OutcomeUnknownError: whether the effect has happened is
	// not known, and somebody has to find out.
	RefuseUnknown
)

// StoreFault says what to do where the store can't be reached.
type StoreFault int

const (
	// FailClosed answers with *StoreError; a function that has not run yet does
	// not run.
	FailClosed StoreFault = iota
	// FailOpen prefers an answer to protection: where the record can't be
	// acquired the function runs without one, and where the result can't be
	// stored it is returned as if it had been. A retry may then run again.
	FailOpen
)
