package storetest_test

import (
	"bytes"
	"cmp"
	"context"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
)

// misowned are ways to let the wrong one write, or to write the wrong thing for the right one.
var misowned = []sabotage{
	// Owners.
	{
		"complete asks for no owner",
		[]string{"complete/owner-only", "zombie/complete", "race/complete", "transaction/owner-only"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if l.Check() == nil {
					l.Owner = cmp.Or(f.find(l.Key).Owner, l.Owner)
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"release asks for no owner",
		[]string{"release/owner-only", "release/steps-again", "zombie/release", "race/release"},
		func(f *flawed) {
			f.release = func(ctx context.Context, l lease) error {
				if l.Check() == nil {
					l.Owner = cmp.Or(f.find(l.Key).Owner, l.Owner)
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"checkpoint asks for no owner",
		[]string{"step/owner-only", "zombie/checkpoint", "transaction/owner-only"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if l.Check() == nil {
					l.Owner = cmp.Or(f.find(l.Key).Owner, l.Owner)
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"nobody completes what nobody owns",
		[]string{"lease/nobody"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if r := f.find(l.Key); l.Key != "" && l.Owner == "" && r.Owner == "" {
					f.right.Put(o.Of(l))
					return nil
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"complete and release ignore an invalid lease",
		[]string{"lease/nobody", "lease/invalid"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if l.Check() != nil {
					return nil
				}
				return f.right.Complete(ctx, l, o)
			}
			f.release = func(ctx context.Context, l lease) error {
				if l.Check() != nil {
					return nil
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"checkpoint ignores an invalid lease",
		[]string{"step/invalid"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if l.Check() != nil {
					return nil
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"a take-over keeps the old owner",
		[]string{"execution/goes-on", "execution/dead",
			"repeat/take-over", "repeat/resume", "resume/told", "time/is-data", "lease/next-millisecond",
			"take-over/*", "refuse-unknown/partial", "mismatch/stale", "mismatch/partial",
			"mismatch/one-sided", "release/resumable", "zombie/*", "race/stale", "race/partial",
			"race/complete", "race/release", "renew/moves-on", "renew/expiry-follows", "renew/zombie",
			"race/renew", "from/only-its-owner", "run/taken-over", "event/kept", "forget/changed",
			"transaction/owner-only",
		},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				if made.Attempt > 1 {
					made.Owner = old.Owner
				}
			}
		},
	},
	// Completing.
	{
		"a finished record has a lease like any other",
		[]string{
			"expiry/last-second", "expiry/of-the-outcome", "complete/replayed", "complete/failed", "race/complete",
			"expiry/never",
		},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				until := f.find(l.Key).LeaseUntil
				err := f.right.Complete(ctx, l, o)
				if r := f.find(l.Key); err == nil && !until.IsZero() {
					r.LeaseUntil = until
					f.right.Put(r)
				}
				return err
			}
			f.misread = func(c *claim, found *record) {
				if found.Status.Finished() && !found.LeaseUntil.IsZero() && found.LeaseUntil.Before(c.Now) {
					found.Status = persistence.StatusProcessing
				}
			}
		},
	},
	{
		"a failure is run again",
		[]string{"complete/failed", "release/finished", "expiry/never", "read-many/finished"},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				if found.Status == persistence.StatusFailed {
					found.Status = persistence.StatusPartial
				}
			}
		},
	},
	{
		"a failure is stored as a success",
		[]string{
			"complete/failed", "release/finished", "zombie/complete", "zombie/release", "zombie/checkpoint",
			"result/empty", "result/nil", "result/null", "result/text", "result/html", "result/spaces", "result/nul",
			"result/binary", "result/every-byte", "result/300KB", "renew/zombie", "expiry/never",
		},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if o.Status == persistence.StatusFailed {
					o.Status = persistence.StatusCompleted
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"a failure loses its result",
		[]string{
			"complete/failed", "release/finished", "zombie/complete", "zombie/release", "zombie/checkpoint",
			"result/null", "result/text", "result/html", "result/spaces", "result/nul", "result/binary",
			"result/every-byte", "result/300KB", "renew/zombie", "expiry/never",
		},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if o.Status == persistence.StatusFailed {
					o.Result = nil
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"completing again is refused",
		[]string{"complete/again", "complete/first-outcome", "transaction/again"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if f.find(l.Key).Status.Finished() {
					return persistence.ErrLeaseLost
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"the last outcome wins",
		[]string{"complete/first-outcome", "transaction/again"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if r := f.find(l.Key); r.Status.Finished() && r.Owner == l.Owner && o.Check() == nil {
					f.right.Delete(l.Key)
					f.right.Put(o.Of(l))
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"complete makes a record where there is none",
		[]string{"complete/absent", "complete/released", "zombie/complete-after-release"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if r := f.find(l.Key); r.Key == "" && l.Check() == nil && o.Check() == nil {
					f.right.Put(o.Of(l))
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"complete ends what was given up",
		[]string{"complete/given-up"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if r := f.find(l.Key); r.Status == persistence.StatusPartial && r.Owner == l.Owner {
					r.Status = persistence.StatusProcessing
					f.right.Put(r)
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"any status is an outcome",
		[]string{"complete/invalid"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if o.Check() != nil {
					return nil
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	// Releasing.
	{
		"release does nothing",
		[]string{
			"repeat/resume", "refuse-unknown/partial", "mismatch/partial", "complete/released",
			"complete/given-up", "release/at-once", "release/again", "release/owner-only",
			"release/finished", "release/steps", "release/resumable", "release/steps-again",
			"step/absent", "step/not-running", "zombie/complete-after-release", "zombie/release",
			"isolation/steps", "race/partial", "race/release", "context/release", "renew/absent",
			"renew/given-up", "resume/told", "transaction/at-once-running",
		},
		func(f *flawed) {
			f.release = func(_ context.Context, l lease) error {
				return l.Check()
			}
		},
	},
	{
		"release of an absent record is refused",
		[]string{"release/again", "release/absent"},
		func(f *flawed) {
			f.release = func(ctx context.Context, l lease) error {
				if f.find(l.Key).Key == "" && l.Check() == nil {
					return persistence.ErrLeaseLost
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"release deletes a finished record",
		[]string{"release/finished"},
		func(f *flawed) {
			f.release = func(ctx context.Context, l lease) error {
				if r := f.find(l.Key); r.Status.Finished() && r.Owner == l.Owner {
					f.right.Delete(l.Key)
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"release of a finished record is no error",
		[]string{"release/finished", "zombie/release"},
		func(f *flawed) {
			f.release = func(ctx context.Context, l lease) error {
				if f.find(l.Key).Status.Finished() {
					return nil
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"release loses the steps",
		[]string{
			"mismatch/partial", "complete/given-up", "release/steps", "release/resumable",
			"release/steps-again", "step/not-running", "isolation/steps", "renew/given-up", "resume/told",
			"transaction/at-once-running",
		},
		func(f *flawed) {
			f.release = func(ctx context.Context, l lease) error {
				if r := f.find(l.Key); r.Owner == l.Owner && r.Status == persistence.StatusProcessing {
					r.Steps = nil
					f.right.Put(r)
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"release believes the lease about the steps",
		[]string{
			"mismatch/partial", "complete/given-up", "release/steps", "release/resumable",
			"release/steps-again", "step/not-running", "isolation/steps", "renew/given-up", "resume/told",
			"transaction/at-once-running",
		},
		func(f *flawed) {
			f.release = func(ctx context.Context, l lease) error {
				if r := f.find(l.Key); r.Owner == l.Owner && r.Status == persistence.StatusProcessing {
					r.Steps = l.Steps
					f.right.Put(r)
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"releasing again removes the steps",
		[]string{"release/steps-again"},
		func(f *flawed) {
			f.release = func(ctx context.Context, l lease) error {
				if r := f.find(l.Key); r.Owner == l.Owner && r.Status == persistence.StatusPartial {
					f.right.Delete(l.Key)
				}
				return f.right.Release(ctx, l)
			}
		},
	},
	{
		"what was given up waits for its lease",
		[]string{"repeat/resume", "refuse-unknown/partial", "mismatch/partial", "release/resumable", "race/partial", "resume/told"},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				if found.Status == persistence.StatusPartial {
					found.Status = persistence.StatusProcessing
				}
			}
		},
	},
	// Steps.
	{
		"a checkpoint replaces the steps before it",
		[]string{"take-over/steps", "step/kept", "step/bytes", "step/too-large", "race/steps", "renew/checkpoint"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if r := f.find(l.Key); r.Owner == l.Owner && r.Status == persistence.StatusProcessing && r.Steps[step] == nil {
					r.Steps = nil
					f.right.Put(r)
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"the last output of a step wins",
		[]string{"step/again", "transaction/again"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if r := f.find(l.Key); r.Owner == l.Owner && r.Status == persistence.StatusProcessing {
					delete(r.Steps, step)
					f.right.Put(r)
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"a repeated checkpoint is refused",
		[]string{"step/again", "renew/checkpoint", "step/not-running", "transaction/again"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if _, done := f.find(l.Key).Steps[step]; done {
					return persistence.ErrInvalid
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"a checkpoint makes a record where there is none",
		[]string{"step/absent"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if f.find(l.Key).Key == "" && l.Check() == nil {
					f.right.Put(record{Key: l.Key, Owner: l.Owner, Status: persistence.StatusProcessing})
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"a finished record takes steps",
		[]string{"step/not-running"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if r := f.find(l.Key); r.Owner == l.Owner && r.Status.Finished() {
					return nil
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"what was given up takes steps",
		[]string{"step/not-running"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if r := f.find(l.Key); r.Owner == l.Owner && r.Status == persistence.StatusPartial {
					return nil
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"steps without output are dropped",
		[]string{"step/bytes", "step/again", "step/invalid"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if len(output) == 0 {
					return l.Check()
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"a dot in the name of a step is a path",
		[]string{"step/bytes"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				step, _, _ = strings.Cut(step, ".")
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"outputs of steps are text",
		[]string{"step/bytes", "step/too-large"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				output = bytes.ToValidUTF8(output, []byte("\ufffd"))
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"outputs of steps are cut",
		[]string{"step/too-large"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				output = output[:min(len(output), 400_000)]
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
	{
		"a step that is too large ends the lease",
		[]string{"step/too-large", "room/exact"},
		func(f *flawed) {
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if len(output) > 400_000 {
					f.right.Delete(l.Key)
					return persistence.ErrTooLarge
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
		},
	},
}
