package dynamostore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Items that this library did not write, or no longer writes, or does not write
// yet: each is understood, or refused, and never run over by a guess.
func TestItemsOfOthers(t *testing.T) {
	live := number(fmt.Sprint(now.Add(time.Minute).UnixMilli()))
	past := number(fmt.Sprint(now.Add(-time.Minute).UnixMilli()))
	tests := map[string]struct {
		item attributes
		want string // the status the claim meets, "mine", or "unreadable"
	}{
		"INPROGRESS with a live lease":  {attributes{"status": text("INPROGRESS"), "lease_until": live}, "PROCESSING"},
		"INPROGRESS with an ended one":  {attributes{"status": text("INPROGRESS"), "lease_until": past}, "mine"},
		"no owner, ended lease":         {attributes{"status": text("PROCESSING"), "lease_until": past}, "mine"},
		"owner of another type":         {attributes{"status": text("PROCESSING"), "lease_until": past, "owner": number("1")}, "mine"},
		"a lease with a fraction":       {attributes{"status": text("PROCESSING"), "lease_until": number(fmt.Sprint(now.UnixMilli()) + ".7")}, "PROCESSING"},
		"a lease beyond all time":       {attributes{"status": text("PROCESSING"), "lease_until": number("9e125")}, "PROCESSING"},
		"a negative lease":              {attributes{"status": text("PROCESSING"), "lease_until": number("-9e125")}, "mine"},
		"never expires":                 {attributes{"status": text("COMPLETED"), "expire_at": &types.AttributeValueMemberNULL{Value: true}, "result": text("x")}, "COMPLETED"},
		"expiry in milliseconds":        {attributes{"status": text("COMPLETED"), "expire_at": number("1700003600000"), "result": text("x")}, "COMPLETED"},
		"expired, with a fraction":      {attributes{"status": text("COMPLETED"), "expire_at": number(fmt.Sprint(now.Unix()-1) + ".9"), "result": text("x")}, "mine"},
		"expired at zero":               {attributes{"status": text("COMPLETED"), "expire_at": number("0"), "result": text("x")}, "mine"},
		"expired, unknown status":       {attributes{"status": text("???"), "expire_at": number("1")}, "mine"},
		"completed without a result":    {attributes{"status": text("COMPLETED")}, "COMPLETED"},
		"binary result":                 {attributes{"status": text("COMPLETED"), "result": &types.AttributeValueMemberB{Value: []byte{0xff}}}, "COMPLETED"},
		"failed":                        {attributes{"status": text("FAILED"), "result": text("x")}, "FAILED"},
		"partial, never expires":        {attributes{"status": text("PARTIAL_SUCCESS")}, "mine"},
		"no status":                     {attributes{}, "unreadable"},
		"status of another type":        {attributes{"status": number("1")}, "unreadable"},
		"unknown status":                {attributes{"status": text("EXPIRED")}, "unreadable"},
		"result of another type":        {attributes{"status": text("COMPLETED"), "result": number("1")}, "unreadable"},
		"unknown encoding":              {attributes{"status": text("COMPLETED"), "result": text("x"), "result_encoding": text("br")}, "unreadable"},
		"an encoding of another type":   {attributes{"status": text("COMPLETED"), "result": text("x"), "result_encoding": number("1")}, "unreadable"},
		"fingerprint of another type":   {attributes{"status": text("COMPLETED"), "result": text("x"), "fingerprint": number("1")}, "unreadable"},
		"steps of another type":         {attributes{"status": text("PARTIAL_SUCCESS"), "steps": text("x")}, "unreadable"},
		"a step of another type":        {attributes{"status": text("PARTIAL_SUCCESS"), "steps": &types.AttributeValueMemberM{Value: attributes{"a": number("1")}}}, "unreadable"},
		"a newer format":                {attributes{"status": text("COMPLETED"), "result": text("x"), "version": number("2")}, "unreadable"},
		"an attempt beyond all numbers": {attributes{"status": text("PROCESSING"), "lease_until": past, "attempt": number("9e125")}, "mine"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			db, store := newStore(t)
			test.item["idempotency_key"] = text("payment#1")
			seed(t, db, test.item)
			r, err := store.Acquire(t.Context(), claim("me"))
			var fault *persistence.Fault
			switch {
			case test.want == "unreadable":
				if !errors.Is(err, persistence.ErrUnreadable) || !errors.As(err, &fault) || fault.Retryable {
					t.Errorf("got %+v, %v, want ErrUnreadable", r, err)
				}
			case err != nil:
				t.Error(err)
			case test.want == "mine" && r.Owner != "me":
				t.Errorf("got %+v, want it acquired", r)
			case test.want != "mine" && (string(r.Status) != test.want || r.Owner == "me"):
				t.Errorf("got %+v, want %s", r, test.want)
			}
			if len(db.Requests()) > 3 {
				t.Errorf("took %d requests", len(db.Requests()))
			}
		})
	}
}

