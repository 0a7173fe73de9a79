package saga_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

// These tests hold docs/steps.md to what happens.

func readStepsPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/steps.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shipment is a saga of three steps, in which much can go wrong.
type shipment struct {
	diary
	addressUnknown, warehouseDown bool
}

// shipmentSteps are its steps.
type shipmentSteps struct{ reserve, charge, ship *saga.Step[string] }

func (o *shipment) steps() shipmentSteps {
	return shipmentSteps{
		reserve: saga.NewStep(saga.Spec[string]{
			Name: "reserve-stock",
			Compensate: func(context.Context, saga.Call, string) error {
				if o.warehouseDown {
					return errors.New("the warehouse does not answer")
				}
				o.note("put back")
				return nil
			},
		}),
		charge: saga.NewStep(saga.Spec[string]{
			Name: "charge", AtMostOnce: true,
			Compensate: func(context.Context, saga.Call, string) error { o.note("refund"); return nil },
		}),
		ship: saga.NewStep(saga.Spec[string]{Name: "ship"}),
	}
}

// guard guards the shipment.
func (o *shipment) guard(t *testing.T, store persistence.Store) func() (string, error) {
	steps := o.steps()
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(steps.reserve, steps.charge, steps.ship)})
	return func() (string, error) {
		return idempotent.Do(t.Context(), guard, "order-1", func(ctx context.Context) (string, error) { return o.place(ctx, steps) })
	}
}

func (o *shipment) place(ctx context.Context, steps shipmentSteps) (string, error) {
	_, err := steps.reserve.Run(ctx, func(context.Context, saga.Call) (string, error) { return "box-7", nil })
	if err != nil {
		return "", err
	}
	charge, err := steps.charge.Run(ctx, func(context.Context, saga.Call) (string, error) {
		o.note("charge")
		return "ch_1", nil
	})
	if err != nil {
		return "", err
	}
	return charge, steps.ship.Do(ctx, func(context.Context, saga.Call) error {
		if o.addressUnknown {
			return idempotent.Permanent(errors.New("the address does not exist"))
		}
		return nil
	})
}

func TestTheRecordLooksAsThePageSays(t *testing.T) {
	store := persistence.NewMemory()
	_, err := (&shipment{addressUnknown: true, warehouseDown: true}).guard(t, store)()
	if !errors.Is(err, saga.ErrCompensation) {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(readStepsPage(t), "```json\n")
	page, _, _ = strings.Cut(page, "```")
	var told map[string]json.RawMessage
	if err := json.Unmarshal([]byte(page), &told); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]string)
	for name, entry := range told {
		var compact bytes.Buffer
		if err := json.Compact(&compact, entry); err != nil {
			t.Fatal(err)
		}
		shown[name] = compact.String()
	}
	stored := make(map[string]string)
	for name, entry := range store.Records()[0].Steps {
		stored[name] = string(entry)
	}
	if !maps.Equal(stored, shown) {
		t.Errorf("the record has %q, the page shows %q", stored, shown)
	}
}
