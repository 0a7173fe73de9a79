package records_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// meeting is a sweep, a client's retry and perhaps a live owner at one record, of whom one at a
// time takes a step: a request to the table, the end of a run, or some time that passes. All of them are the code
// that ships: the engine behind client, owner and the resumed function, and the sweep.
type meeting struct {
	rota
	table    *persistence.Memory
	told     []string
	wrong    []string
	running  map[string]func() error // runs under way, by whose they are
	done     int                     // runs that were recorded
	sent     int
	reserved int // times that the first step has run
}

// seat is the table as one of them has it. Renewals take no turn: the engine makes them beside.
type seat struct {
	*persistence.Memory
	meeting *meeting
	actor   string
}

func (s *seat) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	if s.actor != "owner" { // whose run is there before anybody else comes
		s.meeting.turn(s.actor)
	}
	return s.Memory.Acquire(ctx, c)
}

func (s *seat) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	err := s.Memory.Complete(ctx, l, o)
	if err == nil {
		s.meeting.done++
		s.meeting.say("%s has completed it", s.actor)
	}
	return err
}

func (s *seat) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	s.meeting.turn(s.actor)
	return s.Memory.Read(ctx, key)
}

// List implements [storekit.Lister], with one segment.
func (s *seat) List(_ context.Context, q storekit.Query) (page storekit.Page, err error) {
	if q.Segment > 0 {
		return page, nil
	}
	s.meeting.turn(s.actor)
	for _, r := range s.Records() {
		if slices.Contains(q.Statuses, r.Status) {
			page.Records = append(page.Records, r)
		}
	}
	return page, nil
}

func (m *meeting) say(format string, args ...any) {
	m.told = append(m.told, time.Now().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

// invoke is the guarded function in an environment of its own.
func (m *meeting) invoke(ctx context.Context, t *testing.T, actor string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	reserve := saga.NewStep(saga.Spec[string]{Name: "reserve"})
	guard, err := idempotent.New(&seat{m.table, m, actor}, idempotent.Config{
		Operation: "payment", Key: idempotency.MustJMESPath("id"), Steps: saga.Steps(reserve), KeepEvent: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Error(err)
		return err
	}
	_, err = guard.Handler(func(ctx context.Context) (string, error) {
		for other, running := range m.running {
			if running() == nil {
				m.wrong = append(m.wrong, fmt.Sprintf("%s runs beside %s", actor, other))
			}
		}
		if m.done > 0 {
			m.wrong = append(m.wrong, actor+" runs what is done")
		}
		m.running[actor] = ctx.Err
		defer delete(m.running, actor)
		m.say("%s runs", actor)
		m.turn(actor) // it takes its time
		return reserve.Run(ctx, func(context.Context, saga.Call) (string, error) {
			m.reserved++
			return "box", nil
		})
	}).Invoke(ctx, []byte(theEvent))
	return err
}

// TestASweepBesideAClientAndALiveOwnerRunsNothingTwice plays every order of the steps of a sweep
// with the function that it invokes, of a client that repeats the request, of the first run, which
// is alive, dead or given up, and of time that passes.
func TestASweepBesideAClientAndALiveOwnerRunsNothingTwice(t *testing.T) {
	night := []time.Duration{50 * time.Second, 70 * time.Second, time.Hour}
	for name, c := range map[string]struct {
		first  func(*testing.T, *meeting)
		clock  []time.Duration
		sweeps []string
		least  int // orders that are to be played
	}{
		"beside a live owner":      {live, night, []string{"sweep"}, 150},
		"after a dead one":         {dead, night, []string{"sweep"}, 50},
		"after one that gave up":   {gaveUp, night, []string{"sweep"}, 40},
		"two sweeps, a dead owner": {dead, night[2:], []string{"sweep", "sweep again"}, 1000},
		"two sweeps, one gave up":  {gaveUp, night[2:], []string{"sweep", "sweep again"}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			actors := map[string]func(*testing.T, *meeting){
				"owner":  c.first,
				"client": func(t *testing.T, m *meeting) { _ = m.invoke(t.Context(), t, "client") },
				"clock": func(_ *testing.T, m *meeting) {
					for _, by := range c.clock {
						m.turn("clock")
						time.Sleep(by)
					}
				},
			}
			for _, name := range c.sweeps {
				actors[name] = func(t *testing.T, m *meeting) { sweep(t, m, name) }
			}
			played, sent := 0, 0
			for schedule := []int{}; schedule != nil; played++ {
				var choices []int
				synctest.Test(t, func(t *testing.T) {
					m := &meeting{table: persistence.NewMemory(), running: make(map[string]func() error)}
					steps := make(map[string]func())
					for name, act := range actors {
						steps[name] = func() { act(t, m) }
					}
					choices = m.play(steps, schedule, func() {})
					if len(m.wrong) > 0 || m.done > 1 || m.reserved > 1 {
						t.Fatalf("%v; reserved %d times, done %d times\nThe story:\n%q", m.wrong, m.reserved, m.done, m.told)
					}
					sent += m.sent
				})
				if t.Failed() {
					return
				}
				schedule = following(schedule, choices)
			}
			t.Logf("%d orders, in which %d events were sent", played, sent)
			if played < c.least || sent == 0 {
				t.Errorf("only %d orders were played, and %d events sent", played, sent)
			}
		})
	}
}

// live is a first run that takes its time.
func live(t *testing.T, m *meeting) { _ = m.invoke(t.Context(), t, "owner") }

// dead is one that is never seen again.
func dead(t *testing.T, m *meeting) { m.begin(t) }

// gaveUp is one that has failed after its first step.
func gaveUp(t *testing.T, m *meeting) {
	r := m.begin(t)
	m.reserved++
	if err := m.table.Checkpoint(t.Context(), r.Lease(), "reserve", []byte(`{"order":1,"output":"box"}`)); err != nil {
		t.Error(err)
	}
	lease := r.Lease()
	lease.Steps = map[string][]byte{"reserve": []byte(`{"order":1,"output":"box"}`)}
	if err := m.table.Release(t.Context(), lease); err != nil {
		t.Error(err)
	}
}

func (m *meeting) begin(t *testing.T) persistence.Record {
	claimed := claim(orderKeyOf(t), "owner", time.Now())
	claimed.Event = []byte(theEvent)
	r, err := m.table.Acquire(t.Context(), claimed)
	if err != nil {
		t.Error(err)
	}
	return r
}

func orderKeyOf(t *testing.T) string {
	t.Helper()
	key, err := idempotency.MustJMESPath("id").Key("payment", []byte(theEvent))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sweep sweeps once.
func sweep(t *testing.T, m *meeting, name string) {
	desk := newDesk(t, &seat{m.table, m, name}, records.Config{Now: time.Now})
	_, err := desk.Sweep(t.Context(), records.Sweep{
		After:   time.Nanosecond,
		Send:    func(ctx context.Context, _ records.Record, _ []byte) error { m.sent++; return m.invoke(ctx, t, name) },
		Abandon: func(_ context.Context, c records.Case) error { return errors.New(c.Why) },
	})
	if err != nil {
		m.say("the %s ends with %v", name, err)
	}
}
