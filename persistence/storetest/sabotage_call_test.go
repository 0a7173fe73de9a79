package storetest_test

import (
	"context"
	"errors"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
)

// mishandled are ways to take part badly in what surrounds a call.
var mishandled = []sabotage{
	// Races.
	{
		"a fresh acquire reads, then writes",
		[]string{"race/fresh", "race/expired"},
		func(f *flawed) {
			f.undecided = func(v persistence.Judgement) {
				if v == persistence.Vacant {
					f.pause(1)
				}
			}
		},
	},
	{
		"a take-over reads, then writes",
		[]string{"race/stale", "race/partial", "race/complete", "race/release", "race/renew"},
		func(f *flawed) {
			f.undecided = func(v persistence.Judgement) {
				if v == persistence.Stale {
					f.pause(2)
				}
			}
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				f.pause(1)
				return f.right.Complete(ctx, l, o)
			}
			f.release = func(ctx context.Context, l lease) error {
				f.pause(1)
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"complete reads, then writes",
		[]string{"race/complete"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				f.pause(1)
				return f.judgeAndWrite(ctx, c)
			}
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				r := f.find(l.Key)
				f.pause(2)
				if r.Owner == l.Owner && r.Status == persistence.StatusProcessing && ctx.Err() == nil && o.Check() == nil {
					f.right.Put(r)
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"release reads, then deletes",
		[]string{"race/release"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				f.pause(1)
				return f.judgeAndWrite(ctx, c)
			}
			f.release = func(ctx context.Context, l lease) error {
				r := f.find(l.Key)
				f.pause(2)
				if r.Owner == l.Owner && r.Status == persistence.StatusProcessing && len(r.Steps) == 0 && ctx.Err() == nil && l.Check() == nil {
					f.right.Delete(l.Key)
					return nil
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"checkpoint reads, then writes",
		[]string{"race/steps"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				r := f.find(l.Key)
				f.pause(1)
				if r.Owner == l.Owner && r.Status == persistence.StatusProcessing && ctx.Err() == nil {
					f.right.Put(r)
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"losers of a race see an error",
		[]string{"race/fresh", "race/expired", "race/stale", "race/partial"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				if r := f.find(c.Key); strings.HasPrefix(c.Owner, "racer") && r.LeaseLive(c.Now) {
					return record{}, &persistence.Fault{Op: "acquire", Retryable: true, Err: errors.New("conflict")}
				}
				return f.judgeAndWrite(ctx, c)
			}
		},
	},
	// Contexts.
	{
		"acquire ignores its context",
		[]string{"context/acquire"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				return f.judgeAndWrite(context.WithoutCancel(ctx), c)
			}
		},
	},
	{
		"complete ignores its context",
		[]string{"context/complete"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				return f.right.Complete(context.WithoutCancel(ctx), l, o)
			}
		},
	},
	{
		"release ignores its context",
		[]string{"context/release"},
		func(f *flawed) {
			f.release = func(ctx context.Context, l lease) error {
				return f.right.Release(context.WithoutCancel(ctx), l)
			}
		},
	},
	{
		"checkpoint ignores its context",
		[]string{"context/checkpoint"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				return f.right.Checkpoint(context.WithoutCancel(ctx), l, step, output)
			}
		},
	},
	{
		"acquire notices its context too late",
		[]string{"context/acquire"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				r, err := f.judgeAndWrite(context.WithoutCancel(ctx), c)
				if ctx.Err() != nil {
					err = &persistence.Fault{Op: "acquire", Retryable: true, Err: ctx.Err()}
				}
				return r, err
			}
		},
	},
	{
		"a cancelled context is a lost lease",
		[]string{"context/complete"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if ctx.Err() != nil {
					return persistence.ErrLeaseLost
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"a cancelled context is a refusal",
		[]string{"context/release"},
		func(f *flawed) {
			f.release = func(ctx context.Context, l lease) error {
				if ctx.Err() != nil {
					return &persistence.Fault{Op: "release", Err: ctx.Err()}
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	// Reading.
	{
		"read finds nothing",
		[]string{"read/finished"},
		func(f *flawed) {
			f.read = func(_ context.Context, _ string) (record, bool, error) {
				return record{}, false, nil
			}
		},
	},
	{
		"read shows what is not there",
		[]string{"read/absent"},
		func(f *flawed) {
			f.read = func(ctx context.Context, key string) (record, bool, error) {
				r, _, err := f.right.Read(ctx, key)
				return r, true, err
			}
		},
	},
	{
		"read fails where there is nothing",
		[]string{"read/absent"},
		func(f *flawed) {
			f.read = func(ctx context.Context, key string) (record, bool, error) {
				r, found, err := f.right.Read(ctx, key)
				if !found {
					err = errors.New("not found")
				}
				return r, found, err
			}
		},
	},
	{
		"read claims",
		[]string{"read/running"},
		func(f *flawed) {
			f.read = func(ctx context.Context, key string) (record, bool, error) {
				r, found, err := f.right.Read(ctx, key)
				if r.Status == persistence.StatusProcessing {
					f.right.Delete(key)
				}
				return r, found, err
			}
		},
	},
	{
		"read takes every record for a finished one",
		[]string{"read/running"},
		func(f *flawed) {
			f.read = func(ctx context.Context, key string) (record, bool, error) {
				r, found, err := f.right.Read(ctx, key)
				r.Status = persistence.StatusCompleted
				return r, found, err
			}
		},
	},
	// Nothing is ever refused.
	{
		"invalid claims are served",
		[]string{"acquire/invalid"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				if c.Check() != nil {
					return c.Fresh(), nil
				}
				return f.judgeAndWrite(ctx, c)
			}
		},
	},
	{
		"invalid claims are served in part",
		[]string{"acquire/invalid"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				err := c.Check()
				if err != nil && c.Key != "" {
					f.right.Put(c.Fresh())
				}
				if err != nil {
					return record{}, err
				}
				return f.judgeAndWrite(ctx, c)
			}
		},
	},
}
