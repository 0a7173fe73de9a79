package saga_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
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
	addressUnknown, warehouseDown, bankSilent bool
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
	guard := newKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(steps.reserve, steps.charge, steps.ship)})
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
		if o.bankSilent {
			return "", errBroken
		}
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

// operator changes the only record in the table, with the expressions of the page.
type operator struct {
	t      *testing.T
	client *dynamodb.Client
	key    map[string]types.AttributeValue
}

func (o operator) change(expression, entry, text string) {
	o.t.Helper()
	page := readStepsPage(o.t)
	condition := regexp.MustCompile(`--condition-expression '(.*)'`).FindStringSubmatch(page)
	if condition == nil || !strings.Contains(page, expression) {
		o.t.Fatalf("the page does not say %q", expression)
	}
	values := map[string]types.AttributeValue{":partial": &types.AttributeValueMemberS{Value: "PARTIAL_SUCCESS"}}
	if text != "" {
		values[":text"] = &types.AttributeValueMemberS{Value: text}
	}
	_, err := o.client.UpdateItem(o.t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: o.key,
		ConditionExpression: aws.String(condition[1]), UpdateExpression: aws.String(expression),
		ExpressionAttributeNames:  map[string]string{"#status": "status", "#entry": entry},
		ExpressionAttributeValues: values,
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

func TestAnOperatorCanSettleARecordThatIsStuck(t *testing.T) {
	const add = "SET steps.#entry = :text"
	for name, story := range map[string]struct {
		order  *shipment // as the first attempt finds the world
		settle func(operator)
		err    error // of the next attempt
		done   []string
	}{
		"a step was undone by hand": {
			&shipment{addressUnknown: true, warehouseDown: true},
			func(o operator) { o.change(add, "reserve-stock:compensated", "{}") },
			idempotent.ErrPermanent, nil,
		},
		"a step has happened, of which nobody knew": {
			&shipment{bankSilent: true},
			func(o operator) { o.change(add, "charge", `{"order": 2, "output": "ch_1", "compensable": true}`) },
			nil, nil,
		},
		"a step has not happened, of which nobody knew": {
			&shipment{bankSilent: true},
			func(o operator) { o.change(add, "charge:declined", "{}") },
			nil, []string{"charge"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, store := newDynamo(t)
			o := story.order
			place := o.guard(t, store)
			call := func() error { _, err := place(); return err }
			for range 2 { // it does not get better by itself
				if err := call(); err == nil {
					t.Fatal("no error")
				}
			}
			o.bankSilent = false
			if err := call(); !errors.Is(err, saga.ErrCompensation) && !errors.Is(err, idempotent.ErrOutcomeUnknown) {
				t.Fatal(err)
			}
			o.entries = nil
			record := db.Items(table)[0]
			story.settle(operator{t, db.Client(), map[string]types.AttributeValue{"idempotency_key": record["idempotency_key"]}})
			if err := call(); !errors.Is(err, story.err) || errors.Is(err, saga.ErrCompensation) {
				t.Errorf("error %v, want %v", err, story.err)
			}
			o.wants(t, story.done...)
		})
	}
}
