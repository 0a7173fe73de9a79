package powertools_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/overflow"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

func newPythonTable(t *testing.T) (*powertools.Peer, table) {
	t.Helper()
	peer, err := powertools.Python(powertools.Options{
		FunctionName: "orders-fn", Function: "app.lambda_handler", EventKey: "id",
		Table: dynamostore.Config{Table: "idempotency"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return peer, newTable(t, peer)
}

// stores are all ways to a peer's table.
func (b table) stores(t *testing.T, peer *powertools.Peer) map[string]persistence.Store {
	t.Helper()
	plain, err := dynamostore.New(b.db.Client(), peer.Table())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]persistence.Store{
		"the store":                 b.store,
		"the store behind another":  cached.New(b.store, cached.Limits{}),
		"a dynamostore of the peer": plain,
	}
}

func TestStepsAreRefusedAtConstruction(t *testing.T) {
	peer, table := newPythonTable(t)
	for name, store := range table.stores(t, peer) {
		_, err := idempotent.New(store, peer.Config(idempotent.Config{Operation: "orders", Steps: saga.Steps(saga.Retired("charge"))}))
		if fault, ok := errors.AsType[*idempotent.ConfigError](err); !ok || fault.Field != "Steps" {
			t.Errorf("%s: %v, want a fault of Steps", name, err)
		}
	}
	err := table.store.CheckpointWith(t.Context(), persistence.Lease{Key: "k", Owner: "o"}, "charge", nil, nil)
	if !errors.Is(err, persistence.ErrInvalid) {
		t.Errorf("a step beside the guard: %v, want ErrInvalid", err)
	}
}

// The peer reads results as values: an envelope would be lost on it.
func TestAStoreInFrontThatMakesEnvelopesIsRefused(t *testing.T) {
	peer, b := newPythonTable(t)
	aes, err := sealed.NewAES(sealed.Key{ID: "a", Secret: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range b.stores(t, peer) {
		if _, err := sealed.New(store, aes, sealed.Config{}); !errors.Is(err, sealed.ErrConfig) {
			t.Errorf("sealed in front of %s: %v, want ErrConfig", name, err)
		}
		if _, err := overflow.New(store, nowhere{}, overflow.Config{}); !errors.Is(err, overflow.ErrConfig) {
			t.Errorf("overflow in front of %s: %v, want ErrConfig", name, err)
		}
	}
}

// nowhere is a blob store that is not asked.
type nowhere struct{ overflow.Blobs }

// Powertools refuses a record without a validation where it has one, so a call that
// could not write one does not run.
func TestAKeyWithoutAnEventIsRefusedWhereThereIsAValidation(t *testing.T) {
	for name, newPeer := range map[string]func(powertools.Options) (*powertools.Peer, error){
		"Python": powertools.Python, "TypeScript": powertools.TypeScript,
	} {
		peer, err := newPeer(powertools.Options{KeyPrefix: "p", EventKey: "id", Validation: "amount", Table: dynamostore.Config{Table: "idempotency"}})
		if err != nil {
			t.Fatal(err)
		}
		b := newTable(t, peer)
		guard, err := idempotent.New(b.store, peer.Config(idempotent.Config{Operation: "orders"}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = idempotent.Do(t.Context(), guard, "1", func(context.Context) (string, error) {
			t.Errorf("%s: it ran", name)
			return "paid", nil
		})
		if !errors.Is(err, powertools.ErrInexact) {
			t.Errorf("%s: %v, want ErrInexact", name, err)
		}
		if items := b.db.Items("idempotency"); len(items) != 0 {
			t.Errorf("%s: wrote %v", name, items)
		}
	}
}

// theirUpdate is Powertools' unconditional completion of a record.
func (b table) theirUpdate(key string) {
	b.t.Helper()
	_, err := b.db.Client().UpdateItem(b.t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String("idempotency"), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: key}},
		UpdateExpression:         aws.String("SET #d = :d, #x = :x, #s = :s"),
		ExpressionAttributeNames: map[string]string{"#d": "data", "#x": "expiration", "#s": "status"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":d": &types.AttributeValueMemberS{Value: `"theirs"`}, ":s": &types.AttributeValueMemberS{Value: "COMPLETED"},
			":x": &types.AttributeValueMemberN{Value: "4102448400"},
		},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// Writes that are enlisted happen with our completion, so not where a late run of
// theirs has completed the record first.
func TestEnlistedWritesDoNotHappenOnceTheirsHasCompleted(t *testing.T) {
	for name, test := range map[string]struct {
		late  bool
		items int // beside the record
		err   error
	}{
		"ours completes":         {false, 1, nil},
		"theirs completes first": {true, 0, idempotent.ErrLeaseLost},
	} {
		t.Run(name, func(t *testing.T) {
			peer, table := newPythonTable(t)
			guard, err := idempotent.New(table.store, peer.Config(idempotent.Config{Operation: "orders"}))
			if err != nil {
				t.Fatal(err)
			}
			handler := guard.Handler(func(ctx context.Context, _ map[string]string) error {
				if test.late {
					call, _ := idempotent.CallFrom(ctx)
					table.theirUpdate(call.Key)
				}
				return dynamostore.Enlist(ctx, dynamostore.Write{Put: &types.Put{
					TableName: aws.String("idempotency"),
					Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "an effect"}},
				}})
			})
			if _, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`)); !errors.Is(err, test.err) {
				t.Errorf("%v, want %v", err, test.err)
			}
			if got := len(table.db.Items("idempotency")) - 1; got != test.items {
				t.Errorf("%d effects, want %d", got, test.items)
			}
		})
	}
}

// A table of theirs can be used at once, too: the record and the effect are one write.
func TestAFunctionThatOnlyEnlistsSharesTheTable(t *testing.T) {
	peer, table := newPythonTable(t)
	guard, err := idempotent.New(table.store, peer.Config(idempotent.Config{Operation: "orders", OnlyEnlists: true}))
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	handler := guard.Handler(func(context.Context, map[string]string) (string, error) { calls++; return "ours", nil })
	for range 2 {
		if got, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`)); err != nil || string(got) != `"ours"` {
			t.Errorf("%s, %v", got, err)
		}
	}
	item := table.item()
	if status := item["status"].(map[string]any)["S"]; status != "COMPLETED" || calls == 0 {
		t.Errorf("the item is %v after %d calls", item, calls)
	}
}

// A request without a key is the peer's: unprotected, unless it is to be refused.
func TestRequestsWithoutAKey(t *testing.T) {
	for raise, runs := range map[bool]int{false: 2, true: 0} {
		peer, err := powertools.Python(powertools.Options{KeyPrefix: "p", EventKey: "id", RaiseOnNoKey: raise, Table: dynamostore.Config{Table: "idempotency"}})
		if err != nil {
			t.Fatal(err)
		}
		guard, err := idempotent.New(newTable(t, peer).store, peer.Config(idempotent.Config{Operation: "orders"}))
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		handler := guard.Handler(func(context.Context, map[string]string) error { calls++; return nil })
		for range 2 {
			if _, err := handler.Invoke(t.Context(), []byte(`{}`)); raise != errors.Is(err, idempotent.ErrKey) {
				t.Errorf("raise %v: %v", raise, err)
			}
		}
		if calls != runs {
			t.Errorf("raise %v: %d calls, want %d", raise, calls, runs)
		}
	}
}

func TestARecordLastsAsLongAsThePeersOwn(t *testing.T) {
	peer, err := powertools.Python(powertools.Options{KeyPrefix: "p", ExpiresAfter: 10 * time.Minute, Table: dynamostore.Config{Table: "idempotency"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := peer.Config(idempotent.Config{}).TTL; got != 10*time.Minute {
		t.Errorf("TTL %v", got)
	}
	if got := peer.Config(idempotent.Config{TTL: time.Hour}).TTL; got != time.Hour {
		t.Errorf("a TTL of one's own becomes %v", got)
	}
}

// A tenant is a part of a guard's keys and not of the peer's: they are the same where the guard
// is told that tenants share its records.
func TestTheKeysOfTenantsAreThePeersWhereTheyAreShared(t *testing.T) {
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: "blue"})
	payload := []byte(`{"id":"a"}`)
	peer, table := newPythonTable(t)
	theirs, _, err := peer.Identify(payload)
	if err != nil {
		t.Fatal(err)
	}
	for shared, want := range map[bool]string{true: theirs, false: strings.Replace(theirs, "#", "#@blue#", 1)} {
		guard, err := idempotent.New(table.store, peer.Config(idempotent.Config{Operation: fmt.Sprint("orders-", shared), TenantsShareRecords: shared}))
		if err != nil {
			t.Fatal(err)
		}
		if key, err := guard.RecordKey(ctx, payload); err != nil || key != want {
			t.Errorf("shared %v: %q, %v; want %q", shared, key, err, want)
		}
	}
}
