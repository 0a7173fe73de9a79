package relay_test

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/internal/relay"
)

var errThrown = errors.New("thrown")

// endings are the ways in which a function ends, and what whoever waits for it sees of them.
var endings = map[string]struct {
	fn   func()
	seen func(relay.Ending) bool
}{
	"it returns":              {func() {}, relay.Ending.Returned},
	"it panics":               {func() { panic("thrown") }, func(e relay.Ending) bool { return e.Panicked && e.Value == "thrown" }},
	"it panics with an error": {func() { panic(errThrown) }, func(e relay.Ending) bool { return e.Panicked && e.Value == errThrown }},
	"it ends its goroutine":   {runtime.Goexit, func(e relay.Ending) bool { return e.Exited }},
}

func TestHowAFunctionEndsIsBroughtBack(t *testing.T) {
	for name, test := range endings {
		t.Run(name, func(t *testing.T) {
			for way, run := range map[string]func(func()){
				"Run":  func(fn func()) { relay.Run(fn).Repeat() },
				"Each": func(fn func()) { relay.Each(3, 2, func(int) { fn() }) },
			} {
				if e := relay.Run(func() { run(test.fn) }); !test.seen(unwrapped(e)) {
					t.Errorf("%s ends with %+v", way, e)
				}
			}
		})
	}
}

// unwrapped is an ending without the Panic that Repeat has thrown.
func unwrapped(e relay.Ending) relay.Ending {
	if inner, ok := e.Value.(*relay.Panic); ok {
		e.Value, e.Stack = inner.Value, inner.Stack
	}
	return e
}

func TestAPanicHasTheStackOfItsOwnGoroutine(t *testing.T) {
	e := relay.Run(relay.Run(whatPanics).Repeat)
	if thrown, ok := e.Value.(*relay.Panic); !ok || !strings.Contains(thrown.Error(), "whatPanics") {
		t.Errorf("got %v", e.Value)
	}
}

func whatPanics() { panic("thrown") }

func TestEachRunsAllButNotAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, ran atomic.Int32
		relay.Each(10, 3, func(int) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second) // virtual
			now.Add(-1)
			ran.Add(1)
		})
		if ran.Load() != 10 || most.Load() != 3 {
			t.Errorf("%d ran, %d at once", ran.Load(), most.Load())
		}
	})
}

// What is under way is waited for, what is not begun is not, and a panic outdoes an exit.
func TestEachWaitsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		e := relay.Run(func() {
			relay.Each(10, 2, func(i int) {
				if i == 0 {
					time.Sleep(time.Millisecond) // virtual
					runtime.Goexit()
				}
				time.Sleep(time.Second) // virtual
				ran.Add(1)
				panic(errThrown)
			})
		})
		if ran.Load() != 1 || unwrapped(e).Value != errThrown {
			t.Errorf("%d ran, %+v", ran.Load(), e)
		}
	})
}