// A lease and an expiry are stored in whole units, and neither ends early for it.
func TestPartsOfAUnitAreRoundedUp(t *testing.T) {
	_, store := newStore(t)
	c := claim("me")
	c.LeaseUntil = c.LeaseUntil.Add(time.Microsecond)
	c.ExpiresAt = c.ExpiresAt.Add(time.Millisecond)
	if _, err := store.Acquire(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r, found, err := store.Read(t.Context(), c.Key)
	if err != nil || !found || r.LeaseUntil.Before(c.LeaseUntil) || r.ExpiresAt.Before(c.ExpiresAt) {
		t.Errorf("got %+v, %v, %v, want nothing to end before what was claimed: %+v", r, found, err, c)
	}
}

// Two acquisitions that meet a record which nobody owns, and whose lease ended:
// the compare-and-swap holds without an owner to compare.
func TestATakeOverOfAnOwnerlessItemIsACompareAndSwap(t *testing.T) {
	db, store := newStore(t)
	seed(t, db, attributes{"idempotency_key": text("payment#1"), "status": text("INPROGRESS"), "lease_until": number("1")})
	second := claim("second")
	db.Inject(dynamotest.Fault{Operation: "UpdateItem", Do: dynamotest.Before(func(dynamotest.Request) {
		if r, err := store.Acquire(t.Context(), second); err != nil || r.Owner != "second" {
			t.Errorf("the quicker one: %+v, %v", r, err)
		}
	})})
	if r, err := store.Acquire(t.Context(), claim("first")); err != nil || r.Owner != "second" {
		t.Errorf("the slower one: %+v, %v, want the record of the quicker", r, err)
	}
}

// The record that was in the way may be gone by the time it is read or taken over.
func TestTheRecordMayVanishBetweenTwoRequests(t *testing.T) {
	for name, faults := range map[string][]dynamotest.Fault{
		"before the take-over":    nil,
		"before it is read again": {{Operation: "PutItem", Times: dynamotest.Always, Do: dynamotest.OmitItem()}},
	} {
		t.Run(name, func(t *testing.T) {
			db, store := newStore(t)
			seed(t, db, attributes{"idempotency_key": text("payment#1"), "status": text("PROCESSING"), "owner": text("x"), "lease_until": number("1"), "expire_at": number("99999999999")})
			vanish := dynamotest.Before(func(dynamotest.Request) { remove(t, db, "payment#1") })
			db.Inject(faults...)
			db.Inject(dynamotest.Fault{Operation: "UpdateItem", Do: vanish}, dynamotest.Fault{Operation: "GetItem", Do: vanish})
			if r, err := store.Acquire(t.Context(), claim("me")); err != nil || r.Owner != "me" || r.Attempt != 1 {
				t.Errorf("got %+v, %v, want a fresh record", r, err)
			}
		})
	}
}

// Found by internal/proof/explore: an acquiring write that was late came back between the
// release's delete, which found nothing, and its look at why.
func TestALateAcquireDuringItsReleaseIsRemoved(t *testing.T) {
	db, store := newStore(t)
	c := claim("me")
	var late dynamotest.Held
	db.Inject(
		dynamotest.Fault{Operation: "PutItem", Times: dynamotest.Always, Do: dynamotest.ApplyLater(&late)},
		dynamotest.Fault{Operation: "GetItem", Do: dynamotest.Before(func(dynamotest.Request) { late.Release() })},
	)
	if r, err := store.Acquire(t.Context(), c); err == nil {
		t.Fatalf("acquired %+v without a reply", r)
	}
	if err := store.Release(t.Context(), c.Fresh().Lease()); err != nil {
		t.Error(err)
	}
	if left := db.Items("idempotency"); len(left) > 0 {
		t.Errorf("it left\n%s", dump(t, db))
	}
}

func remove(t testing.TB, db *dynamotest.DB, key string) {
	t.Helper()
	name := "idempotency"
	if _, err := db.Client().DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: attributes{"idempotency_key": text(key)}}); err != nil {
		t.Error(err)
	}
}

