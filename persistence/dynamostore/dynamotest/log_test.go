package dynamotest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestTheLogTellsWhatWasAskedAndWhatItCost(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	db := New(t, WithClock(func() time.Time { return now }))
	at := newEndpoint(t, db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }))
	db.ResetLog()

	if err := at.put(t.Context(), attrs{"id": S("a"), "v": S(string(make([]byte, 3000)))}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	put, _, _ := at.failingWrites(attrs{"id": S("a")}, "")
	if put(t.Context()) == nil {
		t.Fatal("the condition held")
	}
	if _, err := at.get(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	_, err := at.transact(t.Context(), at.putAction(attrs{"id": S("b")}, ""), at.checkAction("a", "attribute_exists(id)"))
	if err != nil {
		t.Fatal(err)
	}
	db.Inject(Fault{Do: LoseReply()})
	at.put(t.Context(), attrs{"id": S("c")})
	at.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("not-there"), Item: attrs{"id": S("d")}})

	start := time.Unix(1_700_000_000, 0)
	for i, want := range []Request{
		{Operation: "PutItem", Keys: []string{"id=a"}, Time: start, Applied: true, Status: 200, Capacity: Capacity{Write: 3}},
		{Operation: "PutItem", Keys: []string{"id=a"}, Time: start.Add(time.Second), Status: 400, Code: "ConditionalCheckFailedException", Capacity: Capacity{Write: 3}},
		{Operation: "GetItem", Keys: []string{"id=a"}, Time: start.Add(time.Second), Applied: true, Status: 200, Capacity: Capacity{Read: 1}},
		{Operation: "TransactWriteItems", Keys: []string{"id=b", "id=a"}, Time: start.Add(time.Second), Applied: true, Status: 200, Capacity: Capacity{Write: 8}},
		{Operation: "PutItem", Keys: []string{"id=c"}, Time: start.Add(time.Second), Applied: true, Capacity: Capacity{Write: 1}, Faults: []string{"reply lost"}},
		{Operation: "PutItem", Time: start.Add(time.Second), Status: 400, Code: "ResourceNotFoundException", Tables: []string{"not-there"}},
	} {
		want.Index = i + 1
		if want.Tables == nil {
			want.Tables = []string{at.hashed}
		}
		if got := db.Requests()[i]; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	if got := db.Capacity(); got != (Capacity{Read: 1, Write: 15}) {
		t.Errorf("capacity: %+v", got)
	}
	db.ResetLog()
	if len(db.Requests()) != 0 || db.Capacity() != (Capacity{}) {
		t.Error("the log is not empty after ResetLog")
	}
}

func TestOneOfManyPutsIfAbsentWins(t *testing.T) {
	db := New(t)
	client := db.Client()
	at := newEndpoint(t, client)
	const callers, keys = 16, 50
	var wins sync.Map
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for key := range keys {
				_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
					TableName: &at.hashed, Item: attrs{"id": S(fmt.Sprint(key))}, ConditionExpression: aws.String("attribute_not_exists(id)"),
				})
				if err != nil {
					continue
				}
				if _, already := wins.LoadOrStore(key, true); already {
					t.Errorf("key %d was won twice", key)
				}
			}
		})
	}
	running.Wait()
	if got := len(db.Items(at.hashed)); got != keys {
		t.Errorf("%d items, want %d", got, keys)
	}
}

func TestSeedAndItemsKeepEveryType(t *testing.T) {
	db := New(t)
	at := newEndpoint(t, db.Client())
	db.ResetLog()
	seeded := with(sample, attrs{"id": S("seed"), "empty": L(), "none": M(attrs{})})
	if err := db.Seed(at.hashed, seeded); err != nil {
		t.Fatal(err)
	}
	if got := db.Items(at.hashed); len(got) != 1 || !same(got[0], seeded) {
		t.Errorf("got %v", got)
	}
	for name, items := range map[string][]map[string]types.AttributeValue{
		"a bad item":      {{"id": S("good")}, {"id": N("1")}},
		"no value":        {{"id": S("good"), "v": nil}},
		"too deep a nest": {{"id": S("good"), "v": nested(32)}},
	} {
		if err := db.Seed(at.hashed, items...); err == nil {
			t.Errorf("%s was stored", name)
		}
	}
	if db.Seed("not-there", seeded) == nil || db.Items("not-there") != nil {
		t.Error("a table that is not there took items")
	}
	if len(db.Items(at.hashed)) != 1 || len(db.Requests()) != 0 {
		t.Error("a refused Seed stored or logged something")
	}
}

