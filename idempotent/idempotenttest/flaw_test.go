package idempotenttest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
)

// Functions that are wrong on purpose, each in one way, and what is to be found.
func TestEachFlawIsCaughtAndNamed(t *testing.T) {
	charge := saga.NewStep(saga.Spec[receipt]{Name: "charge"})
	steps := idempotent.Config{Steps: saga.Steps(charge)}
	for name, flaw := range map[string]struct {
		function Function
		family   string // that catches it first
		promise  promise
		hint     string // a part of it
	}{
		"no downstream key": {
			selling(idempotent.Config{}, guarding(func(ctx context.Context, s *shop, o order) (receipt, error) {
				return s.charge(ctx, "", o)
			})), "crash", noExcess, "was given no key",
		},
		"another downstream key in each try": {
			selling(idempotent.Config{}, guarding(func(ctx context.Context, s *shop, o order) (receipt, error) {
				return s.charge(ctx, rand.Text(), o)
			})), "crash", noExcess, "another key in each try",
		},
		"an effect before the guard": {
			selling(idempotent.Config{}, func(s *shop) any {
				guarded := idempotent.Func(s.guard, func(ctx context.Context, o order) (receipt, error) {
					return receipt{Order: o.ID}, s.write(ctx, idempotent.DownstreamKey(ctx), o)
				})
				return func(ctx context.Context, o order) (receipt, error) {
					if _, err := s.charge(ctx, "", o); err != nil {
						return receipt{}, err
					}
					return guarded(ctx, o)
				}
			}), "replay", noExcess, "was called without a record",
		},
		"an effect before the guard, under a key": {
			selling(idempotent.Config{}, func(s *shop) any {
				guarded := idempotent.Func(s.guard, func(ctx context.Context, o order) (receipt, error) {
					return receipt{Order: o.ID}, s.write(ctx, idempotent.DownstreamKey(ctx), o)
				})
				return func(ctx context.Context, o order) (receipt, error) {
					if _, err := s.charge(ctx, o.ID, o); err != nil {
						return receipt{}, err
					}
					return guarded(ctx, o)
				}
			}), "outage", noDenial, "before the guard",
		},
		"a swallowed InProgressError": {
			selling(idempotent.Config{}, func(s *shop) any {
				guarded := idempotent.Func(s.guard, func(ctx context.Context, o order) (receipt, error) { return sound(ctx, s, o) })
				return func(ctx context.Context, o order) (receipt, error) {
					r, err := guarded(ctx, o)
					if errors.Is(err, idempotent.ErrInProgress) {
						return r, nil
					}
					return r, err
				}
			}), "crash", noClaim, "InProgressError",
		},
		"a swallowed StoreError": {
			selling(idempotent.Config{}, func(s *shop) any {
				guarded := idempotent.Func(s.guard, func(ctx context.Context, o order) (receipt, error) { return sound(ctx, s, o) })
				return func(ctx context.Context, o order) (receipt, error) {
					r, err := guarded(ctx, o)
					if errors.Is(err, idempotent.ErrStore) {
						return r, nil
					}
					return r, err
				}
			}), "outage", noClaim, "was taken for a success",
		},
		"a step without its token": {
			selling(steps, guarding(func(ctx context.Context, s *shop, o order) (receipt, error) {
				return charge.Run(ctx, func(ctx context.Context, _ saga.Call) (receipt, error) { return s.charge(ctx, "", o) })
			})), "crash", noExcess, `in the step "charge" was given no key`,
		},
		"a provider that ignores keys": {
			selling(idempotent.Config{}, guarding(func(ctx context.Context, s *shop, o order) (receipt, error) {
				s.provider = s.provider.IgnoringKeys()
				return s.charge(ctx, idempotent.DownstreamKey(ctx), o)
			})), "crash", noExcess, "ignores the key",
		},
		"a row with a name of its own in each try": {
			selling(idempotent.Config{}, guarding(func(ctx context.Context, s *shop, o order) (receipt, error) {
				return receipt{Order: o.ID}, s.write(ctx, rand.Text(), o)
			})), "crash", noExcess, "dynamostore.Enlist",
		},
		"an effect that is not waited for": {
			selling(idempotent.Config{}, guarding(func(ctx context.Context, s *shop, o order) (receipt, error) {
				key := idempotent.DownstreamKey(ctx)
				if _, err := s.charge(ctx, key, o); errors.Is(err, ErrUnreachable) {
					return receipt{Order: o.ID}, nil // and if it never comes?
				}
				return receipt{Order: o.ID}, s.write(ctx, key, o)
			})), "lost", noClaim, "taken for a success",
		},
		"an answer of its own for each duplicate": {
			selling(idempotent.Config{}, func(s *shop) any {
				guarded := idempotent.Func(s.guard, func(ctx context.Context, o order) (receipt, error) { return sound(ctx, s, o) })
				return func(ctx context.Context, o order) (receipt, error) {
					r, err := guarded(ctx, o)
					r.Order = rand.Text()
					return r, err
				}
			}), "replay", sameAnswer, "outside of the guard",
		},
		"a run that locks its request for an hour": {
			selling(idempotent.Config{MinLease: 3600e9}, guarding(sound)), "crash", notLocked, "lease",
		},
		"a key that is the same for all": {
			selling(idempotent.Config{}, func(s *shop) any {
				return func(ctx context.Context, o order) (receipt, error) {
					return idempotent.DoAs(ctx, s.guard, s.guard.Identify([]byte(`{"id":"the key"}`)), func(ctx context.Context) (receipt, error) { return sound(ctx, s, o) })
				}
			}), "replay", notTaken, "the key is the same",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, failed := rehearse(t, flaw.function)
			if failed != nil {
				t.Fatal(failed)
			}
			for _, kind := range families {
				found, _ := p.search(t, kind)
				if len(found) == 0 {
					continue
				}
				first := found[0]
				if kind.name != flaw.family || first.breach.promise != flaw.promise || !strings.Contains(first.breach.hint, flaw.hint) {
					t.Errorf("found by %s, want %s: %q, %q; found is\n%v", kind.name, flaw.family, flaw.promise, flaw.hint, first)
				}
				return
			}
			t.Error("it was not found")
		})
	}
}
