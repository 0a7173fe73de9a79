package batch

import "time"

// Progress is how far a start of a batch has come. All counts are of items; each
// item is counted once in Total, and once in one of the others.
type Progress struct {
	Total int
	// Done have run in this start, and succeeded.
	Done int
	// Replayed had succeeded before, in another start.
	Replayed int
	// Permanent have failed for good, now or in another start ([idempotent.Permanent]). That is
	// recorded: no start will run them again.
	Permanent int
	// Failed could not be finished; another start tries them again.
	Failed int
	// Held are under way in another start, or were until it died, and still were when
	// this start had looked at them again for as long as a lease.
	Held int
	// Pending are not settled yet; when Each has returned, they were not started.
	Pending int
	// Elapsed is how long the start has lasted.
	Elapsed time.Duration
}

// Report is what a start of a batch has come to.
type Report[Item any] struct {
	Progress
	// Left are the items that another start has to do, in their order: those that
	// failed, are held by somebody else, or were not started.
	Left []Item
	// Errors say why items failed, or failed for good, in their order. There are
	// never more than 100, those that came first; the counts tell how many there were.
	Errors []*ItemError
}

// maxItemErrors bounds the memory that errors take where every item fails.
const maxItemErrors = 100