func TestExpiredItemsGoOnlyOnDemand(t *testing.T) {
	db := New(t)
	at := newEndpoint(t, db.Client())
	now := time.Unix(1_700_000_000, 0)
	for id, expiry := range map[string]types.AttributeValue{
		"past": N("1699999999"), "now": N("1700000000"), "future": N("1700000001"),
		"text": S("1"), "milliseconds": N("1699999999000"), "ancient": N("1"), "fraction": N("1699999999.5"),
	} {
		if err := db.Seed(at.hashed, attrs{"id": S(id), "expire_at": expiry}); err != nil {
			t.Fatal(err)
		}
	}
	if removed := db.RemoveExpired(now); removed != 0 {
		t.Errorf("%d items removed before TTL was enabled", removed)
	}
	_, err := at.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &at.hashed, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expire_at"), Enabled: aws.Bool(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(db.Items(at.hashed)) != 7 {
		t.Error("items went by themselves")
	}
	if removed := db.RemoveExpired(now); removed != 2 {
		t.Errorf("%d items removed, want 2", removed)
	}
	var left []string
	for _, i := range db.Items(at.hashed) {
		left = append(left, i["id"].(*types.AttributeValueMemberS).Value)
	}
	slices.Sort(left)
	if !slices.Equal(left, []string{"ancient", "future", "milliseconds", "now", "text"}) {
		t.Errorf("left: %v", left)
	}
}

func TestATokenIsForgottenAfterTenMinutes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	db := New(t, WithClock(func() time.Time { return now }))
	at := newEndpoint(t, db.Client())
	add := func() {
		t.Helper()
		_, err := at.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			ClientRequestToken: aws.String("token"),
			TransactItems:      []types.TransactWriteItem{at.updateAction("a", "ADD n :n", attrs{":n": N("1")})},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add()
	now = now.Add(10*time.Minute - time.Nanosecond)
	add()
	if got := db.Items(at.hashed)[0]; !same(got, attrs{"id": S("a"), "n": N("1")}) {
		t.Errorf("within ten minutes: %s", show(got))
	}
	now = now.Add(time.Nanosecond)
	add()
	if got := db.Items(at.hashed)[0]; !same(got, attrs{"id": S("a"), "n": N("2")}) {
		t.Errorf("after ten minutes: %s", show(got))
	}
}

func TestDumpIsForHumans(t *testing.T) {
	db := New(t)
	at := newEndpoint(t, db.Client())
	if err := db.Seed(at.hashed, attrs{"id": S("a#1"), "n": N("1.50"), "l": L(True, Null, B("x")), "m": M(attrs{"k": SS("b", "a")})}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := db.Dump(&out); err != nil {
		t.Fatal(err)
	}
	want := at.hashed + " (1 items)\n  id=a#1 l=[true, null, eA==] m={k: [a, b]} n=1.5\n" + at.sorted + " (0 items)\n"
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
}

// The log keeps the newest requests and goes on counting.
func TestTheLogIsBounded(t *testing.T) {
	const sent = 5*logLimit + 7
	var log requestLog
	for range sent {
		log.add(new(Request))
		if len(log.newest) > 2*logLimit {
			t.Fatalf("%d requests are kept", len(log.newest))
		}
	}
	if len(log.newest) < logLimit {
		t.Errorf("only %d requests are kept", len(log.newest))
	}
	for i, r := range log.newest {
		if want := sent - len(log.newest) + 1 + i; r.Index != want {
			t.Fatalf("entry %d has index %d, want %d", i, r.Index, want)
		}
	}
}

// Of tokens, only those of the last ten minutes are kept, also where one is used again and again.
func TestTokensAreBounded(t *testing.T) {
	var known tokens
	now := time.Unix(1_700_000_000, 0)
	for n := range 100_000 {
		now = now.Add(time.Second)
		token := fmt.Sprint(n)
		if n%2 == 0 {
			token = "often"
		}
		if _, used := known.use(token, now); used != (token == "often" && n%600 != 0) {
			t.Fatalf("request %d: used: %t", n, used)
		} else if !used {
			known.remember(token, tokenUse{at: now})
		}
		if len(known.uses) > 600 || len(known.order) > 600 {
			t.Fatalf("after %d requests: %d tokens, %d in order", n, len(known.uses), len(known.order))
		}
	}
}
