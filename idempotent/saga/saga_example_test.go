package saga_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

// response is what an HTTP handler answers.
type response struct {
	Status int
	Body   string
}

// newGuard returns a guard of the examples.
func newGuard(config idempotent.Config) *idempotent.Guard {
	config.Logger = slog.New(slog.DiscardHandler)
	guard, err := idempotent.New(persistence.NewMemory(), config)
	if err != nil {
		panic(err)
	}
	return guard
}

// A declined card undoes the reservation, and the answer is recorded as any other: a
// retry gets it again.
func ExampleRun() {
	reserve := saga.NewStep(saga.Spec[string]{
		Name: "reserve-seat",
		Compensate: func(_ context.Context, _ saga.Call, seat string) error {
			fmt.Println("releasing", seat)
			return nil
		},
	})
	charge := saga.NewStep(saga.Spec[saga.None]{Name: "charge"})
	guard := newGuard(idempotent.Config{Operation: "checkout", Steps: saga.Steps(reserve, charge)})
	sell := func(ctx context.Context) (string, error) {
		seat, err := reserve.Run(ctx, func(context.Context, saga.Call) (string, error) {
			fmt.Println("reserving 12A")
			return "12A", nil
		})
		if err != nil {
			return "", err
		}
		err = charge.Do(ctx, func(context.Context, saga.Call) error {
			return idempotent.Permanent(errors.New("card declined"))
		})
		return seat, err
	}
	handle := func(ctx context.Context) (response, error) {
		seat, err := saga.Run(ctx, sell)
		declined, final := errors.AsType[*idempotent.PermanentError](err)
		switch {
		case errors.Is(err, saga.ErrCompensation): // first: it wraps the reason, too
			return response{}, err // not undone yet: the next arrival goes on
		case final:
			return response{402, declined.Message}, nil
		case err != nil:
			return response{}, err
		}
		return response{201, seat}, nil
	}

	for range 2 {
		fmt.Println(idempotent.Do(context.Background(), guard, "order-1", handle))
	}
	// Output:
	// reserving 12A
	// releasing 12A
	// {402 card declined} <nil>
	// {402 card declined} <nil>
}

// What can't be undone yet stays visible, with both causes, and is undone by the next
// arrival of the request.
func ExampleCompensationError() {
	hotelDown := true
	booking := func(name string) *saga.Step[string] {
		return saga.NewStep(saga.Spec[string]{
			Name: name,
			Compensate: func(context.Context, saga.Call, string) error {
				if name == "hotel" && hotelDown {
					return errors.New("the hotel does not answer")
				}
				fmt.Println("cancelling the", name)
				return nil
			},
		})
	}
	flight, hotel := booking("flight"), booking("hotel")
	guard := newGuard(idempotent.Config{Operation: "trip", Steps: saga.Steps(flight, hotel)})
	book := func(ctx context.Context) (string, error) {
		for _, step := range []*saga.Step[string]{flight, hotel} {
			_, err := step.Run(ctx, func(context.Context, saga.Call) (string, error) { return "booked", nil })
			if err != nil {
				return "", err
			}
		}
		return "", idempotent.Permanent(errors.New("passport expired"))
	}

	_, err := idempotent.Do(context.Background(), guard, "trip-1", book)
	if stuck, ok := errors.AsType[*saga.CompensationError](err); ok {
		fmt.Printf("%v, but %v; left: %v\n", stuck.Err, stuck.Compensation, stuck.Left)
	}
	hotelDown = false
	_, err = idempotent.Do(context.Background(), guard, "trip-1", book)
	fmt.Println(err)
	// Output:
	// passport expired, but the hotel does not answer; left: [hotel flight]
	// cancelling the hotel
	// cancelling the flight
	// passport expired
}
