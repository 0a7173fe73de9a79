package storetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
)

// mangled are ways to give back something else than was given.
var mangled = []sabotage{
	// Results.
	{
		"an empty result is an omitted one",
		[]string{"result/empty", "result/nil"},
		func(f *flawed) {
			f.misquote = func(r *record) {
				if r.Status.Finished() && len(r.Result) == 0 {
					r.ResultOmitted = true
				}
			}
		},
	},
	{
		"a nil result is an omitted one",
		[]string{"result/nil"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				o.ResultOmitted = o.ResultOmitted || o.Result == nil
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"an omitted result is an empty one",
		[]string{"result/omitted"},
		func(f *flawed) {
			f.misquote = func(r *record) {
				r.ResultOmitted = false
			}
		},
	},
	{
		"a result beside an omitted one is kept",
		[]string{"result/omitted"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				omitted := o.ResultOmitted
				o.ResultOmitted = false
				err := f.right.Complete(ctx, l, o)
				if r := f.find(l.Key); err == nil && r.Status.Finished() && r.Owner == l.Owner && omitted {
					r.ResultOmitted = true
					f.right.Put(r)
				}
				return err
			}
		},
	},
	{
		"null is an empty result",
		[]string{"result/null"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if string(o.Result) == "null" {
					o.Result = nil
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"results are text",
		[]string{"result/binary", "result/every-byte", "result/300KB", "result/too-large"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				o.Result = bytes.ToValidUTF8(o.Result, []byte("\ufffd"))
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"results end at a NUL",
		[]string{"result/nul", "result/every-byte", "result/300KB", "result/too-large"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				o.Result, _, _ = bytes.Cut(o.Result, []byte{0})
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"results are escaped for HTML",
		[]string{"result/text", "result/html", "result/every-byte", "result/300KB", "result/too-large"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				var escaped bytes.Buffer
				json.HTMLEscape(&escaped, o.Result)
				o.Result = escaped.Bytes()
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"results are compacted",
		[]string{"result/spaces"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				var compacted bytes.Buffer
				if json.Compact(&compacted, o.Result) == nil {
					o.Result = compacted.Bytes()
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"results are cut at 64 KiB",
		[]string{"result/300KB", "result/too-large"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				o.Result = o.Result[:min(len(o.Result), 64<<10)]
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"results are cut at 400 KB",
		[]string{"result/too-large"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				o.Result = o.Result[:min(len(o.Result), 400_000)]
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"a result that is too large releases",
		[]string{"result/too-large"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if len(o.Result) > 400_000 {
					f.right.Delete(l.Key)
					return persistence.ErrTooLarge
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"results are decoded and encoded",
		[]string{"result/text", "result/html", "result/spaces"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				var v any
				if json.Unmarshal(o.Result, &v) == nil {
					o.Result, _ = json.Marshal(v)
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	// Keys.
	{
		"keys have no case",
		[]string{
			"key/distinct", "complete/first-outcome", "release/finished", "step/again",
			"step/not-running", "acquire/invalid", "forget/as-seen", "forget/changed", "list/shows",
			"transaction/together", "transaction/again", "transaction/refused", "transaction/foreign",
			"transaction/at-once", "transaction/at-once-running",
		},
		func(f *flawed) {
			f.fold(strings.ToLower)
		},
	},
	{
		"keys are trimmed",
		[]string{"key/distinct"},
		func(f *flawed) {
			f.fold(strings.TrimSpace)
		},
	},
	{
		"keys are cut at 255 bytes",
		[]string{"key/long"},
		func(f *flawed) {
			f.fold(func(key string) string { return key[:min(len(key), 255)] })
		},
	},
	// Isolation.
	{
		"the result is kept by reference",
		[]string{"isolation/result", "transaction/at-once"},
		func(f *flawed) {
			kept := make(map[string][]byte)
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if f.find(l.Key).Status == persistence.StatusProcessing {
					kept[l.Key] = o.Result
				}
				return f.right.Complete(ctx, l, o)
			}
			f.misquote = func(r *record) {
				if r.Status.Finished() && !r.ResultOmitted {
					r.Result = bytes.Clone(kept[r.Key])
				}
			}
		},
	},
	{
		"the result is handed out by reference",
		[]string{"isolation/replay", "read/finished", "transaction/at-once"},
		func(f *flawed) {
			kept := make(map[string][]byte)
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if f.find(l.Key).Status == persistence.StatusProcessing {
					kept[l.Key] = bytes.Clone(o.Result)
				}
				return f.right.Complete(ctx, l, o)
			}
			f.misquote = func(r *record) {
				if r.Status.Finished() && !r.ResultOmitted {
					r.Result = kept[r.Key]
				}
			}
		},
	},
	{
		"the output of a step is kept by reference",
		[]string{"isolation/step"},
		func(f *flawed) {
			kept := make(map[string][]byte)
			f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
				if _, done := f.find(l.Key).Steps[step]; !done {
					kept[l.Key+step] = output
				}
				return f.right.Checkpoint(ctx, l, step, output)
			}
			f.misquote = func(r *record) {
				for step := range r.Steps {
					r.Steps[step] = bytes.Clone(kept[r.Key+step])
				}
			}
		},
	},
	{
		"steps are handed out by reference",
		[]string{"isolation/steps"},
		func(f *flawed) {
			kept := make(map[string]map[string][]byte)
			f.misquote = func(r *record) {
				if r.Status == persistence.StatusPartial && kept[r.Owner] != nil {
					r.Steps = kept[r.Owner]
				}
				kept[r.Owner] = r.Steps
			}
		},
	},
}
