package idempotent

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Guard guards one operation: whatever is run through it shares its records, so
// wrap one function with it. It is immutable and safe for concurrent use, also by
// the concurrent invocations of a Lambda managed instance; make it once, next to
// the store, and keep it.
type Guard struct {
	store  persistence.Store
	config Config
	made   *Guard // by New, of which this may be a copy
	// What else the store can do; nil where it can't.
	reader       persistence.Reader
	many         storekit.BatchReader
	checkpointer persistence.Checkpointer
	sizer        storekit.Sizer
	transactor   storekit.Transactor
	renewer      persistence.Renewer // also nil where leases are not to be renewed
	// What a copy for an adapter has besides: see adapter.go.
	observe func(context.Context, Event)
	shared  *sharedTime
	event   func() []byte
	ahead   *ahead
	place   int // of the call among those that ahead looks for
}

// New returns a guard for the operation that config describes. It checks the
// whole config and joins every fault it finds into one error ([ErrConfig],
// [*ConfigError]).
//
// An operation is guarded once on a store: a second guard with the same operation on the
// same one is refused ([ErrDuplicateOperation]), because two functions that share a name
// would answer for each other. Share the guard instead. That is so for as long as the store
// is in use; stores are told apart by their pointers.
func New(store persistence.Store, config Config) (*Guard, error) {
	if isNil(store) {
		return nil, &ConfigError{Field: "New.store", Problem: "is nil; dynamostore.FromEnvironment makes one, and persistence.NewMemory one for tests"}
	}
	renewer, renews := storekit.Able[persistence.Renewer](store)
	renews = renews && !config.LeaseWholeRuns && !config.OnlyEnlists
	config = config.withDefaults(renews)
	if err := config.check(store); err != nil {
		return nil, err
	}
	if !guarded.add(store, config.Operation) {
		return nil, &ConfigError{
			Field:   "Operation",
			Problem: fmt.Sprintf("%q is guarded on this store already; share that Guard, or give this operation a name of its own", config.Operation),
			Err:     ErrDuplicateOperation,
		}
	}
	g := &Guard{store: store, config: config}
	g.made = g
	g.reader, _ = storekit.Able[persistence.Reader](store)
	g.many, _ = storekit.Able[storekit.BatchReader](store)
	g.checkpointer, _ = storekit.Able[persistence.Checkpointer](store)
	g.sizer, _ = storekit.Able[storekit.Sizer](store)
	g.transactor, _ = storekit.Able[storekit.Transactor](store)
	if renews {
		g.renewer = renewer
	}
	g.traced()
	return g, nil
}

// MustNew is [New] for package variables: it panics where that returns an error.
func MustNew(store persistence.Store, config Config) *Guard {
	g, err := New(store, config)
	if err != nil {
		panic(err)
	}
	return g
}

// Config returns what the guard was made with, defaults filled in. For adapters.
func (g *Guard) Config() Config {
	return g.config
}

// disabledEnv are the environment variables that switch all guards off, each
// with one of the values 1, t, true, y, yes and on: the function then runs every
// time, unprotected. They are read at every call. Meant for local runs and tests
// only; any other value leaves the guards on.
var disabledEnv = [...]string{"IDEMPOTENCY_DISABLED", "POWERTOOLS_IDEMPOTENCY_DISABLED"}

// disabled returns the variable that switches the guards off, if one does.
func disabled() (string, bool) {
	for _, name := range disabledEnv {
		switch strings.ToLower(os.Getenv(name)) {
		case "1", "t", "true", "y", "yes", "on":
			return name, true
		}
	}
	return "", false
}
