package idempotenttest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// story plays a story of the sound function.
func story(t *testing.T, play func(t *testing.T, w *World)) {
	t.Helper()
	Story(t, selling(idempotent.Config{}, guarding(sound)), play)
}

var a, b = order{ID: "a", Amount: 10}, order{ID: "b", Amount: 10}

func TestAKilledProcessDoesNothingAnyMore(t *testing.T) {
	for name, story := range map[string]struct {
		kill    func(e *Environment)
		charges int
		status  persistence.Status
	}{
		"before the call": {func(e *Environment) { e.KillBefore(3) }, 0, persistence.StatusProcessing},
		"after the call":  {func(e *Environment) { e.KillAfter(3) }, 1, persistence.StatusProcessing},
		"at the end":      {func(e *Environment) { e.KillAfter(5) }, 1, persistence.StatusCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			deferred := false
			f := selling(idempotent.Config{}, guarding(func(ctx context.Context, s *shop, o order) (receipt, error) {
				defer func() { deferred = true }()
				return sound(ctx, s, o)
			}))
			Story(t, f, func(t *testing.T, w *World) {
				e := w.Start()
				story.kill(e)
				if answer := e.Invoke(a); !errors.Is(answer.Err, ErrKilled) {
					t.Errorf("the process that was killed %v", answer)
				}
				time.Sleep(time.Hour) // virtual
				if got := len(w.Effects()); got != story.charges {
					t.Errorf("there are %d charges, want %d", got, story.charges)
				}
				if records := w.Records(); len(records) != 1 || records[0].Status != story.status {
					t.Errorf("the records are %+v, want one that is %s", records, story.status)
				}
				if dies := story.status == persistence.StatusProcessing; dies && deferred {
					t.Error("a dead process has done what it had deferred")
				}
				e.Restart()
				if r := decode(t, e.Invoke(a)); r.Order != "a" {
					t.Errorf("the next process answers %+v", r)
				}
			})
		})
	}
}

func TestALostReplyIsOneOfARequestThatWasCarriedOut(t *testing.T) {
	story(t, func(t *testing.T, w *World) {
		e := w.Start()
		e.LoseReply(3) // the call of the provider
		if answer := e.Invoke(a); !errors.Is(answer.Err, ErrUnreachable) || len(w.Effects()) != 1 {
			t.Errorf("without a reply it %v, and there are %d charges", answer, len(w.Effects()))
		}
		e.LoseRequest(3)
		if answer := e.Invoke(b); !errors.Is(answer.Err, ErrUnreachable) || len(w.Effects()) != 1 {
			t.Errorf("without a request it %v, and there are %d charges", answer, len(w.Effects()))
		}
		decode(t, e.Invoke(a))
		decode(t, e.Invoke(b))
		if len(w.Effects()) != 2 {
			t.Errorf("in the end there are %d charges", len(w.Effects()))
		}
	})
}

func TestAFrozenProcessGoesOnWhenItsTimeIsOver(t *testing.T) {
	story(t, func(t *testing.T, w *World) {
		e, other := w.Start(), w.Start()
		e.FreezeAfter(1, time.Minute)
		first := e.Begin(a)
		if answer := first.Wait(); !errors.Is(answer.Err, ErrTimedOut) {
			t.Errorf("the frozen process %v", answer)
		}
		w.Pass(5 * time.Second)
		decode(t, other.Invoke(a))
		w.Pass(2 * time.Minute)
		if told := w.Told(); !strings.Contains(told, "environment 1 thaws") {
			t.Errorf("it has not thawed:\n%s", told)
		}
		decode(t, e.Invoke(b)) // it is alive
	})
}

func TestAProcessThatIsTooSlowIsKilled(t *testing.T) {
	f := selling(idempotent.Config{}, guarding(func(context.Context, *shop, order) (receipt, error) {
		time.Sleep(time.Hour) // virtual
		return receipt{}, nil
	}))
	f.Timeout = 3 * time.Second
	Story(t, f, func(t *testing.T, w *World) {
		e := w.Start()
		start := time.Now()
		if answer := e.Invoke(a); !errors.Is(answer.Err, ErrTimedOut) || time.Since(start) != f.Timeout {
			t.Errorf("after %v it %v", time.Since(start), answer)
		}
		time.Sleep(2 * time.Hour) // virtual
		if records := w.Records(); len(records) != 1 || records[0].Status != persistence.StatusProcessing {
			t.Errorf("the records are %+v", records)
		}
	})
}

func TestAProcessThatPanicsIsDead(t *testing.T) {
	Story(t, selling(idempotent.Config{}, guarding(func(context.Context, *shop, order) (receipt, error) { panic("oh") })), func(t *testing.T, w *World) {
		e := w.Start()
		if answer := e.Invoke(a); !errors.Is(answer.Err, ErrPanicked) {
			t.Errorf("it %v", answer)
		}
		if !e.current().isDead() {
			t.Error("it lives")
		}
	})
}

