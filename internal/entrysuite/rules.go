package entrysuite

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

var (
	byID      = idempotency.MustJMESPath("id")
	errBroken = errors.New("broken")
	order     = Request{Key: "o-1", Content: "10"}
)

// timeout is that of the Lambda function, in which each request is answered.
const timeout = 15 * time.Second

func (l *lab) invocation() (context.Context, context.CancelFunc) {
	return context.WithTimeout(l.Context(), timeout)
}

// send sends a request as an invocation of its own, and sees that it is answered in time.
func (l *lab) send(d Door, r Request) Answer {
	ctx, cancel := l.invocation()
	defer cancel()
	a := d(ctx, r)
	if ctx.Err() != nil {
		l.fault("answered after the deadline, when Lambda has killed the function")
	}
	return a
}

func receipt(context.Context, Request) (string, error) { return "receipt", nil }

func selects(e Entry) bool { return e.Selects }
func steps(e Entry) bool   { return !e.Stepless }

// Rules returns the rules, in the order of the issue: identity, budget, verdict, settlement.
func Rules() []Rule {
	return []Rule{
		{"a request that comes twice runs once, and gets the same answer", once, nil},
		{"other content under the same key is refused", mismatch, nil},
		{"what the key is selected from is what the function gets", folded, selects},
		{"a key in another case is not a missing key", foldedMissing, selects},
		{"a request belongs to its tenant", tenants, nil},
		{"tenants share what is said to be shared", sharedTenants, nil},
		{"the key is handed on without a record: the store is down", keyWithoutStore, nil},
		{"the key is handed on without a record: the guards are off", keyWithoutGuards, nil},
		{"a claim that an unprotected run has left is settled", ownClaim, nil},
		{"the function's context ends early enough to record and answer", reserve, nil},
		{"what comes at the end of the context is recorded", lastMoment, nil},
		{"a table that hangs does not keep the answer past the deadline", hungStore, nil},
		{"a function is not started when it is too late", tooLate, nil},
		{"a long run keeps its record, and a dead one does not", renewal, nil},
		{"nothing runs while the store is down", storeDown, nil},
		{"a failure is told, and a retry runs", failure, nil},
		{"a failure for good is recorded", permanent, nil},
		{"an error of a guarded call inside is the function's own", nested, nil},
		{"what a retry resumes says so", partial, steps},
		{"what only a person can mend is stuck, at error level", stuck, steps},
		{"a panic leaves no record", panicked, nil},
		{"an event that is to be kept is kept, or the guard is refused", keptEvent, steps},
		{"the default logger is looked up when something is logged", logger, steps},
	}
}

func once(l *lab) {
	d := l.open(idempotent.Config{}, receipt)
	l.wantDone(l.send(d, order), "receipt", "the first")
	l.wantDone(l.send(l.open(idempotent.Config{}, receipt), order), "receipt", "the second")
	l.wantRuns(1, "after two requests")
	l.wantDone(l.send(d, Request{Key: "o-2", Content: "10"}), "receipt", "another request")
	l.wantRuns(2, "after another request")
	l.wantSettled("at the end")
}

func mismatch(l *lab) {
	c := idempotent.Config{Fingerprint: idempotency.MustJMESPath("content")}
	l.send(l.open(c, receipt), order)
	a := l.send(l.open(c, receipt), Request{Key: order.Key, Content: "1000"})
	l.wantTold(a, idempotent.CodeMismatch, idempotent.DoneNothing, false, "other content")
	l.wantRuns(1, "other content")
}

func folded(l *lab) {
	d := l.open(idempotent.Config{}, receipt)
	for _, raw := range []string{
		`{"id":"x1","ID":"7","content":"10"}`, `{"ID":"7","id":"x2","content":"10"}`,
		`{"\u0069d":"x3","I\u0064":"7","content":"10"}`, `{"Id":"7","id":"x4","content":"10"}`,
	} {
		l.wantTold(l.send(d, Request{Raw: raw}), idempotent.CodeKeyUnusable, idempotent.DoneNothing, false, raw)
	}
	l.wantRuns(0, "members that differ only in case")
}

func foldedMissing(l *lab) {
	d := l.open(idempotent.Config{RunWithoutKey: true}, receipt)
	l.wantFailed(l.send(d, Request{Raw: `{"ID":"7","content":"10"}`}), "a key in another case")
	l.wantRuns(0, "a key in another case")
}

// keptEvent wants no function to run whose event is asked to be kept, and is not. A server that is
// not Lambda's has no event.
func keptEvent(l *lab) {
	d := l.open(idempotent.Config{KeepEvent: true}, func(ctx context.Context, r Request) (string, error) {
		for _, record := range l.memory.Records() {
			if len(record.Event) == 0 && !l.entry.Own {
				l.fault("%s keeps no event", record.Key)
			}
		}
		return receipt(ctx, r)
	})
	if a := l.send(d, order); a.Failed {
		l.wantRuns(0, "a guard that keeps events is refused")
	}
}

func (l *lab) ofTenant(d Door, tenant string) Answer {
	ctx, cancel := l.invocation()
	defer cancel()
	return d(lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: tenant}), order)
}

func tenants(l *lab) {
	d := l.open(idempotent.Config{}, func(ctx context.Context, _ Request) (string, error) {
		if caller, ok := lambdacontext.FromContext(ctx); ok {
			return "of " + caller.TenantID, nil
		}
		return "of nobody", nil
	})
	for _, tenant := range []string{"blue", "green", "blue", "green", "a/b c:d=e@f"} {
		l.wantDone(l.ofTenant(d, tenant), "of "+tenant, "tenant "+tenant)
	}
	l.wantRuns(3, "three tenants")
}

