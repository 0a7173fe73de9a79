package records_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

// TestNothingIsWrittenInTheClearBesideEnvelopes has functions that seal, and an operator whose
// store does not: what that one wrote, they would refuse for good.
func TestNothingIsWrittenInTheClearBesideEnvelopes(t *testing.T) {
	behind := persistence.NewMemory()
	shop := newCheckout(t, sealedStore(t, behind))
	shop.charging = func() error { return errors.New("no answer") }
	if err := shop.invoke(t.Context(), []byte(`{"id":"1"}`)); err == nil {
		t.Fatal("it has not failed")
	}
	desk := newDesk(t, behind, records.Config{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	stuck := onlyStuck(t, desk)
	for name, s := range map[string]records.Settlement{
		"finish": records.FinishStep("charge", []byte(`1`)), "decline": records.DeclineStep("charge"),
		"complete": records.Complete([]byte(`1`)), "fail": records.Fail("T", "m"),
	} {
		if got := outcomeOf(t, desk, stuck, settle(s)); got != "refused" {
			t.Errorf("%s: %s", name, got)
		}
	}
	// Without a content there is nothing to seal.
	if got := outcomeOf(t, desk, stuck, settle(records.CompleteWithoutResult())); got != "done" {
		t.Error(got)
	}
	if err := shop.invoke(t.Context(), []byte(`{"id":"1"}`)); !errors.Is(err, idempotent.ErrResultNotStored) {
		t.Errorf("the next request gets %v", err)
	}
}

// TestAListThatWasCutShortSaysSo, or what is stuck would be overlooked.
func TestAListThatWasCutShortSaysSo(t *testing.T) {
	store := stores["dynamodb"](t)
	many(t, store, 20)
	for _, filter := range []records.Filter{{PageSize: 2}, {PageSize: 2, Segments: 4}, {PageSize: 2, UnitsPerSecond: 1}} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for _, err := range newDesk(t, store, records.Config{}).List(ctx, filter) {
			last = err
			cancel()
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("%+v ends with %v", filter, last)
		}
	}
}

// TestWhatCantBeUnderstoodIsToldAsThat, on every way to look at it.
func TestWhatCantBeUnderstoodIsToldAsThat(t *testing.T) {
	db, store := embedded.Store(t, dynamostore.Config{})
	db.Seed("idempotency", map[string]types.AttributeValue{
		"idempotency_key": &types.AttributeValueMemberS{Value: key},
		"status":          &types.AttributeValueMemberS{Value: "PROCESSING"},
		"version":         &types.AttributeValueMemberN{Value: "99"},
	})
	desk := newDesk(t, store, records.Config{})
	shown := show(t, desk)
	opened, err := desk.Open(t.Context(), shown)
	if err != nil {
		t.Fatal(err)
	}
	for how, r := range map[string]records.Record{"shown": shown, "opened": opened, "listed": onlyStuck(t, desk)} {
		if r.Key != key || r.Unreadable == "" || r.State != records.StateUnreadable || r.Stuck != records.StuckUnreadable {
			t.Errorf("%s: %+v", how, r)
		}
	}
	for reason, want := range map[records.Reason]int{records.StuckUnreadable: 1, records.StuckDied: 0} {
		n := 0
		for range desk.List(t.Context(), records.Filter{Reason: reason}) {
			n++
		}
		if n != want {
			t.Errorf("%d are stuck for %s", n, reason)
		}
	}
}

// TestResumingTellsWhatItHasDone: a function that was sent something has run, whatever the record
// looks like then.
func TestResumingTellsWhatItHasDone(t *testing.T) {
	send := func(do func(context.Context) error) act {
		return func(ctx context.Context, d *records.Desk, r records.Record) (*records.Plan, error) {
			return d.Resume(ctx, r, records.Resumption{Event: []byte("{}"), Invoke: func(ctx context.Context, _ []byte) error { return do(ctx) }})
		}
	}
	t.Run("another function ran", func(t *testing.T) {
		store := stores["dynamodb"](t)
		died(t, store, nil)
		desk := newDesk(t, store, records.Config{})
		if got := outcomeOf(t, desk, show(t, desk), send(func(context.Context) error { return nil })); got == "done" || got == "refused" {
			t.Errorf("it was %s", got)
		}
	})
	t.Run("the record is gone when it ends", func(t *testing.T) {
		store := stores["dynamodb"](t)
		died(t, store, nil)
		desk := newDesk(t, store, records.Config{})
		got := outcomeOf(t, desk, show(t, desk), send(func(ctx context.Context) error {
			r := acquire(t, store, claim(key, "resumed", now))
			return store.Release(ctx, r.Lease())
		}))
		if got != "done" {
			t.Error(got)
		}
	})
	t.Run("looking at it fails", func(t *testing.T) {
		db, store := embedded.Store(t, dynamostore.Config{})
		died(t, store, nil)
		desk := newDesk(t, store, records.Config{})
		plan, err := send(func(context.Context) error { t.Error("it has run"); return nil })(t.Context(), desk, show(t, desk))
		if err != nil {
			t.Fatal(err)
		}
		db.Inject(dynamotest.Fault{Do: dynamotest.Fail("AccessDeniedException", "no", 400)})
		if _, err = plan.Do(t.Context()); wordOf(err) == "changed" {
			t.Errorf("it says %v", err)
		}
	})
}

// TestASettlementThatHasBegunIsCarriedOut though whoever asked for it goes away in the middle.
func TestASettlementThatHasBegunIsCarriedOut(t *testing.T) {
	for name, s := range map[string]records.Settlement{"complete": records.Complete([]byte("1")), "finish": records.FinishStep("charge", []byte("1"))} {
		store := &leaving{Memory: persistence.NewMemory()}
		givenUp(t, store, map[string]string{"charge:started": "{}"})
		desk := newDesk(t, store, records.Config{})
		plan, err := desk.Settle(t.Context(), show(t, desk), s)
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		store.leave = leave
		if _, err := plan.Do(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := plan.Do(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: who has gone begins anew: %v", name, err)
		}
	}
}

// leaving is a store whose caller goes away as soon as it has a record.
type leaving struct {
	*persistence.Memory
	leave func()
}

func (l *leaving) Unwrap() persistence.Store { return l.Memory }

func (l *leaving) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	r, err := l.Memory.Acquire(ctx, c)
	if l.leave != nil {
		l.leave()
	}
	return r, err
}

// TestWhatDoesNotFitLeavesTheRequestGivenUp, and not as that of a run that has died.
func TestWhatDoesNotFitLeavesTheRequestGivenUp(t *testing.T) {
	large := []byte(`"` + strings.Repeat("x", 410<<10) + `"`)
	for name, s := range map[string]records.Settlement{"complete": records.Complete(large), "finish": records.FinishStep("charge", large)} {
		store := stores["dynamodb"](t)
		givenUp(t, store, map[string]string{"charge:started": "{}"})
		desk := newDesk(t, store, records.Config{})
		plan, err := desk.Settle(t.Context(), show(t, desk), s)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := plan.Do(t.Context()); err == nil {
				t.Errorf("%s: it is done", name)
			}
		}
		if after := show(t, desk); after.State != records.StatePartial || len(after.Steps) != 1 || after.Steps[0].Phase != records.PhaseStarted {
			t.Errorf("%s: it is %+v", name, after)
		}
	}
}

