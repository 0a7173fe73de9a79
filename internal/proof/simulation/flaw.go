package simulation

import (
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Store is what the engine is given.
type Store interface {
	persistence.Store
	persistence.Reader
	persistence.Checkpointer
	persistence.Renewer
	storekit.Sizer
	storekit.Transactor
}

// Flaw is what a simulation is spoilt with, to see that the rules notice. The zero
// value spoils nothing.
type Flaw struct {
	// Requests wraps the client of each process, to spoil what it sends.
	Requests func(dynamostore.API) dynamostore.API
	// Store wraps the store of each process.
	Store func(Store) Store
	// ClocksApart is how far the clocks of two processes may be apart. Defaults to
	// the allowance.
	ClocksApart time.Duration
	// Tokenless has DynamoDB forget every ClientRequestToken at once, as if the
	// transactions were sent without any.
	Tokenless bool
	// Shared leaves the tenant out of the keys.
	Shared bool
	// Verdict takes the place of the engine's.
	Verdict func(error) idempotent.Verdict
}