func sharedTenants(l *lab) {
	d := l.open(idempotent.Config{TenantsShareRecords: true}, receipt)
	for _, tenant := range []string{"blue", "green"} {
		l.wantDone(l.ofTenant(d, tenant), "receipt", "tenant "+tenant)
	}
	l.wantRuns(1, "two tenants that share")
}

// handedOn are the keys that the function would hand on.
func (l *lab) handedOn(c idempotent.Config, store persistence.Store, want int, unrecorded bool) (keys []string) {
	d := l.openOn(store, c, func(ctx context.Context, _ Request) (string, error) {
		call, known := idempotent.CallFrom(ctx)
		if !known || call.Unrecorded != unrecorded {
			l.fault("the call is %+v, %v", call, known)
		}
		key := idempotent.DownstreamKey(ctx)
		if key == "" || len(call.Token()) > 36 {
			l.fault("hands on %q, or %q", key, call.Token())
		}
		keys = append(keys, key)
		return "receipt", nil
	})
	for range want {
		l.wantDone(l.send(d, order), "receipt", "without a record")
	}
	return keys
}

func (l *lab) sameKeys(lists ...[]string) {
	var first string
	for _, keys := range lists {
		for _, key := range keys {
			if first == "" {
				first = key
			}
			if key != first {
				l.fault("hands on %q and %q for the same request", first, key)
			}
		}
	}
}

func keyWithoutStore(l *lab) {
	down := l.handedOn(idempotent.Config{FailOpen: true}, new(unreachable), 2, true)
	l.sameKeys(down, l.handedOn(idempotent.Config{}, &environment{l.memory}, 1, false))
}

func keyWithoutGuards(l *lab) {
	recorded := l.handedOn(idempotent.Config{}, &environment{l.memory}, 1, false)
	l.Setenv("IDEMPOTENCY_DISABLED", "1")
	l.sameKeys(recorded, l.handedOn(idempotent.Config{}, &environment{l.memory}, 2, true))
}

func ownClaim(l *lab) {
	c := idempotent.Config{FailOpen: true}
	d := l.openOn(&deaf{Memory: l.memory}, c, receipt)
	l.wantDone(l.send(d, order), "receipt", "the reply to the acquire is lost")
	l.wantSettled("after it")
	l.wantDone(l.send(l.open(c, receipt), order), "receipt", "a duplicate")
	l.wantRuns(1, "after a duplicate")
}

func reserve(l *lab) {
	d := l.open(idempotent.Config{}, func(ctx context.Context, _ Request) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	l.wantFailed(l.send(d, order), "a function that waits for the end of its context")
	l.wantSettled("after it")
}

func lastMoment(l *lab) {
	d := l.open(idempotent.Config{}, func(ctx context.Context, _ Request) (string, error) {
		<-ctx.Done()
		time.Sleep(5 * time.Millisecond)
		return "receipt", nil
	})
	l.wantDone(l.send(d, order), "receipt", "a result that comes at the end of its context")
	l.wantDone(l.send(l.open(idempotent.Config{}, receipt), order), "receipt", "its duplicate")
	l.wantRuns(1, "after its duplicate")
}

func hungStore(l *lab) {
	d := l.openOn(&hung{Memory: l.memory}, idempotent.Config{StoreTimeout: time.Minute}, func(ctx context.Context, _ Request) (string, error) {
		<-ctx.Done()
		return "receipt", nil
	})
	a := l.send(d, order)
	l.wantTold(a, idempotent.CodeNotStored, idempotent.DoneAll, false, "a completion without an answer")
}

func tooLate(l *lab) {
	d := l.openOn(&frozen{Memory: l.memory, wakes: 9500 * time.Millisecond}, idempotent.Config{}, receipt)
	ctx, cancel := context.WithTimeout(l.Context(), 10*time.Second)
	defer cancel()
	l.wantTold(d(ctx, order), idempotent.CodeNotStarted, idempotent.DoneNothing, true, "too late")
	l.wantRuns(0, "too late")
	if records := l.memory.Records(); len(records) > 0 {
		l.fault("too late: left %+v", records)
	}
}

func renewal(l *lab) {
	second := l.open(idempotent.Config{}, receipt)
	d := l.open(idempotent.Config{}, func(ctx context.Context, r Request) (string, error) {
		time.Sleep(3 * time.Minute)
		a := l.send(second, r)
		l.wantTold(a, idempotent.CodeInProgress, idempotent.DoneMaybe, true, "a duplicate of a long run")
		return "receipt", ctx.Err()
	})
	ctx, cancel := context.WithTimeout(l.Context(), 15*time.Minute)
	defer cancel()
	l.wantDone(d(ctx, order), "receipt", "a long run")
	l.wantRuns(1, "after a long run")
	for _, r := range l.memory.Records() {
		l.memory.Put(persistence.Record{ // as a killed one leaves it
			Key: r.Key, Status: persistence.StatusProcessing, Owner: "dead", Attempt: 1, Fingerprint: r.Fingerprint,
			LeaseUntil: time.Now().Add(time.Minute), ExpiresAt: time.Now().Add(time.Hour),
		})
	}
	l.wantFailed(l.send(second, order), "within the lease of a dead run")
	time.Sleep(time.Minute + time.Millisecond)
	l.wantDone(l.send(second, order), "receipt", "after the lease of a dead run")
}
