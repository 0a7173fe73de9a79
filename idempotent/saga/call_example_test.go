package saga_test

import (
	"context"
	"fmt"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

// What a step calls, far from it, can ask for the step's token.
func ExampleCallFrom() {
	charge := saga.NewStep(saga.Spec[string]{Name: "charge"})
	guard := newGuard(idempotent.Config{Operation: "checkout", Steps: saga.Steps(charge)})
	provider := func(ctx context.Context) (string, error) {
		step, ok := saga.CallFrom(ctx)
		fmt.Println(ok, step.Name, len(step.Token))
		return "ch_1", nil
	}
	_, err := idempotent.Do(context.Background(), guard, "order-1", func(ctx context.Context) (string, error) {
		return charge.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) { return provider(ctx) })
	})
	fmt.Println(err)
	// Output:
	// true charge 32
	// <nil>
}

// A step that no code runs any more stays declared until no record has it.
func ExampleRetired() {
	store := persistence.NewMemory()
	notify, charge := saga.NewStep(saga.Spec[string]{Name: "notify"}), saga.NewStep(saga.Spec[string]{Name: "charge"})
	before, err := idempotent.New(store, idempotent.Config{Operation: "checkout", Steps: saga.Steps(notify, charge)})
	if err != nil {
		panic(err)
	}
	_, err = idempotent.Do(context.Background(), before, "order-1", func(ctx context.Context) (string, error) {
		if _, err := notify.Run(ctx, func(context.Context, saga.Call) (string, error) { return "sent", nil }); err != nil {
			return "", err
		}
		return "", fmt.Errorf("the provider is down")
	})
	fmt.Println(idempotent.VerdictOf(err).Code)

	// The next deployment has no notifications.
	after, err := idempotent.New(sameTable(store), idempotent.Config{Operation: "checkout", Steps: saga.Steps(charge, saga.Retired("notify"))})
	if err != nil {
		panic(err)
	}
	fmt.Println(idempotent.Do(context.Background(), after, "order-1", func(ctx context.Context) (string, error) {
		return charge.Run(ctx, func(context.Context, saga.Call) (string, error) { return "ch_1", nil })
	}))
	// Output:
	// partial_success
	// ch_1 <nil>
}

// sameTable is the store as another process has it: a guard of the same operation is another
// one there.
func sameTable(store persistence.Store) persistence.Store {
	return struct {
		persistence.Store
		persistence.Checkpointer
		persistence.Reader
		persistence.Renewer
	}{store, store.(persistence.Checkpointer), store.(persistence.Reader), store.(persistence.Renewer)}
}
