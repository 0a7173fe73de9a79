// Package origin is where an error has come from: the guarded call that returned it, or
// the function of that call.
package origin

import "sync/atomic"

// Mark is embedded in errors of guarded calls. It tells whether the error has come out of
// a guarded function, which got it from a guarded call of its own: it then says nothing of
// what else the function has done. Safe for concurrent use, because a function may return
// the same error to several callers.
type Mark struct{ passedOn atomic.Bool }

// Inner tells whether the error has come out of a guarded function.
func (m *Mark) Inner() bool { return m.passedOn.Load() }

// PassOn notes that the function of the call of that key has returned the error. Errors
// that a call makes for its own function to hand on do not count.
func (m *Mark) PassOn(string) { m.passedOn.Store(true) }