// TestMessagesOfFailuresAreContents, and hidden as such until they are asked for.
func TestMessagesOfFailuresAreContents(t *testing.T) {
	const secret = "card 4111111111111111"
	store := persistence.NewMemory()
	shop := newCheckout(t, store)
	shop.after, shop.undoing = idempotent.Permanent(errors.New(secret)), errors.New(secret)
	if err := shop.invoke(t.Context(), []byte(`{"id":"1"}`)); err == nil {
		t.Fatal("it has not failed")
	}
	desk := newDesk(t, store, records.Config{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	listed := onlyStuck(t, desk)
	shown, err := desk.Show(t.Context(), listed.Key)
	if err != nil {
		t.Fatal(err)
	}
	for how, r := range map[string]records.Record{"listed": listed, "shown": shown} {
		if text, err := json.Marshal(r); err != nil || bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s: %s", how, text)
		}
	}
	opened, err := desk.Open(t.Context(), shown)
	if err != nil || opened.Undoing.Message != secret || opened.Undoing.BlockedMessage != secret || !opened.Undoing.Blocked {
		t.Errorf("opened: %+v (%v)", opened.Undoing, err)
	}
}

// TestASweepTellsWhatItsFunctionsHaveDone with a record that they leave as it is, or remove.
func TestASweepTellsWhatItsFunctionsHaveDone(t *testing.T) {
	for want, send := range map[string]func(*persistence.Memory){
		"abandoned refused": func(*persistence.Memory) {},
		"ended":             func(m *persistence.Memory) { m.Delete(key) },
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(now))
			store := persistence.NewMemory()
			c := claim(key, "dead", now.Add(-time.Hour))
			c.Event = []byte("{}")
			acquire(t, store, c)
			cases, _, err := swept(t, store, records.Sweep{Send: func(context.Context, records.Record, []byte) error { send(store); return nil }})
			if err != nil || len(cases) != 1 || cases[0] != want {
				t.Errorf("it is %q (%v), want %s", cases, err, want)
			}
		})
	}
}

// TestWithoutTheKeyNothingIsTouched: a front that can't open steps gives a record up that it has
// taken over, and one whose run has died would be resumed then, also where its guard refuses that.
func TestWithoutTheKeyNothingIsTouched(t *testing.T) {
	behind := persistence.NewMemory()
	died(t, sealedStore(t, behind), map[string]string{"charge:started": "{}"})
	aes, err := sealed.NewAES(sealed.Key{ID: "other", Secret: bytes.Repeat([]byte("x"), 32)})
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := sealed.New(behind, aes, sealed.Config{})
	if err != nil {
		t.Fatal(err)
	}
	before := behind.Records()
	desk := newDesk(t, wrong, records.Config{})
	for name, s := range map[string]records.Settlement{"without a result": records.CompleteWithoutResult(), "finish": records.FinishStep("charge", nil)} {
		if got := outcomeOf(t, desk, show(t, desk), settle(s)); got == "done" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if diff := cmp.Diff(before, behind.Records()); diff != "" {
		t.Error(diff)
	}
}
