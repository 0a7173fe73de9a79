// Package relay runs code of the user on goroutines that this module starts. A panic there would
// end the process before anybody could settle what it has begun, and past whoever has called;
// runtime.Goexit would leave the caller waiting. So how a function ends is brought back to the
// goroutine that waits for it, which ends the same way, or contains it.
//
// Every goroutine of a shipped package that may run code of the user is started here: a test at
// the root of the module holds that.
package relay

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Ending is how a function has ended. The zero Ending is that of one that has returned.
type Ending struct {
	Panicked bool
	Exited   bool   // it has ended its goroutine
	Value    any    // that it has panicked with
	Stack    []byte // of its goroutine, where it has not returned
}

// Panic is what a function has panicked with on another goroutine.
type Panic struct {
	Value any    // as it was thrown
	Stack []byte // of the goroutine that has panicked
}

func (p *Panic) Error() string {
	return fmt.Sprintf("%v\n\nof another goroutine:\n%s", p.Value, p.Stack)
}

// Unwrap returns the value, where that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Returned tells whether the function has returned.
func (e Ending) Returned() bool { return !e.Panicked && !e.Exited }

// Repeat ends the goroutine of its caller as the function has ended: with a [*Panic], with
// runtime.Goexit, or not at all.
func (e Ending) Repeat() {
	switch {
	case e.Panicked:
		panic(&Panic{Value: e.Value, Stack: e.Stack})
	case e.Exited:
		runtime.Goexit()
	}
}

// Go runs a function on a goroutine of its own, and then tells ended how it has ended, there.
func Go(fn func(), ended func(Ending)) {
	go func() {
		returned := false
		defer func() {
			switch value := recover(); {
			case returned:
				ended(Ending{})
			case value != nil:
				ended(Ending{Panicked: true, Value: value, Stack: debug.Stack()})
			default:
				ended(Ending{Exited: true, Stack: debug.Stack()})
			}
		}()
		fn()
		returned = true
	}()
}

// Run runs a function on a goroutine of its own, waits for it, and returns how it has ended.
func Run(fn func()) Ending {
	over := make(chan Ending, 1)
	Go(fn, func(e Ending) { over <- e })
	return <-over
}

// Each runs fn for all i below n, so many at a time, and returns when none is under way. If one
// has not returned, no more are begun, and Each ends as that one has: a panic outdoes a goroutine
// that was ended.
func Each(n, atOnce int, fn func(i int)) {
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		end  Ending
		free = make(chan struct{}, atOnce)
	)
	ended := func(e Ending) {
		defer all.Done()
		mu.Lock()
		if !end.Panicked && !e.Returned() {
			end = e
		}
		mu.Unlock()
		<-free
	}
	going := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return end.Returned()
	}
	for i := range n {
		free <- struct{}{}
		if !going() {
			break
		}
		all.Add(1)
		Go(func() { fn(i) }, ended)
	}
	all.Wait()
	end.Repeat()
}
