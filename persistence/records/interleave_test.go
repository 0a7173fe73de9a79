package records_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// world is an owner, a client and an operator of one record, and a clock, of whom one at a time
// takes a step: a call of the store, or some time that passes. Which one, the schedule says.
type world struct {
	*persistence.Memory
	rota
	now      time.Time
	told     []string        // what has happened, in order
	wrong    []string        // what must not
	until    time.Time       // the lease that the owner knows of
	there    map[string]bool // results that somebody was told are recorded, and may not vanish
	operated bool            // the operator has done something
}

func (w *world) say(format string, args ...any) {
	w.told = append(w.told, fmt.Sprintf(format, args...))
}

// The store of the operator, whose calls are steps.
func (w *world) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	w.turn("operator")
	return w.Memory.Acquire(ctx, c)
}

func (w *world) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	w.turn("operator")
	return w.Memory.Complete(ctx, l, o)
}

func (w *world) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	w.turn("operator")
	return w.Memory.Read(ctx, key)
}

func (w *world) Forget(ctx context.Context, seen persistence.Record) error {
	w.turn("operator")
	return w.Memory.Forget(ctx, seen)
}

func (w *world) List(context.Context, storekit.Query) (storekit.Page, error) {
	return storekit.Page{}, errors.ErrUnsupported
}

func outcomeWith(result string, at time.Time) persistence.Outcome {
	return persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: at.Add(24 * time.Hour)}
}

// owner renews once and completes, as the engine does: not when it knows that its lease is over,
// unless it was frozen in between, which nobody can know.
func (w *world) owner(ctx context.Context, first persistence.Record) {
	lease := first.Lease()
	w.turn("owner")
	if lease.Until = w.now.Add(time.Minute); w.now.Before(w.until) {
		if err := w.Renew(ctx, lease); err == nil {
			w.until = lease.Until
			w.say("the owner has renewed its lease")
		}
	}
	w.turn("owner")
	if err := w.Memory.Complete(ctx, lease, outcomeWith("owner", w.now)); err == nil {
		w.until = time.Time{} // it is over
		w.say("the owner has completed it")
		w.there["owner"] = true
	}
}

// client sends the request again.
func (w *world) client(ctx context.Context) {
	w.turn("client")
	r, err := w.Memory.Acquire(ctx, claim(key, "client", w.now))
	switch {
	case err != nil:
		w.wrong = append(w.wrong, err.Error())
	case r.Owner != "client":
		w.say("the client is turned away or gets %q", r.Result)
		return
	case !w.now.After(w.until):
		w.wrong = append(w.wrong, "the client runs, and the owner has a live lease")
	}
	w.say("the client runs, after attempt %d", r.Attempt-1)
	w.turn("client")
	if err := w.Memory.Complete(ctx, r.Lease(), outcomeWith("client", w.now)); err == nil {
		w.there["client"] = true
		w.say("the client has completed it")
	}
}

func (w *world) clock() {
	for _, by := range []time.Duration{40 * time.Second, 80 * time.Second, time.Minute} {
		w.turn("clock")
		w.now = w.now.Add(by)
		w.say("it is %s", w.now.Format("15:04:05"))
	}
}

// operate shows the record, plans, and does it.
func (w *world) operate(ctx context.Context, desk *records.Desk, a act) {
	shown, err := desk.Show(ctx, key)
	if err != nil {
		return
	}
	plan, err := a(ctx, desk, shown)
	if err != nil {
		w.say("the operator is refused: %v", err)
		return
	}
	before := w.recorded()
	after, err := plan.Do(ctx)
	switch {
	case err != nil:
		w.say("the operator has failed: %v", err)
	case after.Key == "":
		w.operated = true
		w.say("the operator has forgotten it, which was %s", shown.State)
		if shown.Status.Finished() {
			clear(w.there) // that is what it was for
		}
	default:
		w.operated = true
		w.there[`"operator"`] = true
		w.say("the operator has settled it, and %s was recorded when it began", before)
	}
}

// recorded is the result that is there.
func (w *world) recorded() string {
	r, _, _ := w.Memory.Read(context.Background(), key)
	return string(r.Result)
}

// play takes the steps in the order of a schedule.
func play(t *testing.T, a act, schedule []int) (w *world, choices []int) {
	t.Helper()
	w = &world{Memory: persistence.NewMemory(), now: now, there: make(map[string]bool)}
	first, err := w.Memory.Acquire(t.Context(), claim(key, "owner", now))
	if err != nil {
		t.Fatal(err)
	}
	w.until = first.LeaseUntil
	desk := newDesk(t, w, records.Config{Now: func() time.Time { return w.now }})
	return w, w.play(map[string]func(){
		"clock":    w.clock,
		"owner":    func() { w.owner(t.Context(), first) },
		"client":   func() { w.client(t.Context()) },
		"operator": func() { w.operate(t.Context(), desk, a) },
	}, schedule, w.check)
}

// check holds what is there against what somebody was told.
func (w *world) check() {
	r, found, _ := w.Memory.Read(context.Background(), key)
	for result := range w.there {
		if !found || string(r.Result) != result {
			w.wrong = append(w.wrong, fmt.Sprintf("the result of the %s was recorded, and there is %q", result, r.Result))
		}
	}
}

// TestAnOperatorBesideALiveOwnerBreaksNoPromise plays every order of the steps of an owner that
// renews its lease, a client that repeats the request, an operator, and time that passes.
func TestAnOperatorBesideALiveOwnerBreaksNoPromise(t *testing.T) {
	for name, a := range map[string]act{"complete": settle(records.Complete([]byte(`"operator"`))), "forget": forget} {
		t.Run(name, func(t *testing.T) {
			played, done := 0, 0
			for schedule := []int{}; schedule != nil; played++ {
				w, choices := play(t, a, schedule)
				if len(w.wrong) > 0 {
					t.Fatalf("%v\nThe story:\n%q", w.wrong, w.told)
				}
				if w.operated {
					done++
				}
				schedule = following(schedule, choices)
			}
			t.Logf("%d orders, in %d of which the operator has done something", played, done)
			if played < 500 || done == 0 {
				t.Errorf("only %d orders were played, and the operator has done something in %d", played, done)
			}
		})
	}
}
