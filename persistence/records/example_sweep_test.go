package records_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// A checkout whose mail could not be sent goes on with that, an hour later, without its client.
func ExampleDesk_Sweep() {
	store, ctx := persistence.NewMemory(), context.Background()
	charge, mail := saga.NewStep(saga.Spec[string]{Name: "charge"}), saga.NewStep(saga.Spec[string]{Name: "mail"})
	guard, err := idempotent.New(store, idempotent.Config{
		Operation: "checkout", Key: idempotency.MustJMESPath("order_id"), Steps: saga.Steps(charge, mail),
		KeepEvent: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	delivers := false
	handler := guard.Handler(func(ctx context.Context) error {
		err := charge.Do(ctx, func(context.Context, saga.Call) error { fmt.Println("charged"); return nil })
		if err != nil {
			return err
		}
		return mail.Do(ctx, func(context.Context, saga.Call) error {
			if !delivers {
				return errors.New("no connection")
			}
			fmt.Println("sent the mail")
			return nil
		})
	})
	_, _ = handler.Invoke(ctx, []byte(`{"order_id": "o-1"}`))
	delivers = true

	desk, err := records.New(store, records.Config{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	if err != nil {
		panic(err)
	}
	swept, err := desk.Sweep(ctx, records.Sweep{
		Send: func(ctx context.Context, _ records.Record, event []byte) error {
			_, err := handler.Invoke(ctx, event) // or by Lambda's Invoke, with a ClientContext
			return err
		},
		Abandon: func(_ context.Context, c records.Case) error {
			fmt.Println(c.Record.Key, "needs somebody:", c.Why)
			return nil
		},
	})
	fmt.Println(swept.Ended, "ended,", swept.Abandoned, "abandoned", err)
	// Output:
	// charged
	// sent the mail
	// 1 ended, 0 abandoned <nil>
}