func TestKeysBeyondTheTablesLimitsAreRefused(t *testing.T) {
	for limit, config := range map[int]dynamostore.Config{2048: {}, 1024: composite()} {
		db, store := newStoreWith(t, config)
		c := claim("me")
		c.Key = string(bytes.Repeat([]byte("k"), limit))
		if _, err := store.Acquire(t.Context(), c); err != nil {
			t.Errorf("%d bytes: %v", limit, err)
		}
		db.ResetLog()
		c.Key += "k"
		if _, err := store.Acquire(t.Context(), c); !errors.Is(err, persistence.ErrInvalid) || len(db.Requests()) > 0 {
			t.Errorf("%d bytes: %v after %d requests", limit+1, err, len(db.Requests()))
		}
	}
}

func TestConfigsAreRefusedWithEveryFault(t *testing.T) {
	for name, config := range map[string]dynamostore.Config{
		"no table":                    {},
		"sort key without a value":    {Table: "t", Attributes: dynamostore.Attributes{SortKey: "sk"}},
		"value without a sort key":    {Table: "t", PartitionValue: "shop"},
		"name taken by a default":     {Table: "t", Attributes: dynamostore.Attributes{Owner: "status"}},
		"name too long":               {Table: "t", Attributes: dynamostore.Attributes{Owner: string(make([]byte, 256))}},
		"negative timeout":            {Table: "t", RequestTimeout: -1},
		"partition value is no text":  {Table: "t", Attributes: dynamostore.Attributes{SortKey: "sk"}, PartitionValue: "\xff"},
		"attribute name is no text":   {Table: "t", Attributes: dynamostore.Attributes{Key: "k\xff"}},
		"partition value is too long": {Table: "t", Attributes: dynamostore.Attributes{SortKey: "sk"}, PartitionValue: string(make([]byte, 2049))},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := dynamostore.New(&stub{}, config); !errors.Is(err, dynamostore.ErrConfig) {
				t.Errorf("got %v, want ErrConfig", err)
			}
			if err := dynamostore.CreateTable(t.Context(), dynamotest.New(t).Client(), config); !errors.Is(err, dynamostore.ErrConfig) {
				t.Errorf("CreateTable: got %v, want ErrConfig", err)
			}
		})
	}
	if _, err := dynamostore.New(nil, dynamostore.Config{Table: "t"}); !errors.Is(err, dynamostore.ErrConfig) {
		t.Errorf("no client: got %v, want ErrConfig", err)
	}
}

