package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// A retry goes on after the steps that are finished.
func ExampleStep() {
	guard := newGuard(idempotent.Config{
		Operation: "checkout",
		Steps:     []string{"reserve-stock", "charge"},
	})
	providerDown := true
	checkout := func(ctx context.Context) (string, error) {
		box, err := idempotent.Step(ctx, "reserve-stock", func(context.Context) (string, error) {
			fmt.Println("reserving")
			return "box-7", nil
		})
		if err != nil {
			return "", err
		}
		charge, err := idempotent.Step(ctx, "charge", func(context.Context) (string, error) {
			fmt.Println("charging")
			if providerDown {
				return "", errors.New("no answer")
			}
			return "ch_1", nil
		})
		if err != nil {
			return "", err
		}
		return box + " is paid by " + charge, nil
	}

	_, err := idempotent.Do(context.Background(), guard, "order-1", checkout)
	fmt.Println("resumable:", errors.Is(err, idempotent.ErrPartialSuccess))
	providerDown = false
	for range 2 {
		fmt.Println(idempotent.Do(context.Background(), guard, "order-1", checkout))
	}
	// Output:
	// reserving
	// charging
	// resumable: true
	// charging
	// box-7 is paid by ch_1 <nil>
	// box-7 is paid by ch_1 <nil>
}

// Steps may run at the same time. Each has a name of its own, here of a family.
func ExampleStep_parallel() {
	guard := newGuard(idempotent.Config{Operation: "invitation", Steps: []string{"e-mail/"}})
	guests := []string{"ada", "ben", "cleo"}
	invite := func(ctx context.Context) ([]string, error) {
		sent, errs := make([]string, len(guests)), make([]error, len(guests))
		var group sync.WaitGroup
		for i, guest := range guests {
			group.Go(func() {
				sent[i], errs[i] = idempotent.Step(ctx, "e-mail/"+guest, func(context.Context) (string, error) {
					return "message to " + guest, nil
				})
			})
		}
		group.Wait()
		return sent, errors.Join(errs...)
	}

	fmt.Println(idempotent.Do(context.Background(), guard, "party-1", invite))
	// Output:
	// [message to ada message to ben message to cleo] <nil>
}

// The output of a step is kept for the input that it was made from. Here a price
// changes between two tries, and the old charge does not pass for one of the new price.
func ExampleStepAs() {
	guard := newGuard(idempotent.Config{Operation: "checkout", Steps: []string{"charge"}})
	price := 10
	mailDown := errors.New("the mail service is down")
	checkout := func(ctx context.Context) (string, error) {
		charge := idempotent.StepSpec[string]{Name: "charge", Input: price}
		_, err := idempotent.StepAs(ctx, charge, func(context.Context) (string, error) {
			fmt.Println("charging", price)
			return "ch_1", nil
		})
		if err != nil {
			return "", err
		}
		return "", mailDown
	}

	_, err := idempotent.Do(context.Background(), guard, "order-1", checkout)
	fmt.Println(errors.Is(err, mailDown))
	price = 12
	_, err = idempotent.Do(context.Background(), guard, "order-1", checkout)
	fmt.Println(errors.Is(err, idempotent.ErrStepInput))
	// Output:
	// charging 10
	// true
	// true
}

// A bank that knows no keys gets an order at most once. What became of an order
// whose answer was lost, its statement tells.
func ExampleStepAs_atMostOnce() {
	guard := newGuard(idempotent.Config{Operation: "payout", Steps: []string{"transfer"}})
	var statement []string
	payout := func(ctx context.Context) (string, error) {
		transfer := idempotent.StepSpec[string]{
			Name:       "transfer",
			AtMostOnce: true,
			Reconcile: func(context.Context) (out string, happened bool, err error) {
				fmt.Println("reading the statement")
				if len(statement) == 0 {
					return "", false, nil // it runs now
				}
				return statement[0], true, nil
			},
		}
		return idempotent.StepAs(ctx, transfer, func(context.Context) (string, error) {
			fmt.Println("ordering")
			statement = append(statement, "transfer no. 1")
			return "", errors.New("connection reset")
		})
	}

	_, err := idempotent.Do(context.Background(), guard, "payout-1", payout)
	fmt.Println(err)
	fmt.Println(idempotent.Do(context.Background(), guard, "payout-1", payout))
	// Output:
	// ordering
	// connection reset
	// reading the statement
	// transfer no. 1 <nil>
}

// A step's token is the same in every try: the idempotency key for the service that
// the step calls.
func ExampleStepFrom() {
	guard := newGuard(idempotent.Config{Operation: "checkout", Steps: []string{"charge"}})
	down := true
	checkout := func(ctx context.Context) (string, error) {
		return idempotent.Step(ctx, "charge", func(ctx context.Context) (string, error) {
			step, _ := idempotent.StepFrom(ctx)
			fmt.Println("Idempotency-Key:", step.Token)
			if down {
				return "", errors.New("no answer")
			}
			return "ch_1", nil
		})
	}

	_, _ = idempotent.Do(context.Background(), guard, "order-1", checkout)
	down = false
	fmt.Println(idempotent.Do(context.Background(), guard, "order-1", checkout))
	// Output:
	// Idempotency-Key: 9d6918c40782011442595fe6cab3c559
	// Idempotency-Key: 9d6918c40782011442595fe6cab3c559
	// ch_1 <nil>
}

// Whoever is told of a partial success can tell what is done.
func ExamplePartialSuccessError() {
	guard := newGuard(idempotent.Config{Operation: "checkout", Steps: []string{"reserve-stock", "charge"}})
	_, err := idempotent.Do(context.Background(), guard, "order-1", func(ctx context.Context) (string, error) {
		done := func(context.Context) (string, error) { return "done", nil }
		if _, err := idempotent.Step(ctx, "reserve-stock", done); err != nil {
			return "", err
		}
		if _, err := idempotent.Step(ctx, "charge", done); err != nil {
			return "", err
		}
		return "", errors.New("the mail service is down")
	})
	if partial, ok := errors.AsType[*idempotent.PartialSuccessError](err); ok {
		fmt.Println(partial.Done, partial.Err)
	}
	// Output:
	// [reserve-stock charge] the mail service is down
}

// A record may know a step that the code does not know any more. Nothing runs then.
func ExampleStepError() {
	store := persistence.NewMemory()
	before := newGuardOn(store, idempotent.Config{Operation: "checkout", Steps: []string{"reserve"}})
	after := newGuardOn(store, idempotent.Config{Operation: "checkout", Steps: []string{"reserve-stock"}})
	checkout := func(reserve string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			box, err := idempotent.Step(ctx, reserve, func(context.Context) (string, error) {
				fmt.Println("reserving")
				return "box-7", nil
			})
			return box, errors.Join(err, errors.New("the provider is down"))
		}
	}

	_, _ = idempotent.Do(context.Background(), before, "order-1", checkout("reserve"))
	_, err := idempotent.Do(context.Background(), after, "order-1", checkout("reserve-stock"))
	if step, ok := errors.AsType[*idempotent.StepError](err); ok {
		fmt.Println(step.Step, errors.Is(err, idempotent.ErrUnknownStep))
	}
	// Output:
	// reserving
	// reserve true
}

// newGuardOn is a guard in an environment of its own, on a store that is shared.
func newGuardOn(store *persistence.Memory, config idempotent.Config) *idempotent.Guard {
	config.Logger = slog.New(slog.DiscardHandler)
	guard, err := idempotent.New(elsewhere(store), config)
	if err != nil {
		panic(err)
	}
	return guard
}
