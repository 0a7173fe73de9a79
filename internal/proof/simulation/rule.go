package simulation

import (
	"fmt"
	"time"
)

// Rule is one of the promises that are checked while a simulation runs.
type Rule string

const (
	// Alone says that no two runs of a key overlap while both have the right to
	// run: at most one effect for each lease.
	Alone Rule = "no two runs of a key at a time"
	// Final says that after an operation is recorded as finished its function does
	// not run again, and its record does not change, until the record expires.
	Final Rule = "a finished record stays until it expires"
	// Truthful says that whoever gets an answer gets what the one finished run of
	// the key has recorded, and that runs record nothing but their own effect.
	Truthful Rule = "every answer is the recorded one"
	// OwnersOnly says that nobody but a record's owner completes or releases it, and
	// that it is taken over only when its lease has ended.
	OwnersOnly Rule = "only its owner settles a record"
	// Bounded says that every record is finished or has a lease that ends.
	Bounded Rule = "every record is settled or bounded by a lease"
	// Open says that once the faults have stopped nobody is locked out for longer
	// than a lease and the allowance.
	Open Rule = "nobody is locked out"
	// Claimed says that what an answer claims of what was done is so, and stays so,
	// whatever arrives late ([idempotent.VerdictOf]).
	Claimed Rule = "every answer's claim is true"
	// Conserved says that the accounts always hold what they held in the beginning,
	// to the unit, that none is overdrawn, and that nothing moves but whole transfers.
	Conserved Rule = "no money is made or lost"
	// Applied says that a transfer is applied as often as its records say: once for
	// each that is completed, or whose step is finished and not undone.
	Applied Rule = "a transfer is applied as often as is recorded"
)

// Violation is a rule broken.
type Violation struct {
	Rule   Rule
	At     time.Duration // since the start
	Detail string
	// Line is how many lines the log had by then.
	Line int
}

func (v Violation) String() string {
	return fmt.Sprintf("%v: broken: %s: %s", v.At, v.Rule, v.Detail)
}
