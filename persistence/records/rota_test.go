package records_test

import (
	"maps"
	"slices"
)

// rota has several actors take their steps one at a time. Whose turn it is, the schedule says.
type rota struct {
	ready chan string // an actor waits for its turn
	turns map[string]chan struct{}
}

// turn is where an actor waits before each of its steps.
func (r *rota) turn(actor string) {
	r.ready <- actor
	<-r.turns[actor]
}

// play has the actors begin, the owner first, and then takes the steps in the order of a schedule,
// which says whose turn it is of those who wait; past its end the first of them. After each step
// it calls stepped. It returns how many there were to choose from, each time.
func (r *rota) play(actors map[string]func(), schedule []int, stepped func()) (choices []int) {
	r.ready, r.turns = make(chan string), make(map[string]chan struct{})
	over := make(chan string)
	var waiting []string
	next := func() { // until the one whose turn it is waits again, or is over
		select {
		case actor := <-r.ready:
			waiting = append(waiting, actor)
			slices.Sort(waiting)
		case <-over:
		}
	}
	names := slices.Sorted(maps.Keys(actors))
	for _, name := range names {
		r.turns[name] = make(chan struct{})
	}
	owner := slices.Index(names, "owner")
	for _, name := range append([]string{"owner"}, slices.Delete(names, owner, owner+1)...) {
		go func() { actors[name](); over <- name }()
		next()
	}
	for len(waiting) > 0 {
		at := 0
		if len(choices) < len(schedule) {
			at = schedule[len(choices)]
		}
		choices = append(choices, len(waiting))
		actor := waiting[at]
		waiting = slices.Delete(waiting, at, at+1)
		r.turns[actor] <- struct{}{}
		next()
		stepped()
	}
	return choices
}

// following is the next schedule after one with these choices; nil after the last.
func following(schedule, choices []int) []int {
	schedule = append(slices.Clone(schedule), make([]int, len(choices)-len(schedule))...)
	for at, chosen := range slices.Backward(schedule) {
		if chosen+1 < choices[at] {
			return append(schedule[:at:at], chosen+1)
		}
	}
	return nil
}