func TestCreateTableMayBeRepeated(t *testing.T) {
	db := dynamotest.New(t)
	for range 2 {
		if err := dynamostore.CreateTable(t.Context(), db.Client(), dynamostore.Config{Table: "idempotency"}); err != nil {
			t.Fatal(err)
		}
	}
	name := "idempotency"
	ttl, err := db.Client().DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil || *ttl.TimeToLiveDescription.AttributeName != "expire_at" {
		t.Errorf("TTL: %+v, %v", ttl, err)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// The requests, byte for byte but for the order of JSON members: what is on the
// wire is part of what deployed functions of two versions share.
func TestGoldenRequests(t *testing.T) {
	db, _ := newStore(t)
	recorded := &recorder{next: db}
	client := db.Client(func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: recorded} })
	store, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	c := claim("owner-1")
	c.Fingerprint = "fingerprint-1"
	first, _ := store.Acquire(ctx, c)
	_ = store.Checkpoint(ctx, first.Lease(), "reserve", []byte(`{"stock":1}`))
	_ = store.Checkpoint(ctx, persistence.Lease{Key: first.Key, Owner: first.Owner, Steps: map[string][]byte{"reserve": nil}}, "charge", []byte(`"ch_1"`))
	_ = store.Release(ctx, persistence.Lease{Key: first.Key, Owner: first.Owner, Steps: map[string][]byte{"reserve": nil}})
	c.Owner = "owner-2"
	second, _ := store.Acquire(ctx, c)
	_ = store.Complete(ctx, second.Lease(), completed(`{"receipt":"<1>"}`))
	c.Key, c.Fingerprint = "payment#2", ""
	third, _ := store.Acquire(ctx, c)
	_ = store.Complete(ctx, third.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, ResultOmitted: true, ExpiresAt: now.Add(time.Hour)})
	c.Key = "payment#3"
	fourth, _ := store.Acquire(ctx, c)
	_ = store.Release(ctx, fourth.Lease())
	_, _, _ = store.Read(ctx, "payment#1")
	golden(t, "requests.txt", recorded.text.Bytes())

	items, err := json.MarshalIndent(db.Items("idempotency"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "items.json", append(items, '\n'))
}

// recorder writes the requests that pass down.
type recorder struct {
	next http.RoundTripper
	text bytes.Buffer
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	var sorted any
	if err := json.Unmarshal(body, &sorted); err != nil {
		return nil, err
	}
	fmt.Fprintln(&r.text, request.Header.Get("X-Amz-Target"))
	encoder := json.NewEncoder(&r.text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(sorted); err != nil {
		return nil, err
	}
	return r.next.RoundTrip(request)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "..", "testdata", "golden", "dynamostore", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed. Functions of two versions share a table: is what the old one wrote still understood?\n%s", path, got)
	}
}

// Whatever is in the table, acquiring never panics and never takes a record that
// is not vacant or stale.
func FuzzHostileItems(f *testing.F) {
	f.Add([]byte(`{"status":{"S":"PROCESSING"},"lease_until":{"N":"1"}}`))
	f.Add([]byte(`{"status":{"S":"COMPLETED"},"result":{"M":{}},"expire_at":{"N":"9e125"}}`))
	f.Add([]byte(`{"status":{"L":[]},"steps":{"M":{"a":{"NULL":true}}},"version":{"N":"-1"}}`))
	f.Add([]byte(`{"status":{"S":"COMPLETED"},"result":{"B":"H4sI"},"result_encoding":{"S":"gzip"}}`))
	db, store := newStore(f)
	f.Fuzz(func(t *testing.T, hostile []byte) {
		var members map[string]json.RawMessage
		if json.Unmarshal(hostile, &members) != nil {
			return
		}
		members["idempotency_key"] = json.RawMessage(`{"S":"payment#1"}`)
		item, err := json.Marshal(members)
		if err != nil || putRaw(t, db, item).StatusCode != http.StatusOK {
			return // no item that DynamoDB would have taken
		}
		db.ResetLog()
		r, err := store.Acquire(t.Context(), claim("me"))
		if err == nil && r.Owner == "me" && r.Status != persistence.StatusProcessing {
			t.Errorf("acquired %+v", r)
		}
		remove(t, db, "payment#1")
	})
}

