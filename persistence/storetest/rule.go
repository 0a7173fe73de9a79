package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Rule is one promise of the contract, in a form that can be run.
type Rule struct {
	// Name of the rule, such as "complete/owner-only": the subject and, after a
	// slash, what is demanded of it. Unique.
	Name string
	// Doc says in a sentence or two what a store must do.
	Doc string
	// Needs is what a store must be able to do for the rule to mean anything.
	Needs Need
	// Check returns nil where the store keeps the rule, and otherwise an error
	// that says what was expected and what was seen. The error wraps
	// [ErrNotApplicable] where the store can't do what the rule needs.
	//
	// A check uses keys of its own, so any number of checks may run at the same
	// time on one store.
	Check func(ctx context.Context, store persistence.Store) error
}

// Need is an ability that a rule asks of a store besides those of
// [persistence.Store].
type Need int

const (
	// NeedsNothing marks a rule for every store.
	NeedsNothing Need = iota
	// NeedsCheckpointer marks a rule for a [persistence.Checkpointer].
	NeedsCheckpointer
	// NeedsRenewer marks a rule for a [persistence.Renewer].
	NeedsRenewer
	// NeedsReader marks a rule for a [persistence.Reader].
	NeedsReader
	// NeedsBatchReader marks a rule for a [storekit.BatchReader].
	NeedsBatchReader
	// NeedsPlanter marks a rule for a [Planter].
	NeedsPlanter
	// NeedsRun marks a rule for a store whose format has a place for what a record says of its
	// run: those of other toolkits have none, nor for envelopes.
	NeedsRun
	// NeedsForgetter marks a rule for a [storekit.Forgetter].
	NeedsForgetter
	// NeedsLister marks a rule for a [storekit.Lister].
	NeedsLister
	// NeedsSizer marks a rule for a [persistence.Checkpointer] that is a [storekit.Sizer].
	NeedsSizer
	// NeedsLedger marks a rule for a [Ledger].
	NeedsLedger
)

// String returns the name of the interface that is needed.
func (n Need) String() string {
	switch n {
	case NeedsCheckpointer:
		return "persistence.Checkpointer"
	case NeedsRenewer:
		return "persistence.Renewer"
	case NeedsReader:
		return "persistence.Reader"
	case NeedsBatchReader:
		return "storekit.BatchReader"
	case NeedsPlanter:
		return "storetest.Planter"
	case NeedsRun:
		return "store of this module's own format"
	case NeedsForgetter:
		return "storekit.Forgetter"
	case NeedsLister:
		return "storekit.Lister"
	case NeedsSizer:
		return "storekit.Sizer"
	case NeedsLedger:
		return "storetest.Ledger"
	default:
		return "persistence.Store"
	}
}

func (n Need) metBy(store persistence.Store) bool {
	met := true
	switch n {
	case NeedsCheckpointer:
		_, met = store.(persistence.Checkpointer)
	case NeedsRenewer:
		_, met = store.(persistence.Renewer)
	case NeedsReader:
		_, met = store.(persistence.Reader)
	case NeedsBatchReader:
		_, met = store.(storekit.BatchReader)
	case NeedsPlanter:
		_, met = store.(Planter)
	case NeedsRun:
		met = storekit.HoldsEnvelopes(store)
	case NeedsForgetter:
		_, met = store.(storekit.Forgetter)
	case NeedsLister:
		_, met = store.(storekit.Lister)
	case NeedsSizer:
		_, sizes := store.(storekit.Sizer)
		_, keeps := store.(persistence.Checkpointer)
		met = sizes && keeps
	case NeedsLedger:
		_, met = store.(Ledger)
	}
	return met
}

// Planter is a store under test into which any record can be put, also one that
// no Acquire writes: without a lease, because another toolkit wrote it, or
// without an owner. It is for tests only; no store needs it in production.
type Planter interface {
	// Plant writes the record as it is, in place of any other under its key. A
	// zero time or an empty owner is written as absent.
	Plant(ctx context.Context, r persistence.Record) error
}

// Ledger is a [storekit.Transactor] under test whose writes the suite can make and count: a
// table of the application's beside the store. It is for tests only.
type Ledger interface {
	storekit.Transactor
	// Entry returns a write that makes an entry under a name, another one each time that it
	// is carried out.
	Entry(name string) storekit.Write
	// Refusal returns a write that is refused whenever it is to be carried out.
	Refusal() storekit.Write
	// Entries returns how many entries there are under a name.
	Entries(ctx context.Context, name string) (int, error)
}

// ErrNotApplicable is wrapped by the error of a check on a store that lacks
// what the rule needs, whether by its type or by an [errors.ErrUnsupported].
var ErrNotApplicable = errors.New("storetest: the rule is not applicable")

// Rules returns all rules, in the order in which they read best.
func Rules() []Rule {
	return slices.Concat(
		acquireRules(),
		leaseRules(),
		takeOverRules(),
		fingerprintRules(),
		expiryRules(),
		completeRules(),
		releaseRules(),
		stepRules(),
		renewRules(),
		zombieRules(),
		resultRules(),
		isolationRules(),
		raceRules(),
		contextRules(),
		readRules(),
		readManyRules(),
		operateRules(),
		executionRules(),
		roomRules(),
		transactionRules(),
	)
}

// Run checks every rule in a subtest of its own. The function is called once
// for each rule; it may open a new store or return the same one every time.
func Run(t *testing.T, newStore func(t *testing.T) persistence.Store) {
	t.Helper()
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			err := rule.Check(t.Context(), newStore(t))
			switch {
			case errors.Is(err, ErrNotApplicable):
				t.Skipf("NOT CHECKED: %v", err)
			case err != nil:
				t.Errorf("%s\nThe store does otherwise: %v", rule.Doc, err)
			}
		})
	}
}

// rule makes a Rule of a story on a stage.
func rule(name string, needs Need, doc string, story func(s *stage)) Rule {
	check := func(ctx context.Context, store persistence.Store) error {
		if !needs.metBy(store) {
			return fmt.Errorf("%w: %T is no %v", ErrNotApplicable, store, needs)
		}
		s := newStage(ctx, store, name)
		story(s)
		if needs != NeedsNothing && errors.Is(s.err, errors.ErrUnsupported) {
			return fmt.Errorf("%w: %T is a %v, but answers: %w", ErrNotApplicable, store, needs, errors.ErrUnsupported)
		}
		return s.err
	}
	return Rule{Name: name, Doc: doc, Needs: needs, Check: check}
}
