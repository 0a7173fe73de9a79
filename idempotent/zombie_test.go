package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// The zombie: A's lease ends, B takes over, and A comes back from the dead, to
// succeed or to fail, before B ends or after. B's record survives, C replays B,
// and A's caller is told.
func TestAZombieCannotTouchTheWinner(t *testing.T) {
	for _, fails := range []string{"", "fails", "fails for good", "panics"} {
		for _, first := range []string{"zombie", "winner"} {
			t.Run(fmt.Sprintf("the zombie %s, the %s ends first", or(fails, "succeeds"), first), func(t *testing.T) {
				lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
					var seen lab.EventLog
					guard := lab.NewKeylessGuard(t, store, idempotent.Config{Observe: seen.Observe})
					zombieEnds, winnerEnds := make(chan struct{}), make(chan struct{})
					zombie := start(t, guard, 2*time.Second, zombieEnds, "zombie", fails)
					synctest.Wait()
					time.Sleep(4 * time.Second) // virtual: the zombie's lease is over
					winner := start(t, guard, time.Minute, winnerEnds, "winner", "")
					synctest.Wait()
					order := []chan struct{}{zombieEnds, winnerEnds}
					if first == "winner" {
						order = []chan struct{}{winnerEnds, zombieEnds}
					}
					for _, end := range order {
						close(end)
						synctest.Wait()
					}
					if w := <-winner; w.err != nil || w.got != "winner" {
						t.Errorf("the winner got %q, %v", w.got, w.err)
					}
					z := <-zombie
					var lost *idempotent.LeaseLostError
					switch {
					case fails == "" && (!errors.As(z.err, &lost) || string(lost.Result) != `"zombie"` || z.got != "zombie"):
						t.Errorf("the zombie got %q, %v, want its result with a LeaseLostError", z.got, z.err)
					case fails == "fails" && z.err != errTryAgain:
						t.Errorf("the zombie got %v, want its own error", z.err)
					case fails == "fails for good" && (!errors.As(z.err, &lost) || !errors.Is(lost.Failure, errTryAgain) || errors.Is(z.err, idempotent.ErrPermanent)):
						t.Errorf("the zombie got %v, want a LeaseLostError with its own error, which is not the request's", z.err)
					case fails == "fails for good":
						if v := idempotent.VerdictOf(z.err); v.Done != idempotent.DoneMaybe || !v.Retry || v.Code != idempotent.CodeLeaseLost {
							t.Errorf("the zombie is told %+v", v)
						}
					}
					got, err := idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) {
						return "third", nil
					})
					if err != nil || got != "winner" {
						t.Errorf("the third caller got %q, %v, want a replay of the winner", got, err)
					}
					counts := map[idempotent.EventKind]int{}
					for _, kind := range seen.Kinds() {
						counts[kind]++
					}
					if counts[idempotent.EventTakenOver] != 1 || counts[idempotent.EventLeaseLost] != 1 || counts[idempotent.EventExecuted] != 1 || counts[idempotent.EventReplayed] != 1 {
						t.Errorf("events %v", counts)
					}
				})
			})
		}
	}
}

type ended struct {
	got string
	err error
}

// start begins a run that ends when it is told to.
func start(t *testing.T, guard *idempotent.Guard, timeout time.Duration, end chan struct{}, result, fails string) chan ended {
	outcome := make(chan ended, 1)
	ctx := within(t, timeout)
	go func() {
		var e ended
		defer func() {
			if p := recover(); p != nil {
				e.err = fmt.Errorf("panic: %v", p)
			}
			outcome <- e
		}()
		e.got, e.err = idempotent.Do(ctx, guard, "k", func(context.Context) (string, error) {
			<-end
			switch fails {
			case "fails":
				return "", errTryAgain
			case "fails for good":
				return "", idempotent.Permanent(errTryAgain)
			case "panics":
				panic("zombie")
			}
			return result, nil
		})
	}()
	return outcome
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// An owner whose lease is over may still finish where nobody has taken over: the
// effect has happened, so recording it late is better than running it again.
func TestALateOwnerStillFinishesWhatNobodyTookOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
		got, err := idempotent.Do(within(t, time.Second), guard, "k", func(context.Context) (string, error) {
			time.Sleep(time.Hour) // virtual
			return "late", nil
		})
		if err != nil || got != "late" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// With RefuseUnknown nobody runs again after a dead run, until the record expires.
func TestAnUnknownOutcomeIsRefusedWhereConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen lab.EventLog
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{
			RefuseUnknown: true, TTL: time.Hour, Observe: seen.Observe,
		})
		die(t, guard, "k", time.Second)
		run := func(context.Context) (string, error) { return "ran", nil }
		if _, err := idempotent.Do(within(t, time.Minute), guard, "k", run); !errors.Is(err, idempotent.ErrInProgress) {
			t.Errorf("within the lease: %v", err)
		}
		time.Sleep(3 * time.Second) // virtual
		var unknown *idempotent.OutcomeUnknownError
		if _, err := idempotent.Do(within(t, time.Minute), guard, "k", run); !errors.As(err, &unknown) || !errors.Is(err, idempotent.ErrOutcomeUnknown) {
			t.Errorf("after the lease: %v", err)
		}
		if kinds := seen.Kinds(); len(kinds) != 2 || kinds[1] != idempotent.EventStuck {
			t.Errorf("events %v", kinds)
		}
		time.Sleep(time.Hour) // virtual
		if got, err := idempotent.Do(within(t, time.Minute), guard, "k", run); err != nil || got != "ran" {
			t.Errorf("after the expiry: %q, %v", got, err)
		}
	})
}
