package explore

import (
	"context"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// System is a table and the protocol of the callers that share it.
type System struct {
	// Name for the report.
	Name string
	// Open makes an empty table: one for each worker that explores, outside of any
	// bubble.
	Open func() (Table, error)
	// Saga is what the guarded function does. One without steps is a plain function.
	Saga Saga
	// AtOnce says that the function's only effects are writes that it enlists, and that it
	// runs without a record: in any number of callers at once.
	AtOnce bool
	// Guarded says that the protocol is this library's: it knows failures for good, and
	// says what its answers claim.
	Guarded bool
	// Durable says that the function is a durable one: callers are invocations of executions.
	Durable bool
	// Lease is that of the runs, where it is renewed; 0 where it lasts as long as the call.
	Lease time.Duration
	// Room is how many bytes of steps a record has room for, where that is little.
	Room int
	// Unsure says that nobody may be able to tell what became of a call: it then stays as
	// it is.
	Unsure bool
	// Judge, if set, takes the place of the library's verdict, to see a claim that is not
	// true.
	Judge func(error) idempotent.Verdict
	// Spoil, if set, breaks the store that the engine gets, to see a promise broken.
	Spoil func(Table, persistence.Store) persistence.Store
}

// Table is where the record of the callers' key is kept.
type Table interface {
	// Reset empties the table.
	Reset()
	// Record returns what is stored, in the words of this library.
	Record() (persistence.Record, bool)
	// RemoveExpired does what the table's TTL does at now.
	RemoveExpired(now time.Time)
	// Connect returns the protocol that a process follows. Whatever it asks of the
	// table has to go through [Ask].
	Connect(p *Process) (Protocol, error)
}

// Ledger is a [Table] beside which there is another one, for the writes that functions
// enlist.
type Ledger interface {
	// Applied returns how often each of them was applied, by its name.
	Applied() map[string]int
}

// Protocol takes one call through an idempotency protocol. run is what must not
// happen twice. The error of a caller that is turned away because another run is
// under way wraps [ErrRejected], and that of one that gets a recorded failure wraps
// [ErrFailed].
type Protocol func(ctx context.Context, run func(context.Context) (string, error)) (string, error)
