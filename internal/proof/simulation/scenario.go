package simulation

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
)

// Business is what the guarded functions of a simulation do.
type Business int

const (
	// Orders have one effect each, outside of DynamoDB: a line in a ledger.
	Orders Business = iota
	// Transfers move money between the accounts of a second table, by writes that
	// commit with the record.
	Transfers
)

// scenario is what a seed decides before anything happens.
type scenario struct {
	seed         uint64
	business     Business
	operations   []operation
	accounts     []account // of transfers, as they are opened
	environments int
	clients      int
	requests     int // of each client
	// requestTimeout is the store's. It is not one of the engine's own timeouts: of
	// two that end at the same instant the first is a matter of luck.
	requestTimeout time.Duration

	// The weather, mostly as probabilities.
	bare     bool    // DynamoDB never says which item failed a condition
	faults   float64 // that something goes wrong with a request to DynamoDB
	freezes  float64 // that a process freezes at a point where it can
	deaths   float64 // that it dies there
	slowness float64 // that a part of the function's work takes about as long as a lease
	failures float64 // that the function does not simply succeed
}

// operation is a guarded function as it is deployed.
type operation struct {
	config  idempotent.Config
	guarded guarding
	orders  []order // one for each key
	terms   terms   // of transfers
	// timeout is that of Lambda; 0 is a caller without a deadline.
	timeout time.Duration
	// outlives says that nobody kills a process whose invocation has timed out.
	outlives bool
}

// guarding is the adapter that guards the function.
type guarding int

const (
	byHandler guarding = iota
	byFunc
	byDo
	adapters
)

// clockSkew is the allowance of every operation. The clocks of two environments
// are at most so far apart.
const clockSkew = 800 * time.Millisecond

func newScenario(b Business, seed uint64) scenario {
	dice := rand.New(rand.NewPCG(seed, 0))
	keys := pick(dice, 1, 1, 1, 2, 3)
	s := scenario{
		seed:           seed,
		business:       b,
		environments:   2 + dice.IntN(3),
		clients:        4 + dice.IntN(4),
		requests:       4 + dice.IntN(5),
		requestTimeout: between(dice, 500*time.Millisecond, 2*time.Second),
		bare:           dice.IntN(4) == 0,
		faults:         pick(dice, 0.02, 0.1, 0.3, 0.5),
		freezes:        pick(dice, 0, 0.02, 0.08),
		deaths:         pick(dice, 0, 0.01, 0.03),
		slowness:       pick(dice, 0.05, 0.2, 0.4),
		failures:       pick(dice, 0.1, 0.4, 0.7),
	}
	for i := range pick(dice, 1, 1, 2) {
		s.operations = append(s.operations, newOperation(dice, fmt.Sprint("operation-", i+1)))
		s.operations[i].orders = newOrders(keys)
		if dice.IntN(4) == 0 {
			s.operations[i].orders = ofTenants(s.operations[i].orders)
		}
	}
	if b == Transfers {
		s.transfer(dice)
	}
	return s
}

func newOrders(keys int) []order {
	orders := make([]order, keys)
	for i := range orders {
		orders[i] = order{ID: fmt.Sprint("order-", i+1), Amount: 100}
	}
	return orders
}

// ofTenants are the same orders of two tenants.
func ofTenants(orders []order) (all []order) {
	for _, tenant := range []string{"blue", "green"} {
		for _, o := range orders {
			o.tenant = tenant
			all = append(all, o)
		}
	}
	return all
}

func newOperation(dice *rand.Rand, name string) operation {
	op := operation{
		guarded:  guarding(dice.IntN(int(adapters))),
		timeout:  pick(dice, 0, between(dice, 2*time.Second, 8*time.Second), between(dice, 8*time.Second, 40*time.Second)),
		outlives: dice.IntN(2) == 0,
		config: idempotent.Config{
			Operation:      name,
			TTL:            between(dice, 15*time.Second, 90*time.Second),
			Lease:          between(dice, 2*time.Second, 8*time.Second),
			LeaseWholeRuns: pick(dice, false, false, true),
			MinLease:       pick(dice, 0, 0, between(dice, time.Second, 10*time.Second)),
			ClockSkew:      clockSkew,
			StoreTimeout:   between(dice, time.Second, 6*time.Second),
			Wait:           pick(dice, 0, between(dice, time.Second, 10*time.Second)),
			ReadFirst:      dice.IntN(2) == 0,
			RefuseUnknown:  pick(dice, false, false, true),
			Logger:         slog.New(slog.DiscardHandler),
		},
	}
	if op.guarded != byDo {
		op.config.Key = idempotency.MustJMESPath("id")
		op.config.Fingerprint = idempotency.MustJMESPath("amount")
	}
	return op
}

// longestLease is the longest that one of the operation's records may be locked,
// by any clock.
func (o operation) longestLease() time.Duration {
	longest := max(o.config.Lease, o.config.MinLease)
	if o.config.LeaseWholeRuns || o.terms.way == atOnce || o.terms.way == oldAndNew {
		longest = max(longest, o.timeout+clockSkew)
	}
	return longest + clockSkew
}

func pick[T any](dice *rand.Rand, choices ...T) T { return choices[dice.IntN(len(choices))] }

// order is the event.
type order struct {
	ID     string `json:"id"`
	Amount int    `json:"amount"`
	// From and To are the accounts of a transfer.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// tenant is whose order it is, which no event says; empty without tenants.
	tenant string
}

// receipt is the result: which run has had the effect.
type receipt struct {
	Run    int `json:"run"`
	Amount int `json:"amount"`
}
