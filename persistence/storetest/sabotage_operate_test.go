package storetest_test

import (
	"context"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// misoperated are ways to serve operators wrongly.
var misoperated = []sabotage{
	{
		"a claim may take over from anybody",
		[]string{"from/only-its-owner"},
		func(f *flawed) { f.misread = func(c *claim, _ *record) { c.From = "" } },
	},
	{
		"an execution's own record is taken for another one's",
		[]string{"execution/goes-on", "execution/dead"},
		func(f *flawed) { f.misread = func(c *claim, _ *record) { c.Execution = "" } },
	},
	{
		"any record of an execution is taken for its own",
		[]string{"execution/others-wait"},
		func(f *flawed) {
			f.misread = func(c *claim, found *record) {
				if strings.Contains(found.Owner, "#") && c.Execution != "" {
					c.Execution = "exec"
				}
			}
		},
	},
	{
		"who runs a record is not kept",
		[]string{"run/recorded", "run/taken-over"},
		func(f *flawed) { f.misquote = func(r *record) { r.Run = persistence.Run{} } },
	},
	{
		"a take-over keeps the request of the run before",
		[]string{"run/taken-over"},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				if made.RequestID == "" {
					made.RequestID = old.RequestID
				}
			}
		},
	},
	{
		"a take-over drops the event",
		[]string{"event/kept"},
		func(f *flawed) {
			f.miswrite = func(_ claim, _ record, made *record) { made.Event = nil }
		},
	},
	{
		"a finished record keeps its event",
		[]string{"event/dropped"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				event := f.find(l.Key).Event
				err := f.right.Complete(ctx, l, o)
				if r := f.find(l.Key); r.Status.Finished() && len(event) > 0 {
					r.Event = event
					f.right.Put(r)
				}
				return err
			}
		},
	},
	{
		"forgetting does nothing",
		[]string{"forget/as-seen", "forget/changed"},
		func(f *flawed) { f.forget = func(context.Context, record) error { return nil } },
	},
	{
		"forgetting asks for nothing",
		[]string{"forget/changed"},
		func(f *flawed) {
			f.forget = func(_ context.Context, seen record) error {
				f.right.Delete(seen.Key)
				return nil
			}
		},
	},
	{
		"what is gone can't be forgotten",
		[]string{"forget/again"},
		func(f *flawed) {
			f.forget = func(ctx context.Context, seen record) error {
				if f.find(seen.Key).Key == "" {
					return persistence.ErrLeaseLost
				}
				return f.right.Forget(ctx, seen)
			}
		},
	},
	{
		"a list brings events along",
		[]string{"list/shows"},
		func(f *flawed) {
			f.list = func(q storekit.Query) storekit.Page {
				page := f.listRight(q)
				for i, r := range page.Records {
					page.Records[i].Event = f.find(r.Key).Event
				}
				return page
			}
		},
	},
	{
		"a list heeds no status",
		[]string{"list/status"},
		func(f *flawed) {
			f.list = func(storekit.Query) storekit.Page { return f.listRight(storekit.Query{}) }
		},
	},
}
