package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// misrenewed are ways to renew a lease wrongly, or not at all.
var misrenewed = []sabotage{
	{
		"a renewal does nothing",
		[]string{
			"renew/moves-on", "renew/again", "renew/never-back", "renew/expiry-later", "renew/expiry-follows",
			"renew/ended", "renew/invalid", "renew/endless", "race/renew", "context/renew",
		},
		func(f *flawed) {
			f.renew = func(ctx context.Context, l lease) error {
				l.Until = time.Unix(0, 0)
				l.ExpiresAt = l.Until
				return f.right.Renew(ctx, l)
			}
		},
	},
	{
		"renew asks for no owner",
		[]string{"renew/owner-only", "renew/zombie", "race/renew"},
		func(f *flawed) {
			f.renew = func(ctx context.Context, l lease) error {
				if l.Check() == nil {
					l.Owner = cmp.Or(f.find(l.Key).Owner, l.Owner)
				}
				return f.right.Renew(ctx, l)
			}
		},
	},
	{
		"renew ignores an invalid lease",
		[]string{"renew/invalid"},
		func(f *flawed) {
			f.renew = func(ctx context.Context, l lease) error {
				if l.CheckRenewal() != nil {
					return nil
				}
				return f.right.Renew(ctx, l)
			}
		},
	},
	{
		"a renewal is carried out whatever is there",
		[]string{
			"renew/never-back", "renew/expiry-later", "renew/expiry-follows", "renew/endless", "renew/checkpoint",
		},
		func(f *flawed) { f.renewed(func(l lease, r *record) { r.LeaseUntil = l.Until }) },
	},
	{
		"a renewal is done for a record that is gone",
		[]string{"renew/absent"},
		func(f *flawed) {
			f.renew = func(ctx context.Context, l lease) error {
				if l.CheckRenewal() == nil && f.find(l.Key).Key == "" {
					return nil
				}
				return f.right.Renew(ctx, l)
			}
		},
	},
	{
		"a renewal is done for a finished record",
		[]string{"renew/finished"},
		func(f *flawed) {
			f.renew = func(ctx context.Context, l lease) error {
				if r := f.find(l.Key); r.Status.Finished() && r.Owner == l.Owner {
					return nil
				}
				return f.right.Renew(ctx, l)
			}
		},
	},
	{
		"a renewal revives what was given up",
		[]string{"renew/given-up"},
		func(f *flawed) {
			f.renew = func(ctx context.Context, l lease) error {
				if r := f.find(l.Key); r.Status == persistence.StatusPartial && r.Owner == l.Owner {
					r.Status, r.LeaseUntil = persistence.StatusProcessing, l.Until
					f.right.Put(r)
				}
				return f.right.Renew(ctx, l)
			}
		},
	},
	{
		"the expiry stays behind the lease",
		[]string{"renew/never-back", "renew/expiry-later", "renew/expiry-follows", "renew/endless"},
		func(f *flawed) {
			f.renewed(func(l lease, r *record) { r.LeaseUntil = l.Renewed(*r).LeaseUntil })
		},
	},
	{
		"the expiry follows the lease and nothing else",
		[]string{"renew/expiry-later"},
		func(f *flawed) {
			f.renewed(func(l lease, r *record) { l.ExpiresAt = time.Time{}; *r = l.Renewed(*r) })
		},
	},
	{
		"what has no end gets one",
		[]string{"renew/endless"},
		func(f *flawed) {
			f.renewed(func(l lease, r *record) {
				endless := r.LeaseUntil.IsZero()
				if *r = l.Renewed(*r); endless {
					r.LeaseUntil = l.Until
				}
			})
		},
	},
	{
		"a renewal that changes nothing is refused",
		[]string{"renew/again", "renew/never-back", "renew/checkpoint"},
		func(f *flawed) {
			f.renew = func(ctx context.Context, l lease) error {
				if r := f.find(l.Key); l.CheckRenewal() == nil && r.Owner == l.Owner && !r.LeaseUntil.Before(l.Until) {
					return persistence.ErrLeaseLost
				}
				return f.right.Renew(ctx, l)
			}
		},
	},
	{
		"a lease that is over can't be renewed",
		[]string{"renew/never-back", "renew/expiry-follows", "renew/ended", "renew/endless"},
		func(f *flawed) {
			f.renew = func(ctx context.Context, l lease) error {
				if r := f.find(l.Key); r.Owner == l.Owner && l.Until.After(r.LeaseUntil.Add(leapOverEnd)) && r.Status == persistence.StatusProcessing {
					return persistence.ErrLeaseLost
				}
				return f.right.Renew(ctx, l)
			}
		},
	},
	{
		"a renewal reads, then writes",
		[]string{"race/renew"},
		func(f *flawed) {
			f.renewed(func(l lease, r *record) { f.pause(time.Second); *r = l.Renewed(*r) })
		},
	},
	{
		"a checkpoint renews nothing",
		[]string{"renew/checkpoint"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				l.Until = time.Time{}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"a checkpoint of a step that is there renews nothing",
		[]string{"renew/checkpoint"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if _, there := f.find(l.Key).Steps[step]; there {
					l.Until = time.Time{}
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"renew ignores the context",
		[]string{"context/renew"},
		func(f *flawed) {
			f.renew = func(_ context.Context, l lease) error { return f.right.Renew(context.Background(), l) }
		},
	},
	{
		"renew loses the context's error",
		[]string{"context/renew"},
		func(f *flawed) {
			f.renew = func(ctx context.Context, l lease) error {
				if ctx.Err() != nil {
					return &persistence.Fault{Op: "renew", Retryable: true, Err: errors.New("failed")}
				}
				return f.right.Renew(ctx, l)
			}
		},
	},
}

// leapOverEnd is more than the renewals of most rules ask for beyond the lease.
const leapOverEnd = 35 * time.Second

// renewed replaces what a valid renewal makes of its owner's record.
func (f *flawed) renewed(wrong func(l lease, r *record)) {
	f.renew = func(ctx context.Context, l lease) error {
		r := f.find(l.Key)
		if l.CheckRenewal() != nil || ctx.Err() != nil || r.Owner != l.Owner || r.Status != persistence.StatusProcessing {
			return f.right.Renew(ctx, l)
		}
		wrong(l, &r)
		f.right.Put(r)
		return nil
	}
}
