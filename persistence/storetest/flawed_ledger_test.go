package storetest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// roomOfFlawed is how many bytes of steps a record of a flawed store takes.
const roomOfFlawed = 600_000

// line is a write of the flawed store: an entry under a name, or one that is refused.
type line struct {
	name    string
	refused bool
}

var errRefused = errors.New("refused on principle")

func (f *flawed) Entry(name string) storekit.Write { return line{name: name} }

func (f *flawed) Refusal() storekit.Write { return line{refused: true} }

func (f *flawed) Entries(_ context.Context, name string) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.entries[name], nil
}

// enter carries writes out.
func (f *flawed) enter(writes []storekit.Write) {
	for _, w := range writes {
		if e, ok := w.(line); ok && !e.refused {
			f.entries[e.name]++
		}
	}
}

// refuse returns the error of writes that can't be carried out.
func (f *flawed) refuse(writes []storekit.Write) error {
	for i, w := range writes {
		e, ok := w.(line)
		switch {
		case !ok:
			return fmt.Errorf("%w: write %d is a %T", persistence.ErrInvalid, i, w)
		case e.refused:
			return &persistence.RefusedError{Index: i, Err: errRefused}
		}
	}
	return nil
}

// transaction carries writes out with a change of the record, where that changes anything.
func (f *flawed) transaction(writes []storekit.Write, changes bool, change func() error) error {
	if changes {
		if err := f.refuse(writes); err != nil {
			return err
		}
	}
	err := change()
	if err == nil && changes {
		f.enter(writes)
	}
	return err
}

func (f *flawed) running(l lease) bool {
	r := f.find(l.Key)
	return r.Owner == l.Owner && r.Status == persistence.StatusProcessing
}

func (f *flawed) CompleteWith(ctx context.Context, l lease, o outcome, writes []storekit.Write) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.transact(writes, f.running(l), func() error { return f.complete(ctx, l, o) })
}

func (f *flawed) CheckpointWith(ctx context.Context, l lease, step string, output []byte, writes []storekit.Write) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, there := f.find(l.Key).Steps[step]
	return f.transact(writes, f.running(l) && !there, func() error { return f.checkpoint(ctx, l, step, output) })
}

func (f *flawed) CompleteAtOnce(_ context.Context, c claim, o outcome, writes []storekit.Write) (record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, exists, _ := f.right.Read(context.Background(), c.Key)
	if exists {
		if f.misfind != nil {
			f.misfind(&c)
		}
		switch judgement := c.Judge(found); {
		case judgement == persistence.Owned && !found.Status.Finished():
			return record{}, fmt.Errorf("%w: the claim was acquired before", persistence.ErrInvalid)
		case judgement != persistence.Vacant && !f.overwrites:
			return found, nil
		}
	}
	done := o.Of(c.Fresh().Lease())
	done.Attempt = 1
	return done, f.transact(writes, true, func() error {
		f.right.Put(done)
		return nil
	})
}

func (f *flawed) Commit(_ context.Context, writes []storekit.Write) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.transact(writes, true, func() error { return nil })
}

func (f *flawed) Room(l lease) int { return f.room(l) }

func roomLeft(l lease) int {
	room := roomOfFlawed - l.Reserve
	for name, output := range l.Steps {
		room -= len(name) + len(output) + storekit.StepOverhead
	}
	return room
}
