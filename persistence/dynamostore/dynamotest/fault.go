package dynamotest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Fault says which requests are to suffer, and what. The zero value of every field but Do means any, or once: the zero
// Fault with an effect touches the next request.
//
// Of the requests that the first four fields fit, those from the Nth on are touched, each with the given Chance, until
// Times of them have been.
type Fault struct {
	Operation string // only this operation, e.g. "PutItem"
	Table     string // only requests that name this table
	Key       string // only requests that name the item with this key, spelled as in Request.Keys, e.g. "id=order-17"
	Request   int    // only the request with this Index in the log

	Nth    int     // the first that may be touched of the requests that fit, counted from 1; 0 is 1
	Times  int     // how many are touched; 0 is 1, Always has no end
	Chance float64 // the probability that one is touched, up to 1; 0 is 1
	Seed   uint64  // of the random numbers behind Chance: the same numbers for the same Seed

	Do Effect // what happens to them
}

// Always is Fault.Times without end.
const Always = -1

// rule is a fault of the plan and what came of it so far.
type rule struct {
	Fault
	random  *rand.Rand
	fitted  int
	touched int
}

// Inject adds faults to the plan. Where several touch one request, their effects come in the order of Inject, until one
// decides the request's fate before it is applied. Inject panics for a fault that can't ever happen: one that does
// nothing, is of an operation that is not served, or has a negative count or a chance outside of 0 to 1.
func (db *DB) Inject(faults ...Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, f := range faults {
		if err := f.check(); err != nil {
			panic(err)
		}
		f.Nth = max(f.Nth, 1)
		if f.Times == 0 {
			f.Times = 1
		}
		db.faults = append(db.faults, &rule{Fault: f, random: rand.New(rand.NewPCG(f.Seed, 0))})
	}
}

func (f Fault) check() error {
	_, served := operations[f.Operation]
	if _, ofStreams := streamOperations[f.Operation]; ofStreams {
		served = true
	}
	switch {
	case f.Do.before == nil && f.Do.after == nil:
		return fmt.Errorf("dynamotest: a fault without an effect: %+v", f)
	case f.Operation != "" && !served:
		return fmt.Errorf("dynamotest: a fault of an operation that is not served: %s", f.Operation)
	case f.Nth < 0 || f.Request < 0 || f.Times < Always || !(f.Chance >= 0 && f.Chance <= 1):
		return fmt.Errorf("dynamotest: a fault that can't happen: %+v", f)
	}
	return nil
}

// ClearFaults empties the plan.
func (db *DB) ClearFaults() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults = nil
}

// Unmet are the faults of the plan that have not touched any request so far. A test that injects a fault and ends with it
// unmet has not tested what it meant to.
func (db *DB) Unmet() []Fault {
	db.mu.Lock()
	defer db.mu.Unlock()
	var unmet []Fault
	for _, f := range db.faults {
		if f.touched == 0 {
			unmet = append(unmet, f.Fault)
		}
	}
	return unmet
}

// WithEffects returns a context whose requests suffer these effects, after those of the plan: for who sits between a
// client and the database, and has one request in hand. It works in-process only.
func WithEffects(ctx context.Context, effects ...Effect) context.Context {
	return context.WithValue(ctx, effectsKey{}, effects)
}

type effectsKey struct{}

// matching counts the request for every rule it fits and gives the effects of those whose turn it is. A rule that has done
// all it was to do is dropped.
func (db *DB) matching(r *Request) []Effect {
	var effects []Effect
	db.faults = slices.DeleteFunc(db.faults, func(f *rule) bool {
		if f.fits(r) && f.isTurn() {
			effects = append(effects, f.Do)
		}
		return f.touched == f.Times
	})
	return effects
}

func (f *rule) fits(r *Request) bool {
	return (f.Operation == "" || f.Operation == r.Operation) &&
		(f.Table == "" || slices.Contains(r.Tables, f.Table)) &&
		(f.Key == "" || slices.Contains(r.Keys, f.Key)) &&
		(f.Request == 0 || f.Request == r.Index)
}

// isTurn counts a request that fits and reports whether it is one to touch.
func (f *rule) isTurn() bool {
	f.fitted++
	if f.fitted < f.Nth || f.Chance > 0 && f.random.Float64() >= f.Chance {
		return false
	}
	f.touched++
	return true
}
