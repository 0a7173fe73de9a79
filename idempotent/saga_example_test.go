package idempotent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/idempotent"
)

// response is what an HTTP handler answers.
type response struct {
	Status int
	Body   string
}

// A declined card undoes the reservation, and the answer is recorded as any other: a
// retry gets it again.
func ExampleSaga() {
	guard := newGuard(idempotent.Config{Operation: "checkout", Steps: []string{"reserve-seat", "charge"}})
	sell := func(ctx context.Context) (string, error) {
		reserve := idempotent.StepSpec[string]{
			Name: "reserve-seat",
			Compensate: func(_ context.Context, seat string) error {
				fmt.Println("releasing", seat)
				return nil
			},
		}
		seat, err := idempotent.StepAs(ctx, reserve, func(context.Context) (string, error) {
			fmt.Println("reserving 12A")
			return "12A", nil
		})
		if err != nil {
			return "", err
		}
		_, err = idempotent.Step(ctx, "charge", func(context.Context) (string, error) {
			return "", idempotent.Permanent(errors.New("card declined"))
		})
		return seat, err
	}
	handle := func(ctx context.Context) (response, error) {
		seat, err := idempotent.Saga(ctx, sell)
		declined, final := errors.AsType[*idempotent.PermanentError](err)
		switch {
		case errors.Is(err, idempotent.ErrCompensation): // first: it wraps the reason, too
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
	guard := newGuard(idempotent.Config{Operation: "trip", Steps: []string{"flight", "hotel"}})
	hotelDown := true
	book := func(ctx context.Context) (string, error) {
		for _, name := range []string{"flight", "hotel"} {
			_, err := idempotent.StepAs(ctx, idempotent.StepSpec[string]{
				Name: name,
				Compensate: func(context.Context, string) error {
					if name == "hotel" && hotelDown {
						return errors.New("the hotel does not answer")
					}
					fmt.Println("cancelling the", name)
					return nil
				},
			}, func(context.Context) (string, error) { return "booked", nil })
			if err != nil {
				return "", err
			}
		}
		return "", idempotent.Permanent(errors.New("passport expired"))
	}

	_, err := idempotent.Do(context.Background(), guard, "trip-1", book)
	if stuck, ok := errors.AsType[*idempotent.CompensationError](err); ok {
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
