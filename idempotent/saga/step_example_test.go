package saga_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

// A retry goes on after the steps that are finished.
func ExampleStep() {
	reserveStock := saga.NewStep(saga.Spec[string]{Name: "reserve-stock"})
	charge := saga.NewStep(saga.Spec[string]{Name: "charge"})
	guard := newGuard(idempotent.Config{
		Operation: "checkout",
		Steps:     saga.Steps(reserveStock, charge),
	})
	providerDown := true
	checkout := func(ctx context.Context) (string, error) {
		box, err := reserveStock.Run(ctx, func(context.Context, saga.Call) (string, error) {
			fmt.Println("reserving")
			return "box-7", nil
		})
		if err != nil {
			return "", err
		}
		charge, err := charge.Run(ctx, func(context.Context, saga.Call) (string, error) {
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
	fmt.Println("resumable:", errors.Is(err, saga.ErrPartialSuccess))
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
func ExampleFamily() {
	eMail := saga.NewFamily(saga.Spec[string]{Name: "e-mail/"})
	guard := newGuard(idempotent.Config{Operation: "invitation", Steps: saga.Steps(eMail)})
	guests := []string{"ada", "ben", "cleo"}
	invite := func(ctx context.Context) ([]string, error) {
		sent, errs := make([]string, len(guests)), make([]error, len(guests))
		var group sync.WaitGroup
		for i, guest := range guests {
			group.Go(func() {
				sent[i], errs[i] = eMail.Step(guest).Run(ctx, func(context.Context, saga.Call) (string, error) {
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
func ExampleStep_RunFor() {
	charge := saga.NewStep(saga.Spec[string]{Name: "charge"})
	guard := newGuard(idempotent.Config{Operation: "checkout", Steps: saga.Steps(charge)})
	price := 10
	mailDown := errors.New("the mail service is down")
	checkout := func(ctx context.Context) (string, error) {
		_, err := charge.RunFor(ctx, price, func(context.Context, saga.Call) (string, error) {
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
	fmt.Println(errors.Is(err, saga.ErrStepInput))
	// Output:
	// charging 10
	// true
	// true
}

// A bank that knows no keys gets an order at most once. What became of an order
// whose answer was lost, its statement tells.
func ExampleSpec_atMostOnce() {
	var statement []string
	transfer := saga.NewStep(saga.Spec[string]{
		Name:       "transfer",
		AtMostOnce: true,
		Reconcile: func(context.Context, saga.Call) (out string, happened bool, err error) {
			fmt.Println("reading the statement")
			if len(statement) == 0 {
				return "", false, nil // it runs now
			}
			return statement[0], true, nil
		},
	})
	guard := newGuard(idempotent.Config{Operation: "payout", Steps: saga.Steps(transfer)})
	payout := func(ctx context.Context) (string, error) {
		return transfer.Run(ctx, func(context.Context, saga.Call) (string, error) {
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
func ExampleCall() {
	charge := saga.NewStep(saga.Spec[string]{Name: "charge"})
	guard := newGuard(idempotent.Config{Operation: "checkout", Steps: saga.Steps(charge)})
	down := true
	checkout := func(ctx context.Context) (string, error) {
		return charge.Run(ctx, func(_ context.Context, call saga.Call) (string, error) {
			fmt.Println("Idempotency-Key:", call.Token)
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
	reserveStock := saga.NewStep(saga.Spec[string]{Name: "reserve-stock"})
	charge := saga.NewStep(saga.Spec[string]{Name: "charge"})
	guard := newGuard(idempotent.Config{Operation: "checkout", Steps: saga.Steps(reserveStock, charge)})
	_, err := idempotent.Do(context.Background(), guard, "order-1", func(ctx context.Context) (string, error) {
		done := func(context.Context, saga.Call) (string, error) { return "done", nil }
		if _, err := reserveStock.Run(ctx, done); err != nil {
			return "", err
		}
		if _, err := charge.Run(ctx, done); err != nil {
			return "", err
		}
		return "", errors.New("the mail service is down")
	})
	if partial, ok := errors.AsType[*saga.PartialSuccessError](err); ok {
		fmt.Println(partial.Done, partial.Err)
	}
	// Output:
	// [reserve-stock charge] the mail service is down
}

// A record may know a step that the code does not know any more. Nothing runs then.
func ExampleStepError() {
	reserve := saga.NewStep(saga.Spec[string]{Name: "reserve"})
	reserveStock := saga.NewStep(saga.Spec[string]{Name: "reserve-stock"})
	store := persistence.NewMemory()
	before := newGuardOn(store, idempotent.Config{Operation: "checkout", Steps: saga.Steps(reserve)})
	after := newGuardOn(store, idempotent.Config{Operation: "checkout", Steps: saga.Steps(reserveStock)})
	checkout := func(reserve *saga.Step[string]) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			box, err := reserve.Run(ctx, func(context.Context, saga.Call) (string, error) {
				fmt.Println("reserving")
				return "box-7", nil
			})
			return box, errors.Join(err, errors.New("the provider is down"))
		}
	}

	_, _ = idempotent.Do(context.Background(), before, "order-1", checkout(reserve))
	_, err := idempotent.Do(context.Background(), after, "order-1", checkout(reserveStock))
	if step, ok := errors.AsType[*saga.StepError](err); ok {
		fmt.Println(step.Step, errors.Is(err, saga.ErrUnknownStep))
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
