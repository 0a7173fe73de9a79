package storetest_test

import (
	"cmp"
	"context"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// misjudged are ways to misjudge a claim, or to write the wrong record for it.
var misjudged = []sabotage{
	{
		"an outcome without an expiry is taken for an expired one",
		[]string{"expiry/never"},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				if found.Status.Finished() && found.ExpiresAt.IsZero() {
					found.ExpiresAt = time.Unix(1, 0)
				}
			}
		},
	},
	// Repeated claims.
	{
		"its own write is taken for somebody else's",
		[]string{"repeat/*"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				own := f.find(c.Key).Owner == c.Owner
				r, err := f.judgeAndWrite(ctx, c)
				if own {
					r.Owner = "somebody"
				}
				return r, err
			}
		},
	},
	{
		"a repeated claim is counted again",
		[]string{"repeat/fresh", "repeat/take-over", "repeat/resume", "repeat/replacement"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				if r := f.find(c.Key); r.Owner == c.Owner && r.Status == persistence.StatusProcessing {
					r.Attempt++
					f.right.Put(r)
				}
				return f.judgeAndWrite(ctx, c)
			}
		},
	},
	{
		"a repeated claim starts anew",
		[]string{"repeat/finished"},
		func(f *flawed) {
			f.acquire = func(ctx context.Context, c claim) (record, error) {
				if r := f.find(c.Key); r.Owner == c.Owner && r.Status.Finished() {
					f.right.Delete(c.Key)
				}
				return f.judgeAndWrite(ctx, c)
			}
		},
	},
	// Leases.
	{
		"leases are ignored",
		[]string{
			"acquire/bare", "acquire/held", "execution/others-wait", "time/is-data", "lease/last-millisecond", "lease/no-end",
			"lease/outlives-expiry", "lease/nobody", "take-over/owner", "expiry/processing", "expiry/completed",
			"expiry/failed", "expiry/without-result", "expiry/partial", "expiry/steps", "race/fresh", "race/expired",
			"race/stale", "race/partial", "renew/moves-on", "renew/expiry-follows", "renew/ended", "race/renew",
		},
		func(f *flawed) {
			f.misread = func(c *claim, found *record) {
				if found.Status == persistence.StatusProcessing {
					found.LeaseUntil = c.Now.Add(-time.Millisecond)
				}
			}
		},
	},
	{
		"a lease is not live in its last millisecond",
		[]string{"lease/last-millisecond", "renew/expiry-follows"},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				if !found.LeaseUntil.IsZero() {
					found.LeaseUntil = found.LeaseUntil.Add(-time.Millisecond)
				}
			}
		},
	},
	{
		"leases are compared to the microsecond",
		[]string{"lease/last-millisecond"},
		func(f *flawed) {
			f.misread = func(c *claim, found *record) {
				if found.LeaseLive(c.Now) && !found.LeaseUntil.IsZero() && found.LeaseUntil.Before(c.Now) {
					found.LeaseUntil = found.LeaseUntil.Add(-time.Millisecond)
				}
			}
		},
	},
	{
		"leases are compared in seconds",
		[]string{"lease/next-millisecond", "renew/moves-on", "renew/expiry-follows"},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				if !found.LeaseUntil.IsZero() {
					found.LeaseUntil = found.LeaseUntil.Truncate(time.Second).Add(999 * time.Millisecond)
				}
			}
		},
	},
	{
		"leases are written in seconds",
		[]string{"acquire/fresh", "acquire/bare", "time/units", "take-over/record", "renew/expiry-follows", "from/only-its-owner"},
		func(f *flawed) {
			f.miswrite = func(_ claim, _ record, made *record) {
				made.LeaseUntil = made.LeaseUntil.Truncate(time.Second)
			}
		},
	},
	{
		"milliseconds of leases are read as seconds",
		[]string{
			"repeat/take-over", "repeat/replacement", "time/is-data", "lease/next-millisecond",
			"lease/outlives-expiry", "take-over/*", "refuse-unknown/expired", "mismatch/stale",
			"mismatch/one-sided", "expiry/processing", "expiry/steps", "zombie/*", "race/stale",
			"race/release", "renew/moves-on", "renew/expiry-follows", "renew/zombie",
			"from/only-its-owner", "run/taken-over", "event/kept", "forget/changed",
			"transaction/owner-only",
		},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				if !found.LeaseUntil.IsZero() {
					found.LeaseUntil = time.Unix(found.LeaseUntil.UnixMilli(), 0)
				}
			}
		},
	},
	{
		"times lose their zone",
		[]string{"time/units"},
		func(f *flawed) {
			f.miswrite = func(_ claim, _ record, made *record) {
				const text = "2006-01-02T15:04:05.000"
				made.LeaseUntil, _ = time.Parse(text, made.LeaseUntil.Format(text))
			}
		},
	},
	{
		"a record without a lease is abandoned",
		[]string{"lease/no-end", "lease/nobody"},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				if found.LeaseUntil.IsZero() {
					found.LeaseUntil = time.Unix(0, 0)
				}
			}
		},
	},
	{
		"a record without a lease is locked for good",
		[]string{"lease/no-end"},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				if found.LeaseUntil.IsZero() && found.Status == persistence.StatusProcessing {
					found.ExpiresAt = time.Time{}
				}
			}
		},
	},
	{
		"expiry ends a live lease",
		[]string{"lease/outlives-expiry"},
		func(f *flawed) {
			f.misread = func(c *claim, found *record) {
				if found.ExpiresAt.Before(c.Now) {
					found.LeaseUntil = found.ExpiresAt
				}
			}
		},
	},
	{
		"the store has a clock of its own",
		[]string{
			"repeat/take-over", "repeat/replacement", "time/is-data", "lease/next-millisecond",
			"lease/no-end", "lease/outlives-expiry", "take-over/*", "refuse-unknown/expired",
			"mismatch/stale", "mismatch/one-sided", "expiry/next-second", "expiry/of-the-outcome",
			"expiry/processing", "expiry/completed", "expiry/failed", "expiry/without-result",
			"expiry/partial", "expiry/steps", "zombie/*", "race/expired", "race/stale", "race/release",
			"renew/moves-on", "renew/expiry-follows", "renew/zombie", "from/only-its-owner",
			"run/taken-over", "event/kept", "forget/changed", "transaction/owner-only",
		},
		func(f *flawed) {
			f.misread = func(c *claim, _ *record) {
				c.Now = time.Now()
			}
		},
	},
	{
		"the store's clock never goes back",
		[]string{"time/is-data"},
		func(f *flawed) {
			var latest time.Time
			f.misread = func(c *claim, _ *record) {
				if c.Now.After(latest) {
					latest = c.Now
				}
				c.Now = latest
			}
			f.miswrite = func(c claim, _ record, _ *record) {
				if c.Now.After(latest) {
					latest = c.Now
				}
			}
		},
	},
	// Taking over.
	{
		"a take-over keeps the old lease",
		[]string{"take-over/record", "race/stale", "renew/expiry-follows", "from/only-its-owner"},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				if made.Attempt > 1 {
					made.LeaseUntil = old.LeaseUntil
				}
			}
		},
	},
	{
		"a take-over keeps the old expiry",
		[]string{"take-over/record", "renew/expiry-follows", "from/only-its-owner"},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				if made.Attempt > 1 {
					made.ExpiresAt = old.ExpiresAt
				}
			}
		},
	},
	{
		"a take-over is not counted",
		[]string{"take-over/record", "take-over/attempt", "release/resumable", "race/release", "renew/expiry-follows", "from/only-its-owner"},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				if made.Attempt > 1 {
					made.Attempt = old.Attempt
				}
			}
		},
	},
	{
		"only the first take-over is counted",
		[]string{"take-over/attempt"},
		func(f *flawed) {
			f.miswrite = func(_ claim, _ record, made *record) {
				made.Attempt = min(made.Attempt, 2)
			}
		},
	},
	{
		"a take-over loses the steps",
		[]string{"take-over/steps", "release/resumable"},
		func(f *flawed) {
			f.miswrite = func(_ claim, _ record, made *record) {
				made.Steps = nil
			}
		},
	},
	{
		"a take-over loses the fingerprint",
		[]string{"take-over/fingerprint"},
		func(f *flawed) {
			f.miswrite = func(c claim, _ record, made *record) {
				made.Fingerprint = c.Fingerprint
			}
		},
	},
	{
		"a take-over records no fingerprint of its own",
		[]string{"take-over/fingerprint"},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				if made.Attempt > 1 {
					made.Fingerprint = old.Fingerprint
				}
			}
		},
	},
	{
		"no record is ever taken over",
		[]string{
			"repeat/take-over", "time/is-data", "lease/next-millisecond", "lease/outlives-expiry",
			"take-over/*", "mismatch/stale", "mismatch/one-sided", "zombie/*", "race/stale",
			"race/release", "renew/moves-on", "renew/expiry-follows", "renew/zombie",
			"from/only-its-owner", "run/taken-over", "event/kept", "forget/changed",
			"transaction/owner-only",
		},
		func(f *flawed) {
			f.misread = func(c *claim, found *record) {
				if found.Status == persistence.StatusProcessing && !found.Expired(c.Now) {
					found.LeaseUntil = time.Time{}
				}
			}
		},
	},
	{
		"a take-over is a new record",
		[]string{
			"take-over/record", "take-over/attempt", "take-over/steps", "take-over/fingerprint", "release/resumable",
			"race/release", "renew/expiry-follows", "take-over/told", "resume/told",
			"from/only-its-owner", "run/taken-over", "event/kept",
		},
		func(f *flawed) {
			f.miswrite = func(c claim, _ record, made *record) {
				*made = c.Fresh()
			}
		},
	},
	{
		"every take-over is one from a run that died",
		[]string{"resume/told"},
		func(f *flawed) {
			f.misquote = func(r *record) {
				if r.TookOver != "" {
					r.TookOver = persistence.StatusProcessing
				}
			}
		},
	},
	{
		"refuse unknown is ignored",
		[]string{"refuse-unknown/stale"},
		func(f *flawed) {
			f.misread = func(c *claim, _ *record) {
				c.RefuseUnknown = false
			}
		},
	},
	{
		"refuse unknown refuses what was given up",
		[]string{"refuse-unknown/partial"},
		func(f *flawed) {
			f.misread = func(c *claim, found *record) {
				if c.RefuseUnknown && found.Status == persistence.StatusPartial {
					found.Status = persistence.StatusProcessing
				}
			}
		},
	},
	{
		"refuse unknown outlives the record",
		[]string{"refuse-unknown/expired"},
		func(f *flawed) {
			f.misread = func(c *claim, found *record) {
				if c.RefuseUnknown {
					found.ExpiresAt = time.Time{}
				}
			}
		},
	},
	// Fingerprints.
	{
		"another fingerprint takes over",
		[]string{
			"refuse-unknown/stale", "mismatch/stale", "mismatch/partial", "complete/given-up",
			"release/steps", "release/steps-again", "step/not-running", "isolation/steps",
			"renew/given-up", "from/only-its-owner", "transaction/at-once-running",
		},
		func(f *flawed) {
			f.misread = func(c *claim, _ *record) {
				c.Fingerprint = ""
			}
		},
	},
	{
		"a missing fingerprint is another one",
		[]string{"take-over/fingerprint", "mismatch/one-sided"},
		func(f *flawed) {
			f.misread = func(c *claim, found *record) {
				c.Fingerprint = cmp.Or(c.Fingerprint, "none")
				found.Fingerprint = cmp.Or(found.Fingerprint, "none")
			}
		},
	},
	{
		"the answer lacks the fingerprint",
		[]string{
			"acquire/fresh", "time/units", "lease/outlives-expiry", "take-over/record",
			"take-over/fingerprint", "mismatch/answer", "renew/expiry-follows", "renew/endless",
			"complete/first-outcome", "release/finished", "step/again", "step/not-running",
			"from/only-its-owner", "list/shows", "transaction/again", "transaction/at-once",
			"transaction/at-once-running",
		},
		func(f *flawed) {
			f.misquote = func(r *record) {
				r.Fingerprint = ""
			}
		},
	},
	// Expiry.
	{
		"expired records are kept",
		[]string{
			"repeat/replacement", "lease/no-end", "lease/outlives-expiry", "refuse-unknown/expired",
			"expiry/next-second", "expiry/of-the-outcome", "expiry/processing", "expiry/completed", "expiry/failed",
			"expiry/without-result", "expiry/partial", "expiry/steps", "zombie/complete", "zombie/release",
			"zombie/checkpoint", "race/expired", "renew/zombie",
		},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				found.ExpiresAt = time.Time{}
			}
		},
	},
	{
		"expiry is compared in milliseconds",
		[]string{"expiry/last-second"},
		func(f *flawed) {
			f.misread = func(c *claim, found *record) {
				if !found.ExpiresAt.IsZero() && found.ExpiresAt.Before(c.Now) {
					found.ExpiresAt = found.ExpiresAt.Add(-time.Second)
				}
			}
		},
	},
	{
		"expiry is written in milliseconds",
		[]string{"acquire/fresh", "acquire/bare", "time/units", "take-over/record", "renew/expiry-follows", "from/only-its-owner"},
		func(f *flawed) {
			f.miswrite = func(_ claim, _ record, made *record) {
				made.ExpiresAt = time.Unix(made.ExpiresAt.UnixMilli(), 0)
			}
		},
	},
	{
		"expiry is written a second early",
		[]string{"acquire/fresh", "acquire/bare", "time/units", "take-over/record", "renew/expiry-follows", "from/only-its-owner"},
		func(f *flawed) {
			f.miswrite = func(_ claim, _ record, made *record) {
				made.ExpiresAt = made.ExpiresAt.Add(-time.Second)
			}
		},
	},
	{
		"an expired record is taken over",
		[]string{
			"repeat/replacement", "lease/outlives-expiry", "expiry/next-second", "expiry/of-the-outcome",
			"expiry/processing", "expiry/completed", "expiry/failed", "expiry/without-result", "expiry/partial",
			"expiry/steps", "zombie/complete", "zombie/release", "zombie/checkpoint", "renew/zombie",
		},
		func(f *flawed) {
			f.miswrite = func(c claim, old record, made *record) {
				if old.Expired(c.Now) {
					*made = c.TakeOver(old)
				}
			}
		},
	},
	{
		"the attempts of an expired record survive",
		[]string{
			"repeat/replacement", "lease/outlives-expiry", "expiry/next-second", "expiry/of-the-outcome",
			"expiry/processing", "expiry/completed", "expiry/failed", "expiry/without-result", "expiry/partial",
			"expiry/steps", "zombie/complete", "zombie/release", "zombie/checkpoint", "renew/zombie",
		},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				made.Attempt = max(made.Attempt, old.Attempt+1)
			}
		},
	},
	{
		"the steps of an expired record survive",
		[]string{"expiry/partial", "expiry/steps"},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				made.Steps = old.Steps
			}
		},
	},
	{
		"the fingerprint of an expired record survives",
		[]string{
			"expiry/processing", "expiry/completed", "expiry/failed", "expiry/without-result", "expiry/partial",
			"expiry/steps",
		},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				made.Fingerprint = cmp.Or(made.Fingerprint, old.Fingerprint)
			}
		},
	},
	{
		"the result of an expired record survives",
		[]string{"expiry/completed", "expiry/failed", "expiry/steps"},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				made.Result = old.Result
			}
		},
	},
	{
		"an omitted result survives",
		[]string{"expiry/without-result"},
		func(f *flawed) {
			f.miswrite = func(_ claim, old record, made *record) {
				made.ResultOmitted = old.ResultOmitted
			}
		},
	},
	{
		"a finished record expires with its claim",
		[]string{"expiry/of-the-outcome", "expiry/never", "forget/changed"},
		func(f *flawed) {
			f.complete = func(ctx context.Context, l lease, o outcome) error {
				if r := f.find(l.Key); r.Status == persistence.StatusProcessing {
					o.ExpiresAt = r.ExpiresAt
				}
				return f.right.Complete(ctx, l, o)
			}
		},
	},
	{
		"a failed record never expires",
		[]string{"expiry/failed"},
		func(f *flawed) {
			f.misread = func(_ *claim, found *record) {
				if found.Status == persistence.StatusFailed {
					found.ExpiresAt = time.Time{}
				}
			}
		},
	},
}
