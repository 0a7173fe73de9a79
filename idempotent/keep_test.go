package idempotent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

// TestARecordKeepsItsEventUntilItIsFinished looks at it while the function runs, and later.
func TestARecordKeepsItsEventUntilItIsFinished(t *testing.T) {
	large := `{"id":"order-1","note":"` + strings.Repeat("x", 64<<10) + `"}`
	for _, c := range []struct {
		name, event string
		keep        bool
		kept        string
	}{
		{"kept as it came", `{ "id": "order-1" }`, true, `{ "id": "order-1" }`},
		{"not asked for", `{"id":"order-1"}`, false, ""},
		{"too large", large, true, ""},
	} {
		lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
			var during persistence.Record
			look := func() (r persistence.Record) {
				r, _, err := store.(persistence.Reader).Read(t.Context(), orderKey(t))
				if err != nil {
					t.Error(err)
				}
				return r
			}
			guard := newTestGuard(t, store, idempotent.Config{KeepEvent: c.keep})
			handler := guard.Handler(func(context.Context, order) (string, error) {
				during = look()
				return "paid", nil
			})
			if _, err := handler.Invoke(t.Context(), []byte(c.event)); err != nil {
				t.Fatal(err)
			}
			if string(during.Event) != c.kept {
				t.Errorf("%s: the event is %q", c.name, during.Event)
			}
			if after := look(); len(after.Event) > 0 || after.Status != persistence.StatusCompleted {
				t.Errorf("%s: the finished record is %+v", c.name, after)
			}
		})
	}
}

// TestAnEntryPointWithoutAnEventRefusesToKeepIt says so at the first call.
func TestAnEntryPointWithoutAnEventRefusesToKeepIt(t *testing.T) {
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{KeepEvent: true})
	_, err := idempotent.Do(t.Context(), guard, "order-1", func(context.Context) (string, error) { return "paid", nil })
	if fault, ok := errors.AsType[*idempotent.ConfigError](err); !ok || fault.Field != "KeepEvent" {
		t.Errorf("it ends with %v", err)
	}
	_, err = idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "payment", KeepEvent: true, OnlyEnlists: true})
	if !errors.Is(err, idempotent.ErrConfig) || !strings.Contains(err.Error(), "KeepEvent") {
		t.Errorf("OnlyEnlists: %v", err)
	}
}

// TestWhatDiedIsFoundAndResumedWithoutItsClient is the story of an operator, sealed and not.
func TestWhatDiedIsFoundAndResumedWithoutItsClient(t *testing.T) {
	for _, seal := range []bool{false, true} {
		lab.InVirtualTime(t, func(t *testing.T, behind persistence.Store) {
			store := behind
			if seal {
				aes, err := sealed.NewAES(sealed.Key{ID: "1", Secret: bytes.Repeat([]byte("k"), 32)})
				if err != nil {
					t.Fatal(err)
				}
				if store, err = sealed.New(behind, aes, sealed.Config{}); err != nil {
					t.Fatal(err)
				}
			}
			kill := errors.New("killed")
			dies := true
			function := func(_ context.Context, o order) (string, error) {
				if dies {
					panic(kill)
				}
				return fmt.Sprintf("paid %d", o.Amount), nil
			}
			config := idempotent.Config{Operation: "payment", Key: idempotency.MustJMESPath("id"), KeepEvent: true}
			first := newTestGuard(t, lab.Dying(store, errBroken), config)
			func() {
				defer func() { _ = recover() }()
				_, _ = first.Handler(function).Invoke(t.Context(), []byte(`{"id":"order-1","amount":7}`))
			}()
			dies = false
			time.Sleep(20 * time.Minute) // its lease is that of a store without renewals
			desk, err := records.New(store, records.Config{})
			if err != nil {
				t.Fatal(err)
			}
			guard := newTestGuard(t, lab.Another{Store: store}, config)
			handler := guard.Handler(function)
			for stuck, err := range desk.List(t.Context(), records.Filter{Stuck: true}) {
				if err != nil {
					t.Fatal(err)
				}
				shown, err := desk.Show(t.Context(), stuck.Key)
				if err != nil || shown.Event == nil || shown.Event.Content != nil {
					t.Fatalf("it shows %+v (%v)", shown, err)
				}
				plan, err := desk.Resume(t.Context(), shown, records.Resumption{
					RecordKey: guard.RecordKey,
					Invoke: func(ctx context.Context, event []byte) error {
						_, err := handler.Invoke(ctx, event)
						return err
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				after, err := plan.Do(t.Context())
				if err != nil || after.State != records.StateCompleted || after.Attempt != 2 {
					t.Fatalf("it is %+v (%v)", after, err)
				}
				opened, err := desk.Open(t.Context(), after)
				var got string
				if err != nil || json.Unmarshal(opened.Result.Content, &got) != nil || got != "paid 7" {
					t.Errorf("the result is %s (%v)", opened.Result.Content, err)
				}
				return
			}
			t.Error("nothing is stuck")
		})
	}
}