func TestADuplicateMeetsTheFirstRun(t *testing.T) {
	story(t, func(t *testing.T, w *World) {
		e, other := w.Start(), w.Start()
		e.FreezeAfter(3, time.Second)
		first := e.Begin(a)
		synctest.Wait()
		if answer := other.Invoke(a); !errors.Is(answer.Err, idempotent.ErrInProgress) {
			t.Errorf("the duplicate %v", answer)
		}
		if one, two := decode(t, first.Wait()), decode(t, other.Invoke(a)); one != two {
			t.Errorf("the first one got %+v, the duplicate %+v", one, two)
		}
	})
}

func TestTimePassesUntilTheLastRecordHasExpired(t *testing.T) {
	story(t, func(t *testing.T, w *World) {
		e := w.Start()
		e.Invoke(a)
		w.Pass(time.Hour)
		e.Invoke(b)
		w.Expire()
		for _, r := range w.Records() {
			if !r.Expired(time.Now()) {
				t.Errorf("%+v has not expired", r)
			}
		}
		if removed := w.DB().RemoveExpired(time.Now()); removed != 2 {
			t.Errorf("%d items were removed", removed)
		}
	})
}

func TestWhatIsRepeatedIsToldOnce(t *testing.T) {
	story(t, func(t *testing.T, w *World) {
		for range 3 {
			w.Tell("it knocks")
			w.Pass(time.Second)
		}
		w.Tell("it knocks")
		w.Tell("it knocks")
		if told := w.Told(); !strings.Contains(told, "  7.        3s  it knocks (2 times, until 3s)\n") {
			t.Errorf("told is\n%s", told)
		}
	})
}

func TestAServiceKnowsItsKeys(t *testing.T) {
	story(t, func(t *testing.T, w *World) {
		e, other := w.Start(), w.Start()
		do := func(s *Service, key, what string) string {
			id, err := s.Do(t.Context(), key, what)
			if err != nil {
				return err.Error()
			}
			return id
		}
		one := do(e.Service("mail"), "k", "hello")
		unkeyed := do(e.Service("mail"), "", "hello")
		for what, got := range map[string]bool{
			"another environment": do(other.Service("mail"), "k", "hello") == one,
			"another key":         do(e.Service("mail"), "l", "hello") != one,
			"another service":     do(e.Service("bank"), "k", "hello") != one,
			"no key":              do(e.Service("mail"), "", "hello") != unkeyed,
			"ignoring keys":       do(e.Service("mail").IgnoringKeys(), "k", "hello") != one,
			"other words":         do(e.Service("mail"), "k", "bye") == ErrOtherRequest.Error(),
		} {
			if !got {
				t.Errorf("%s: not as it should be", what)
			}
		}
	})
}

// A fake of one's own is as exposed as a service.
func TestACallOutsideCanBeLost(t *testing.T) {
	calls := 0
	f := selling(idempotent.Config{}, guarding(func(ctx context.Context, s *shop, o order) (receipt, error) {
		return receipt{Order: o.ID}, s.environment.Outside(ctx, "a fake", func() error { calls++; return nil })
	}))
	Story(t, f, func(t *testing.T, w *World) {
		e := w.Start()
		e.LoseRequest(2)
		if answer := e.Invoke(a); !errors.Is(answer.Err, ErrUnreachable) || calls != 0 {
			t.Errorf("without the request it %v, after %d calls", answer, calls)
		}
		e.LoseReply(2)
		if answer := e.Invoke(a); !errors.Is(answer.Err, ErrUnreachable) || calls != 1 {
			t.Errorf("without the reply it %v, after %d calls", answer, calls)
		}
		decode(t, e.Invoke(a))
	})
}

func TestWhatCanNotBeProvedIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(f *Function)
		want  promise
	}{
		"it fails":           {func(f *Function) { f.Settled = func(Answer) bool { return false } }, notLocked},
		"the books are shut": {func(f *Function) { f.Books = func(*World) Books { return nil } }, noClaim},
		"another table":      {func(f *Function) { f.Records.Table = "records" }, guarded},
		"the other one fails": {func(f *Function) {
			f.Settled = func(a Answer) bool { return !strings.Contains(string(a.Payload), `"b"`) }
		}, notTaken},
	} {
		t.Run(name, func(t *testing.T) {
			f := selling(idempotent.Config{}, guarding(sound))
			f.Setup = func(_ testing.TB, db *dynamotest.DB) {
				db.MustCreateTable(shopTable, "pk")
				if name == "another table" {
					db.MustCreateTable("idempotency", "idempotency_key")
				}
			}
			c.spoil(&f)
			_, failed := rehearse(t, f)
			if failed == nil || failed.breach.promise != c.want || failed.breach.hint == "" {
				t.Errorf("got %v, want %q with a hint", failed, c.want)
			}
		})
	}
}
