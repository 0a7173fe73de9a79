package storekit

import (
	"context"
	"math"
	"sync/atomic"
)

// Units counts the capacity units that the requests of a call of a store have been
// charged. Safe for concurrent use.
type Units struct{ bits atomic.Uint64 }

// Total is what has been counted so far.
func (u *Units) Total() float64 { return math.Float64frombits(u.bits.Load()) }

func (u *Units) add(units float64) {
	for {
		before := u.bits.Load()
		if u.bits.CompareAndSwap(before, math.Float64bits(math.Float64frombits(before)+units)) {
			return
		}
	}
}

type unitsKey struct{}

// CountUnits returns a context in which stores are asked to say what they are charged.
func CountUnits(ctx context.Context) (context.Context, *Units) {
	units := new(Units)
	return context.WithValue(ctx, unitsKey{}, units), units
}

// UnitsAsked tells a store whether anybody counts. Saying it may need asking for it.
func UnitsAsked(ctx context.Context) bool {
	_, asked := ctx.Value(unitsKey{}).(*Units)
	return asked
}

// Consumed is how a store says what it has been charged.
func Consumed(ctx context.Context, units float64) {
	if counted, asked := ctx.Value(unitsKey{}).(*Units); asked {
		counted.add(units)
	}
}
