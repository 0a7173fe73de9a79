package explore

import (
	"context"
	"errors"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Cramped is the system on Memory with so much room for the steps of a record, in bytes.
// The store refuses what does not fit by what the lease knows, and the table what does not
// fit at all.
func (s System) Cramped(room int) System {
	s.Name += ", cramped"
	s.Room = room
	s.Unsure = true // an output that does not fit may be asked for
	return s
}

// cramped is a store of a table that has little room.
type cramped struct {
	remote
	room int
}

// Room implements [storekit.Sizer].
func (c cramped) Room(l persistence.Lease) int { return c.room - size(l.Steps) - l.Reserve }

// Checkpoint implements [persistence.Checkpointer].
func (c cramped) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	err := persistence.ErrTooLarge
	if needs := len(step) + len(output) + storekit.StepOverhead; needs <= c.Room(l) {
		_, err = Ask(ctx, c.p, "Checkpoint", func() (struct{}, error) {
			r, _, _ := c.store.Read(context.Background(), l.Key)
			if _, there := r.Steps[step]; !there && size(r.Steps)+needs > c.room {
				return struct{}{}, persistence.ErrTooLarge
			}
			return struct{}{}, c.store.Checkpoint(context.Background(), l, step, output)
		})
		err = below("checkpoint", err)
	}
	if errors.Is(err, persistence.ErrTooLarge) && (strings.Contains(step, ":") || strings.Contains(string(output), `"omitted":true`)) {
		c.p.world.violate(Roomy, "%s can't record %q: there is no room", c.p.name, step)
	}
	return err
}

// size is what steps take of a record.
func size(steps map[string][]byte) int {
	n := 0
	for name, entry := range steps {
		n += len(name) + len(entry) + storekit.StepOverhead
	}
	return n
}
