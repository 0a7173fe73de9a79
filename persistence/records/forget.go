package records

import "context"

// Forget plans to remove a record: the next request of its key runs, whatever has happened
// before. [*RunningError] while a lease is live.
func (d *Desk) Forget(ctx context.Context, shown Record) (*Plan, error) {
	return d.forgetting(ctx, shown)
}