// putRaw puts an item in DynamoDB's JSON into the table.
func putRaw(t testing.TB, db *dynamotest.DB, item []byte) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"TableName": "idempotency", "Item": json.RawMessage(item)})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	response, err := db.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// A late owner may add a step between the take-over's two requests: the step is
// part of what was taken over.
func TestATakeOverSeesStepsAddedMeanwhile(t *testing.T) {
	db, store := newStore(t)
	late, err := store.Acquire(t.Context(), claim("late"))
	if err != nil {
		t.Fatal(err)
	}
	db.Inject(dynamotest.Fault{Operation: "UpdateItem", Do: dynamotest.Before(func(dynamotest.Request) {
		if err := store.Checkpoint(t.Context(), late.Lease(), "charge", []byte("ch_1")); err != nil {
			t.Error(err)
		}
	})})
	c := claim("next")
	c.Now = late.LeaseUntil.Add(time.Second)
	c.LeaseUntil = c.Now.Add(time.Minute)
	r, err := store.Acquire(t.Context(), c)
	if err != nil || r.Owner != "next" || string(r.Steps["charge"]) != "ch_1" || r.Attempt != 2 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// What somebody left in an item that was reset by hand does not hide its result.
func TestALeftOverEncodingDoesNotHideTheResult(t *testing.T) {
	db, store := newStore(t)
	seed(t, db, attributes{"idempotency_key": text("payment#1"), "status": text("PARTIAL_SUCCESS"), "result_encoding": text("omitted"), "result": text("old")})
	r, err := store.Acquire(t.Context(), claim("me"))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Complete(t.Context(), r.Lease(), completed("paid")); err != nil {
		t.Fatal(err)
	}
	if r, err := store.Acquire(t.Context(), claim("next")); err != nil || string(r.Result) != "paid" || r.ResultOmitted {
		t.Errorf("got %+v, %v", r, err)
	}
}

// However full of steps a record is, it can be completed.
func TestARecordFullOfStepsCanBeCompleted(t *testing.T) {
	_, store := newStore(t)
	r, err := store.Acquire(t.Context(), claim("me"))
	if err != nil {
		t.Fatal(err)
	}
	largest := 400 << 10
	for {
		err = store.Checkpoint(t.Context(), r.Lease(), "all", bytes.Repeat([]byte("x"), largest))
		if !errors.Is(err, persistence.ErrTooLarge) {
			break
		}
		largest--
	}
	if err != nil {
		t.Fatal(err)
	}
	o := persistence.Outcome{Status: persistence.StatusCompleted, ResultOmitted: true, ExpiresAt: now.Add(time.Hour)}
	if err := store.Complete(t.Context(), r.Lease(), o); err != nil {
		t.Errorf("with %d bytes of steps: %v", largest, err)
	}
}

// A map without members is no item.
func TestAnEmptyItemWithAFailedConditionIsNone(t *testing.T) {
	api := &stub{put: &types.ConditionalCheckFailedException{Item: attributes{}}, get: &dynamodb.GetItemOutput{Item: attributes{
		"idempotency_key": text("payment#1"), "status": text("COMPLETED"), "result": text("done"),
	}}}
	store, err := dynamostore.New(api, dynamostore.Config{Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := store.Acquire(t.Context(), claim("me")); err != nil || string(r.Result) != "done" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Two processes that create the table at the same time both succeed.
func TestCreateTableMayRace(t *testing.T) {
	db := dynamotest.New(t)
	config := dynamostore.Config{Table: "idempotency"}
	quicker := dynamotest.Before(func(dynamotest.Request) {
		if err := dynamostore.CreateTable(t.Context(), db.Client(), config); err != nil {
			t.Error(err)
		}
	})
	for _, operation := range []string{"CreateTable", "UpdateTimeToLive"} {
		db.Inject(dynamotest.Fault{Operation: operation, Do: quicker})
	}
	if err := dynamostore.CreateTable(t.Context(), db.Client(), config); err != nil {
		t.Error(err)
	}
}
