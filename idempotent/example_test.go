package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

type payment struct {
	ID     string `json:"payment_id"`
	Amount int    `json:"amount"`
}

type receipt struct {
	Charge string `json:"charge"`
	Amount int    `json:"amount"`
}

func charge(_ context.Context, p payment) (receipt, error) {
	fmt.Println("charging", p.Amount)
	return receipt{Charge: "ch_1", Amount: p.Amount}, nil
}

func newGuard(config idempotent.Config) *idempotent.Guard {
	config.Logger = slog.New(slog.DiscardHandler)
	guard, err := idempotent.New(persistence.NewMemory(), config)
	if err != nil {
		panic(err)
	}
	return guard
}

// The whole handler guarded: the second delivery of an event gets the bytes of
// the first answer.
func ExampleGuard_Handler() {
	guard := newGuard(idempotent.Config{
		Operation: "payment",
		Key:       idempotency.MustJMESPath("payment_id"),
	})
	handler := guard.Handler(charge) // lambda.Start(handler) in main

	for range 2 {
		response, err := handler.Invoke(context.Background(), []byte(`{"payment_id": "p-1", "amount": 10}`))
		fmt.Println(string(response), err)
	}
	// Output:
	// charging 10
	// {"charge":"ch_1","amount":10} <nil>
	// {"charge":"ch_1","amount":10} <nil>
}

// A function inside a handler guarded; the key expression sees the JSON names.
func ExampleFunc() {
	guard := newGuard(idempotent.Config{
		Operation: "payment",
		Key:       idempotency.MustJMESPath("payment_id"),
	})
	charge := idempotent.Func(guard, charge)

	for range 2 {
		fmt.Println(charge(context.Background(), payment{ID: "p-1", Amount: 10}))
	}
	// Output:
	// charging 10
	// {ch_1 10} <nil>
	// {ch_1 10} <nil>
}

// A closure under a key that the caller makes.
func ExampleDo() {
	guard := newGuard(idempotent.Config{Operation: "welcome-mail"})
	send := func(context.Context) (string, error) {
		fmt.Println("sending")
		return "message-1", nil
	}

	for range 2 {
		fmt.Println(idempotent.Do(context.Background(), guard, "user-7", send))
	}
	// Output:
	// sending
	// message-1 <nil>
	// message-1 <nil>
}

// The adapter of an event source knows better than an expression what a request
// is recognised by.
func ExampleDoAs() {
	guard := newGuard(idempotent.Config{Operation: "transfer"})
	send := func(context.Context) (string, error) { return "sent", nil }

	id := guard.Identity("tenant-1/request-9", "100.00 EUR")
	fmt.Println(idempotent.DoAs(context.Background(), guard, id, send))
	other := guard.Identity("tenant-1/request-9", "900.00 EUR")
	_, err := idempotent.DoAs(context.Background(), guard, other, send)
	fmt.Println(errors.Is(err, idempotent.ErrMismatch))
	// Output:
	// sent <nil>
	// true
}

// A guard that is a package variable: a fault of its configuration ends the process.
func ExampleMustNew() {
	var payments = idempotent.MustNew(persistence.NewMemory(), idempotent.Config{Operation: "payment"})

	for range 2 {
		err := payments.Do(context.Background(), "p-1", func(context.Context) error {
			fmt.Println("paying")
			return nil
		})
		fmt.Println(err)
	}
	// Output:
	// paying
	// <nil>
	// <nil>
}

// All faults of a config come at once.
func ExampleNew() {
	_, err := idempotent.New(persistence.NewMemory(), idempotent.Config{TTL: time.Millisecond, Lease: time.Hour})
	fmt.Println(errors.Is(err, idempotent.ErrConfig))
	var first *idempotent.ConfigError
	fmt.Println(errors.As(err, &first), first.Field)
	// Output:
	// true
	// true Operation
}

// A permanent failure is an answer too.
func ExamplePermanent() {
	guard := newGuard(idempotent.Config{Operation: "payment"})
	decline := func(context.Context) (receipt, error) {
		fmt.Println("declining")
		return receipt{}, idempotent.Permanent(errors.New("card declined"))
	}

	for range 2 {
		_, err := idempotent.Do(context.Background(), guard, "p-2", decline)
		fmt.Println(err, errors.Is(err, idempotent.ErrPermanent))
	}
	// Output:
	// declining
	// card declined true
	// card declined true
}

// The key of the running call is what to hand to a downstream service as its
// idempotency key: it is the same in every try of the request.
func ExampleCallFrom() {
	guard := newGuard(idempotent.Config{
		Operation: "payment",
		Key:       idempotency.MustJMESPath("payment_id").Verbatim(),
	})
	charge := idempotent.Func(guard, func(ctx context.Context, _ payment) (string, error) {
		call, guarded := idempotent.CallFrom(ctx)
		fmt.Println(call.Operation, call.Key, call.Attempt, guarded)
		return "ok", nil
	})
	_, _ = charge(context.Background(), payment{ID: "p-1"})
	// Output:
	// payment payment#=p-1 1 true
}

// Events for metrics.
func ExampleEvent() {
	guard := newGuard(idempotent.Config{
		Operation: "payment",
		Observe: func(_ context.Context, e idempotent.Event) {
			fmt.Println(e.Operation, e.Kind)
		},
	})
	pay := func(context.Context) (string, error) { return "paid", nil }
	_, _ = idempotent.Do(context.Background(), guard, "p-1", pay)
	_, _ = idempotent.Do(context.Background(), guard, "p-1", pay)
	// Output:
	// payment acquired
	// payment executed
	// payment replayed
}

// A replay hook sees every replay and may change what is answered.
func ExampleReplay() {
	guard := newGuard(idempotent.Config{
		Operation: "payment",
		OnReplay: func(_ context.Context, r idempotent.Replay) ([]byte, error) {
			fmt.Println("replaying", string(r.Record.Result))
			return r.Record.Result, nil
		},
	})
	pay := func(context.Context) (string, error) { return "paid", nil }
	_, _ = idempotent.Do(context.Background(), guard, "p-1", pay)
	_, _ = idempotent.Do(context.Background(), guard, "p-1", pay)
	// Output:
	// replaying "paid"
}

// A duplicate that comes while the first run is under way is told when to come
// back.
func ExampleInProgressError() {
	guard := newGuard(idempotent.Config{Operation: "payment"})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, _ = idempotent.Do(ctx, guard, "p-1", func(ctx context.Context) (string, error) {
		_, err := idempotent.Do(ctx, guard, "p-1", func(context.Context) (string, error) {
			return "never", nil
		})
		if running, ok := errors.AsType[*idempotent.InProgressError](err); ok {
			fmt.Println("Retry-After:", running.RetryAfter)
		}
		return "paid", nil
	})
	// Output:
	// Retry-After: 1s
}

// Another payload under the same key is refused, and the record stays as it is.
func ExampleMismatchError() {
	guard := newGuard(idempotent.Config{
		Operation:   "payment",
		Key:         idempotency.MustJMESPath("payment_id"),
		Fingerprint: idempotency.MustJMESPath("amount"),
	})
	charge := idempotent.Func(guard, charge)
	_, _ = charge(context.Background(), payment{ID: "p-1", Amount: 10})
	_, err := charge(context.Background(), payment{ID: "p-1", Amount: 99})
	if mismatch, ok := errors.AsType[*idempotent.MismatchError](err); ok {
		fmt.Println(mismatch.Record.Status, errors.Is(err, idempotent.ErrMismatch))
	}
	// Output:
	// charging 10
	// COMPLETED true
}
