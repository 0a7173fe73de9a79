package storetest_test

import (
	"context"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// miscommitted are ways to commit writes of the application wrongly, and to misjudge how much
// a record holds.
var miscommitted = []sabotage{
	{
		"writes are forgotten",
		[]string{
			"transaction/together", "transaction/again", "transaction/refused", "transaction/at-once",
			"transaction/at-once-expired", "transaction/commit",
		},
		func(f *flawed) {
			f.transact = func(writes []storekit.Write, changes bool, change func() error) error {
				if changes {
					if err := f.refuse(writes); err != nil {
						return err
					}
				}
				return change()
			}
		},
	},
	{
		"writes are carried out whatever becomes of the record",
		[]string{"transaction/again", "transaction/owner-only"},
		func(f *flawed) {
			f.transact = func(writes []storekit.Write, changes bool, change func() error) error {
				if changes {
					if err := f.refuse(writes); err != nil {
						return err
					}
				}
				f.enter(writes)
				return change()
			}
		},
	},
	{
		"a repeat carries the writes out again",
		[]string{"transaction/again"},
		func(f *flawed) {
			f.transact = func(writes []storekit.Write, _ bool, change func() error) error {
				if err := f.refuse(writes); err != nil {
					return err
				}
				err := change()
				if err == nil {
					f.enter(writes)
				}
				return err
			}
		},
	},
	{
		"the record is written where a write is refused",
		[]string{"transaction/refused", "transaction/foreign"},
		func(f *flawed) {
			f.transact = func(writes []storekit.Write, changes bool, change func() error) error {
				err := change()
				if refused := f.refuse(writes); changes && err == nil && refused != nil {
					return refused
				}
				if err == nil && changes {
					f.enter(writes)
				}
				return err
			}
		},
	},
	{
		"what is refused is left out",
		[]string{"transaction/refused", "transaction/foreign"},
		func(f *flawed) {
			f.transact = func(writes []storekit.Write, changes bool, change func() error) error {
				err := change()
				if err == nil && changes {
					f.enter(writes)
				}
				return err
			}
		},
	},
	{
		"a refusal blames the first write",
		[]string{"transaction/refused"},
		func(f *flawed) {
			f.transact = func(writes []storekit.Write, changes bool, change func() error) error {
				err := f.transaction(writes, changes, change)
				if _, ok := err.(*persistence.RefusedError); ok {
					return &persistence.RefusedError{Err: errRefused}
				}
				return err
			}
		},
	},
	{
		"without writes there is no transaction",
		[]string{"transaction/none"},
		func(f *flawed) {
			f.transact = func(writes []storekit.Write, changes bool, change func() error) error {
				if len(writes) == 0 {
					return nil
				}
				return f.transaction(writes, changes, change)
			}
		},
	},
	{
		"completing at once overwrites what is there",
		[]string{"transaction/at-once", "transaction/at-once-running"},
		func(f *flawed) { f.overwrites = true },
	},
	{
		"completing at once finds nothing vacant",
		[]string{"transaction/at-once-expired"},
		func(f *flawed) {
			f.misfind = func(c *claim) { c.Now = time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC) }
		},
	},
	{
		"there is more room than the record has",
		[]string{"room/exact"},
		func(f *flawed) { f.room = func(l lease) int { return roomLeft(l) + 1 } },
	},
	{
		"there is less room than the record has",
		[]string{"room/exact", "room/reserve"},
		func(f *flawed) { f.room = func(l lease) int { return roomLeft(l) - 1 } },
	},
	{
		"the reserve counts as room",
		[]string{"room/reserve"},
		func(f *flawed) {
			f.room = func(l lease) int {
				l.Reserve = 0
				return roomLeft(l)
			}
		},
	},
	{
		"a lease with large steps is a fault",
		[]string{"complete/large-steps", "room/exact"},
		func(f *flawed) {
			right := f.complete
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				for _, output := range l.Steps {
					if len(output) > 1<<18 {
						return &persistence.Fault{Op: "complete", Err: errRefused}
					}
				}
				return right(ctx, l, o)
			}
		},
	},
}
