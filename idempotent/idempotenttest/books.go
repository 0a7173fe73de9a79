package idempotenttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Books count what a function has done, by names of its author's choice: charges, mails,
// rows, goods in stock. What one run does without any fault is what a request may do in
// all: a count must not go farther than that, and must have gone that far when an answer
// says that it is done.
type Books map[string]int

// String lists the counts by their names.
func (b Books) String() string {
	var counts []string
	for _, name := range slices.Sorted(maps.Keys(b)) {
		counts = append(counts, fmt.Sprintf("%s: %d", name, b[name]))
	}
	if len(counts) == 0 {
		return "nothing"
	}
	return strings.Join(counts, ", ")
}

// since is how the books have changed. What has not changed is left out.
func (b Books) since(before Books) Books {
	changes := make(Books)
	for name, count := range b {
		changes[name] = count - before[name]
	}
	for name, count := range before {
		if _, known := b[name]; !known {
			changes[name] = -count
		}
	}
	maps.DeleteFunc(changes, func(_ string, change int) bool { return change == 0 })
	return changes
}

// excess is the first name that has changed farther than it may; empty if none has.
func (b Books) excess(most Books, repeatable []string) string {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		change, limit := b[name], most[name]
		tooFar := change > max(limit, 0) || change < min(limit, 0)
		if tooFar && !slices.Contains(repeatable, name) {
			return name
		}
	}
	return ""
}

// missing is the first name that has not changed as far as it should; empty if all have.
func (b Books) missing(least Books) string {
	for _, name := range slices.Sorted(maps.Keys(least)) {
		change, want := b[name], least[name]
		if want > 0 && change < want || want < 0 && change > want {
			return name
		}
	}
	return ""
}

// plus is the sum of both.
func (b Books) plus(other Books) Books {
	sum := maps.Clone(b)
	for name, count := range other {
		sum[name] += count
	}
	return sum
}

// everything is what Function.Books defaults to.
func (w *World) everything() Books {
	books := make(Books)
	for _, effect := range w.Effects() {
		books[effect.Service]++
	}
	for _, table := range w.others {
		books["items of "+table] = len(w.db.Items(table))
	}
	return books
}
