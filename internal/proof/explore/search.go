package explore

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// path is a way from the start: the steps taken, in order.
type path []step

func (p path) then(s step) path { return append(slices.Clip(p), s) }

// search is an exploration under way. Its workers share what is still to do, and
// which states are known.
type search struct {
	bounds Bounds

	mu      sync.Mutex
	wake    sync.Cond
	todo    []path
	working int

	known      states
	prospects  states // of callers that are told to repeat their requests
	steps      atomic.Int64
	executions atomic.Int64
	depth      int
	violations map[Promise]Violation
}

func newSearch(b Bounds) *search {
	s := &search{bounds: b, todo: []path{nil}, violations: make(map[Promise]Violation)}
	s.wake.L = &s.mu
	return s
}

func (s *search) run(t *testing.T, system System) {
	t.Helper()
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		table, err := system.Open()
		if err != nil {
			t.Fatal(err)
		}
		workers.Go(func() {
			for {
				p, more := s.next()
				if !more {
					return
				}
				func() {
					defer s.done() // also where the test ends this goroutine, for a data race say
					synctest.Test(t, func(*testing.T) { s.execute(system, table, p) })
				}()
			}
		})
	}
	workers.Wait()
}

// next returns a path to follow, or false when all have been followed.
func (s *search) next() (path, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.todo) == 0 && s.working > 0 {
		s.wake.Wait()
	}
	if len(s.todo) == 0 || s.bounds.First && len(s.violations) > 0 {
		return nil, false
	}
	i := len(s.todo) - 1
	if s.bounds.Shortest {
		i = 0
	}
	p := s.todo[i]
	s.todo[i] = nil
	if s.bounds.Shortest {
		s.todo = s.todo[1:]
	} else {
		s.todo = s.todo[:i]
	}
	s.working++
	return p, true
}

func (s *search) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working--
	if s.working == 0 {
		s.wake.Broadcast()
	}
}

func (s *search) add(paths ...path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.todo = append(s.todo, paths...)
	s.wake.Broadcast()
}

// execute runs the system from the start along a path, and from its end on along
// the first of all further paths. The others are put down to be followed later.
func (s *search) execute(system System, table Table, p path) {
	s.executions.Add(1)
	w := newWorld(s.bounds, system, table)
	defer w.stop()
	for i, step := range p {
		if i < len(p)-1 && w.violated != nil {
			panic("explore: a path that was fine before is not: the system is not deterministic")
		}
		w.take(step)
	}
	for {
		if len(p) > 0 {
			s.steps.Add(1)
		}
		if w.violated != nil {
			s.note(p, *w.violated)
			return
		}
		if w.told != nobody && !s.bounds.Once && s.prospects.add(w.prospect()) {
			s.add(p.then(step{kind: repeats, who: uint8(w.told)}))
		}
		settled := len(p) > 0 && (p[len(p)-1].kind == settles || p[len(p)-1].kind == repeats)
		if settled || !s.known.add(w.state()) || s.bounds.Depth > 0 && len(p) >= s.bounds.Depth {
			s.reach(len(p))
			return
		}
		var ways []path
		for _, next := range w.enabled() {
			ways = append(ways, p.then(next))
		}
		if s.bounds.Shortest {
			s.add(ways...)
			return
		}
		slices.Reverse(ways[1:])
		s.add(ways[1:]...)
		p = ways[0]
		w.take(p[len(p)-1])
	}
}

func (s *search) reach(depth int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.depth = max(s.depth, depth)
}

func (s *search) note(p path, v Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.depth = max(s.depth, len(p))
	if known, exists := s.violations[v.Promise]; exists && len(known.path) <= len(p) {
		return
	}
	v.path = p
	s.violations[v.Promise] = v
}

func (s *search) report() Report {
	r := Report{States: s.known.count(), Steps: int(s.steps.Load()), Executions: int(s.executions.Load()), Depth: s.depth}
	for _, p := range promises {
		if v, broken := s.violations[p]; broken {
			r.Violations = append(r.Violations, v)
		}
	}
	return r
}

// explain follows a violation's path once more and puts it in words.
func (s *search) explain(t *testing.T, system System, v *Violation) {
	t.Helper()
	table, err := system.Open()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s.bounds, system, table)
		defer w.stop()
		w.trace = &v.Steps
		for _, step := range v.path {
			w.take(step)
		}
	})
}

// states is a set of states that several workers share.
type states struct {
	shards [64]struct {
		mu    sync.Mutex
		known map[uint64]struct{}
	}
}

// add tells whether the state is new.
func (s *states) add(state uint64) bool {
	shard := &s.shards[state%uint64(len(s.shards))]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if _, known := shard.known[state]; known {
		return false
	}
	if shard.known == nil {
		shard.known = make(map[uint64]struct{})
	}
	shard.known[state] = struct{}{}
	return true
}

func (s *states) count() int {
	n := 0
	for i := range s.shards {
		n += len(s.shards[i].known)
	}
	return n
}
