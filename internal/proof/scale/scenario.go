package scale

import (
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Scenario is a load on one function and its table. Rates and counts are those of the whole; see Share.
type Scenario struct {
	Name string
	Seed uint64
	// Share is the size it is played at: 1 is the whole, 0.1 a tenth of the load, of the environments and of what the
	// table bears.
	Share float64
	// Environments is the function's concurrency. A call that finds none free is refused by Lambda.
	Environments int
	// Together has all calls in one process with one guard, as in a container, and not each in an environment of its own.
	Together bool
	// Writes is the table's provisioned write capacity, in units a second; 0 is on-demand.
	Writes int
	// Run is how long the function takes on average: between half and one and a half of that. 0 is 40 ms.
	Run time.Duration
	// Streams are the requests.
	Streams []Stream
	// Length is for how long requests come. What is under way then comes to its end.
	Length time.Duration
	// Guard is how the function is guarded.
	Guard Guard
}

// Guard is a way to guard the function.
type Guard struct {
	Name   string
	Config idempotent.Config // but for the operation and the logger
	Cached bool
}

// Stream is requests of one kind.
type Stream struct {
	Name string
	// Rate is how many come a second, at random times.
	Rate float64
	// From and To are when they come; no To is the scenario's end.
	From, To time.Duration
	// Keys are whose requests they are, by number: n counts from 0 in each stream.
	Keys func(n int) string
}

// What is assumed of the world around the table.
const (
	// timeout of the function.
	timeout = 15 * time.Second
	// A request is on its way for so long, there and back together; DynamoDB answers in milliseconds.
	shortestWay = 2 * time.Millisecond
	longestWay  = 8 * time.Millisecond

	usualRun = 40 * time.Millisecond
)
