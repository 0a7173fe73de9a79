package dynamostore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

var errNoNumber = errors.New("no number")

// numbers is a format whose results are numbers.
func numbers() *dynamostore.Format {
	return &dynamostore.Format{
		InProgress: "RUNNING",
		Expiry:     func(t time.Time) int64 { return t.Unix() },
		Encode: func(result []byte) (types.AttributeValue, error) {
			if len(result) > 10 {
				return nil, errNoNumber
			}
			return &types.AttributeValueMemberN{Value: string(result)}, nil
		},
		Decode: func(v types.AttributeValue) ([]byte, error) {
			n, ok := v.(*types.AttributeValueMemberN)
			if !ok {
				return nil, errNoNumber
			}
			return []byte(n.Value), nil
		},
		SettledBy: "settled_by",
	}
}

func formatted(t *testing.T) (*dynamotest.DB, planter) {
	t.Helper()
	return newStoreWith(t, dynamostore.Config{Format: numbers()})
}

func numbered(result string) persistence.Outcome {
	return persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: now.Add(time.Hour)}
}

func TestAFormatSaysHowRecordsAreWritten(t *testing.T) {
	db, store := formatted(t)
	c := claim("ours")
	c.ExpiresAt = now.Add(time.Hour) // a quarter of a second past a whole one
	record, err := store.Acquire(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := attributes{
		"idempotency_key": s("payment#1"), "status": s("RUNNING"), "owner": s("ours"), "attempt": n("1"), "version": n("1"),
		"lease_until": n("4102444830750"), "expire_at": n("4102448400"),
	}
	compareItems(t, want, db)

	if err := store.Complete(t.Context(), record.Lease(), numbered("7")); err != nil {
		t.Fatal(err)
	}
	want["status"], want["result"], want["settled_by"] = s("COMPLETED"), n("7"), s("ours")
	compareItems(t, want, db)

	c.Owner = "another"
	if record, err = store.Acquire(t.Context(), c); err != nil || string(record.Result) != "7" {
		t.Errorf("replayed is %+v, %v", record, err)
	}
}

func compareItems(t *testing.T, want attributes, db *dynamotest.DB) {
	t.Helper()
	if diff := cmp.Diff([]attributes{want}, db.Items("idempotency"), cmpopts.IgnoreUnexported(
		types.AttributeValueMemberS{}, types.AttributeValueMemberN{})); diff != "" {
		t.Errorf("want - and got +:\n%s", diff)
	}
}

func s(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func n(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

// The other toolkit finishes a record without looking at its owner, which stays.
func TestAnOwnerIsNotTakenInByARecordThatOthersHaveFinished(t *testing.T) {
	_, store := formatted(t)
	record, err := store.Acquire(t.Context(), claim("ours"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String("idempotency"), Key: attributes{"idempotency_key": s(record.Key)},
		UpdateExpression:          aws.String("SET #s = :s, #r = :r"),
		ExpressionAttributeNames:  map[string]string{"#s": "status", "#r": "result"},
		ExpressionAttributeValues: attributes{":s": s("COMPLETED"), ":r": n("8")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Complete(t.Context(), record.Lease(), numbered("7")); !errors.Is(err, persistence.ErrLeaseLost) {
		t.Errorf("completed with %v, want ErrLeaseLost", err)
	}
}

// A reply that was lost is no lease that was lost.
func TestAnOwnerRecognisesWhatItHasFinishedItself(t *testing.T) {
	db, store := formatted(t)
	record, err := store.Acquire(t.Context(), claim("ours"))
	if err != nil {
		t.Fatal(err)
	}
	db.Inject(dynamotest.Fault{Operation: "UpdateItem", Do: dynamotest.LoseReply(), Times: 1})
	if err := store.Complete(t.Context(), record.Lease(), numbered("7")); err != nil {
		t.Errorf("completed with %v", err)
	}
	c := claim("at once")
	c.Key = "payment#2"
	db.Inject(dynamotest.Fault{Operation: "PutItem", Do: dynamotest.LoseReply(), Times: 1})
	if record, err := store.CompleteAtOnce(t.Context(), c, numbered("7"), nil); err != nil || record.Owner != c.Owner {
		t.Errorf("completed at once: %+v, %v", record, err)
	}
	for _, item := range db.Items("idempotency") {
		if diff := cmp.Diff(item["owner"], item["settled_by"], cmpopts.IgnoreUnexported(types.AttributeValueMemberS{})); diff != "" {
			t.Errorf("settled by another than the owner: %s", diff)
		}
	}
}

func TestAResultThatAFormatCannotHoldDoesNotFit(t *testing.T) {
	_, store := formatted(t)
	record, err := store.Acquire(t.Context(), claim("ours"))
	if err != nil {
		t.Fatal(err)
	}
	err = store.Complete(t.Context(), record.Lease(), numbered("12345678901"))
	if !errors.Is(err, persistence.ErrTooLarge) || !errors.Is(err, errNoNumber) {
		t.Errorf("completed with %v, want ErrTooLarge and the cause", err)
	}
	omitted := numbered("")
	omitted.ResultOmitted = true
	if err := store.Complete(t.Context(), record.Lease(), omitted); err != nil {
		t.Errorf("completed without the result: %v", err)
	}
	c := claim("at once")
	c.Key = "payment#2"
	if _, err := store.CompleteAtOnce(t.Context(), c, numbered("12345678901"), nil); !errors.Is(err, persistence.ErrTooLarge) {
		t.Errorf("completed at once with %v, want ErrTooLarge", err)
	}
}

// Others don't count their acquisitions, but were one.
func TestWhatOthersLeftBehindIsASecondAttempt(t *testing.T) {
	db, store := formatted(t)
	if err := db.Seed("idempotency", attributes{
		"idempotency_key": s("payment#1"), "status": s("RUNNING"), "lease_until": n("1"), "expire_at": n("4102448400"),
	}); err != nil {
		t.Fatal(err)
	}
	record, err := store.Acquire(t.Context(), claim("ours"))
	if err != nil || record.Attempt != 2 || record.Owner != "ours" {
		t.Errorf("acquired %+v, %v; want the second attempt", record, err)
	}
}

func TestAFormatIsChecked(t *testing.T) {
	for name, change := range map[string]func(*dynamostore.Config){
		"without a status":         func(c *dynamostore.Config) { c.Format.InProgress = "" },
		"without Expiry":           func(c *dynamostore.Config) { c.Format.Expiry = nil },
		"without Encode":           func(c *dynamostore.Config) { c.Format.Encode = nil },
		"without Decode":           func(c *dynamostore.Config) { c.Format.Decode = nil },
		"without SettledBy":        func(c *dynamostore.Config) { c.Format.SettledBy = "" },
		"with the name of another": func(c *dynamostore.Config) { c.Format.SettledBy = "owner" },
		"with Compress":            func(c *dynamostore.Config) { c.Compress = true },
	} {
		config := dynamostore.Config{Table: "idempotency", Format: numbers()}
		change(&config)
		if _, err := dynamostore.New(dynamotest.New(t).Client(), config); !errors.Is(err, dynamostore.ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
}
