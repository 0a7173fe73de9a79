package records_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
)

const key = "payment#1"

// died is a record whose run has not ended within its lease.
func died(t *testing.T, store persistence.Store, steps map[string]string) persistence.Record {
	t.Helper()
	r, err := store.Acquire(t.Context(), claim(key, "dead", now.Add(-time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	for name, entry := range steps {
		if err := store.(persistence.Checkpointer).Checkpoint(t.Context(), r.Lease(), name, []byte(entry)); err != nil {
			t.Fatal(err)
		}
		r.Steps = map[string][]byte{name: []byte(entry)}
	}
	return r
}

// givenUp is a record that its run has given up after some steps.
func givenUp(t *testing.T, store persistence.Store, steps map[string]string) {
	t.Helper()
	r := died(t, store, steps)
	if err := store.Release(t.Context(), r.Lease()); err != nil {
		t.Fatal(err)
	}
}

func show(t *testing.T, desk *records.Desk) records.Record {
	t.Helper()
	r, err := desk.Show(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// act plans something about the record as it is, and does it.
type act func(context.Context, *records.Desk, records.Record) (*records.Plan, error)

func settle(s records.Settlement) act {
	return func(ctx context.Context, d *records.Desk, r records.Record) (*records.Plan, error) {
		return d.Settle(ctx, r, s)
	}
}

func forget(ctx context.Context, d *records.Desk, r records.Record) (*records.Plan, error) {
	return d.Forget(ctx, r)
}

func resume(ctx context.Context, d *records.Desk, r records.Record) (*records.Plan, error) {
	return d.Resume(ctx, r, records.Resumption{Event: []byte("{}"), Invoke: func(context.Context, []byte) error { return errors.New("ran") }})
}

// outcomeOf says in a few words what came of planning and doing.
func outcomeOf(t *testing.T, desk *records.Desk, shown records.Record, a act) string {
	t.Helper()
	plan, err := a(t.Context(), desk, shown)
	if err == nil {
		_, err = plan.Do(t.Context())
	}
	return wordOf(err)
}

func wordOf(err error) string {
	var changed *records.ChangedError
	var running *records.RunningError
	var refused *records.RefusedError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &changed):
		return "changed"
	case errors.As(err, &running):
		return "running"
	case errors.As(err, &refused):
		return "refused"
	default:
		return err.Error()
	}
}

// TestWhatIsKnownOfARequestIsRecorded settles dead and given up requests, on every store.
func TestWhatIsKnownOfARequestIsRecorded(t *testing.T) {
	const started = `{"input":"abc","compensable":true}`
	for _, c := range []struct {
		name   string
		steps  map[string]string
		act    act
		status persistence.Status
		result string
		omit   bool
		step   string // that is there then
		entry  string
	}{
		{name: "completed", act: settle(records.Complete([]byte(`{"id":7}`))), status: persistence.StatusCompleted, result: `{"id":7}`},
		{name: "completed with an unknown result", act: settle(records.CompleteWithoutResult()), status: persistence.StatusCompleted, omit: true},
		{name: "failed", act: settle(records.Fail("CardDeclined", "no money")), status: persistence.StatusFailed, result: `{"errorType":"CardDeclined","errorMessage":"no money"}`},
		{name: "step finished", steps: map[string]string{"charge:started": started}, act: settle(records.FinishStep("charge", []byte(` "c-1" `))),
			status: persistence.StatusPartial, step: "charge", entry: `{"order":1,"output":"c-1","input":"abc","compensable":true}`},
		{name: "step finished with an unknown output", steps: map[string]string{"charge:started": "{}"}, act: settle(records.FinishStep("charge", nil)),
			status: persistence.StatusPartial, step: "charge", entry: `{"order":1,"omitted":true}`},
		{name: "step declined", steps: map[string]string{"charge:started": started}, act: settle(records.DeclineStep("charge")),
			status: persistence.StatusPartial, step: "charge:declined", entry: `{}`},
	} {
		for name, newStore := range stores {
			for how, begin := range map[string]func(*testing.T, persistence.Store, map[string]string){
				"died":     func(t *testing.T, s persistence.Store, steps map[string]string) { died(t, s, steps) },
				"given up": givenUp,
			} {
				if how == "given up" && c.steps == nil {
					continue // nothing is left of one without steps
				}
				t.Run(fmt.Sprintf("%s/%s/%s", c.name, name, how), func(t *testing.T) {
					store := newStore(t)
					begin(t, store, c.steps)
					desk := newDesk(t, store, records.Config{})
					if got := outcomeOf(t, desk, show(t, desk), c.act); got != "done" {
						t.Fatal(got)
					}
					r, _, err := store.(persistence.Reader).Read(t.Context(), key)
					if err != nil || r.Status != c.status || string(r.Result) != c.result || r.ResultOmitted != c.omit || string(r.Steps[c.step]) != c.entry {
						t.Errorf("the record is %+v (%v)", r, err)
					}
					if r.Owner == "dead" || r.Function != "payment:7" || r.RequestID != "request of dead" {
						t.Errorf("the record is of %q, run by %+v", r.Owner, r.Run)
					}
				})
			}
		}
	}
}

// TestNothingIsDoneAboutWhatIsNotAsShown has everything that can happen between showing and doing.
func TestNothingIsDoneAboutWhatIsNotAsShown(t *testing.T) {
	acts := map[string]act{
		"complete": settle(records.Complete([]byte("1"))),
		"fail":     settle(records.Fail("E", "m")),
		"decline":  settle(records.DeclineStep("charge")),
		"forget":   forget,
		"resume":   resume,
	}
	started := map[string]string{"charge:started": "{}"}
	for _, c := range []struct {
		name    string
		between func(t *testing.T, store persistence.Store, dead persistence.Record)
	}{
		{"another run has taken it over", func(t *testing.T, store persistence.Store, _ persistence.Record) {
			acquire(t, store, claim(key, "other", now))
		}},
		{"another run has taken it over and died", func(t *testing.T, store persistence.Store, _ persistence.Record) {
			acquire(t, store, claim(key, "other", now.Add(-10*time.Minute)))
		}},
		{"another run has completed it", func(t *testing.T, store persistence.Store, _ persistence.Record) {
			r := acquire(t, store, claim(key, "other", now.Add(-10*time.Minute)))
			if err := store.Complete(t.Context(), r.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte("2"), ExpiresAt: now.Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}},
		{"its owner has renewed its lease", func(t *testing.T, store persistence.Store, dead persistence.Record) {
			lease := dead.Lease()
			lease.Until = now.Add(time.Minute)
			if err := store.(persistence.Renewer).Renew(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
		}},
		{"its owner has completed it", func(t *testing.T, store persistence.Store, dead persistence.Record) {
			if err := store.Complete(t.Context(), dead.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte("2"), ExpiresAt: now.Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		for what, a := range acts {
			for name, newStore := range stores {
				t.Run(c.name+"/"+what+"/"+name, func(t *testing.T) {
					store := newStore(t)
					dead := died(t, store, started)
					desk := newDesk(t, store, records.Config{})
					shown := show(t, desk)
					plan, err := a(t.Context(), desk, shown)
					if err != nil {
						t.Fatal(err)
					}
					c.between(t, store, dead)
					before := show(t, desk)
					if _, err := plan.Do(t.Context()); wordOf(err) != "changed" {
						t.Errorf("it has ended with %v", err)
					}
					if after := show(t, desk); after.Version != before.Version {
						t.Errorf("the record was %+v and is %+v", before, after)
					}
				})
			}
		}
	}
}

func acquire(t *testing.T, store persistence.Store, c persistence.Claim) persistence.Record {
	t.Helper()
	r, err := store.Acquire(t.Context(), c)
	if err != nil || r.Owner != c.Owner {
		t.Fatalf("acquired %+v (%v)", r, err)
	}
	return r
}

// TestWhatIsGoneStaysGone has a record that is removed between showing and doing.
func TestWhatIsGoneStaysGone(t *testing.T) {
	for name, newStore := range stores {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			died(t, store, nil)
			desk := newDesk(t, store, records.Config{})
			shown := show(t, desk)
			plan, err := desk.Settle(t.Context(), shown, records.Complete([]byte("1")))
			if err != nil {
				t.Fatal(err)
			}
			if got := outcomeOf(t, desk, shown, forget); got != "done" {
				t.Fatal(got)
			}
			if got := outcomeOf(t, desk, shown, forget); got != "done" { // also after a lost reply
				t.Fatal(got)
			}
			if _, err := plan.Do(t.Context()); wordOf(err) != "changed" {
				t.Errorf("settling has ended with %v", err)
			}
			var missing *records.NotFoundError
			if r, err := desk.Show(t.Context(), key); !errors.As(err, &missing) {
				t.Errorf("there is %+v (%v)", r, err)
			}
		})
	}
}

// TestAnOwnerThatComesBackIsShutOut has the dead run come back after the operator's write.
func TestAnOwnerThatComesBackIsShutOut(t *testing.T) {
	for what, a := range map[string]act{"settle": settle(records.Complete([]byte("1"))), "forget": forget} {
		for name, newStore := range stores {
			t.Run(what+"/"+name, func(t *testing.T) {
				store := newStore(t)
				dead := died(t, store, nil)
				desk := newDesk(t, store, records.Config{})
				if got := outcomeOf(t, desk, show(t, desk), a); got != "done" {
					t.Fatal(got)
				}
				outcome := persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte("2"), ExpiresAt: now.Add(time.Hour)}
				if err := store.Complete(t.Context(), dead.Lease(), outcome); !errors.Is(err, persistence.ErrLeaseLost) {
					t.Errorf("its completion ends with %v", err)
				}
				if err := store.(persistence.Checkpointer).Checkpoint(t.Context(), dead.Lease(), "late", nil); !errors.Is(err, persistence.ErrLeaseLost) {
					t.Errorf("its checkpoint ends with %v", err)
				}
			})
		}
	}
}

func TestWhatARecordsStateAllows(t *testing.T) {
	acts := []struct {
		name string
		act  act
	}{
		{"complete", settle(records.Complete([]byte("1")))},
		{"not JSON", settle(records.Complete([]byte("{")))},
		{"no settlement", settle(records.Settlement{})},
		{"finish", settle(records.FinishStep("charge", []byte("1")))},
		{"unknown step", settle(records.DeclineStep("other"))},
		{"undo", settle(records.UndoStep("charge"))},
		{"forget", forget},
	}
	finish := func(t *testing.T, s persistence.Store) {
		r := died(t, s, nil)
		if err := s.Complete(t.Context(), r.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte("2"), ExpiresAt: now.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		begin func(*testing.T, persistence.Store)
		at    time.Time
		state records.State
		want  [7]string // of each act
	}{
		{"running", func(t *testing.T, s persistence.Store) { acquire(t, s, claim(key, "o", now)) }, now,
			records.StateRunning, [7]string{"running", "running", "running", "running", "running", "running", "running"}},
		{"just over, by a clock that may be ahead", func(t *testing.T, s persistence.Store) { acquire(t, s, claim(key, "o", now)) }, now.Add(65 * time.Second),
			records.StateRunning, [7]string{"running", "running", "running", "running", "running", "running", "running"}},
		{"died in a step", func(t *testing.T, s persistence.Store) { died(t, s, map[string]string{"charge:started": "{}"}) }, now,
			records.StateDied, [7]string{"done", "refused", "refused", "done", "refused", "refused", "done"}},
		{"died after a step", func(t *testing.T, s persistence.Store) { died(t, s, map[string]string{"charge": `{"order":1}`}) }, now,
			records.StateDied, [7]string{"done", "refused", "refused", "refused", "refused", "refused", "done"}},
		{"given up", func(t *testing.T, s persistence.Store) { givenUp(t, s, map[string]string{"charge:started": "{}"}) }, now,
			records.StatePartial, [7]string{"done", "refused", "refused", "done", "refused", "refused", "done"}},
		{"completed", finish, now,
			records.StateCompleted, [7]string{"refused", "refused", "refused", "refused", "refused", "refused", "done"}},
		{"expired", finish, now.Add(48 * time.Hour),
			records.StateExpired, [7]string{"refused", "refused", "refused", "refused", "refused", "refused", "done"}},
	} {
		for n, a := range acts {
			t.Run(c.name+"/"+a.name, func(t *testing.T) {
				store := persistence.NewMemory()
				c.begin(t, store)
				desk := newDesk(t, store, records.Config{Now: func() time.Time { return c.at }})
				shown := show(t, desk)
				if shown.State != c.state {
					t.Fatalf("it is %s", shown.State)
				}
				if got := outcomeOf(t, desk, shown, a.act); got != c.want[n] {
					t.Errorf("%s: %s", a.name, got)
				}
			})
		}
	}
}
