package streamimage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/eventguard/streamimage"
	"github.com/ikkai-go/idempotency/persistence"
)

// all has an attribute of each type.
type all struct {
	Text    string                `dynamodbav:"text"`
	Whole   int                   `dynamodbav:"whole"`
	Exact   attributevalue.Number `dynamodbav:"exact"`
	Yes     bool                  `dynamodbav:"yes"`
	None    *string               `dynamodbav:"none"`
	Bytes   []byte                `dynamodbav:"bytes"`
	Texts   []string              `dynamodbav:"texts,stringset"`
	Numbers []int                 `dynamodbav:"numbers,numberset"`
	Blobs   [][]byte              `dynamodbav:"blobs,binaryset"`
	List    []any                 `dynamodbav:"list"`
	Map     map[string]any        `dynamodbav:"map"`
	When    time.Time             `dynamodbav:"when,unixtime"`
	Nested  struct{ A string }    `dynamodbav:"nested"`
}

const image = `{
	"text": {"S": "t"}, "whole": {"N": "42"}, "exact": {"N": "3.14159265358979323846264338327950288"}, "yes": {"BOOL": true},
	"none": {"NULL": true}, "bytes": {"B": "AP8="}, "texts": {"SS": ["a", "b"]}, "numbers": {"NS": ["1", "2"]}, "blobs": {"BS": ["AA=="]},
	"list": {"L": [{"S": "x"}, {"N": "1"}, {"L": []}]}, "map": {"M": {"k": {"M": {"deep": {"BOOL": false}}}}},
	"when": {"N": "1764580445"}, "nested": {"M": {"A": {"S": "a"}}}
}`

func TestAnImageIsDecodedByTheTagsOfTheSDK(t *testing.T) {
	var attributes map[string]events.DynamoDBAttributeValue
	if err := json.Unmarshal([]byte(image), &attributes); err != nil {
		t.Fatal(err)
	}
	var got all
	if err := streamimage.Unmarshal(attributes, &got); err != nil {
		t.Fatal(err)
	}
	want := all{
		Text: "t", Whole: 42, Exact: "3.14159265358979323846264338327950288", Yes: true, Bytes: []byte{0, 255},
		Texts: []string{"a", "b"}, Numbers: []int{1, 2}, Blobs: [][]byte{{0}},
		List: []any{"x", 1.0, []any{}}, Map: map[string]any{"k": map[string]any{"deep": false}}, When: time.Unix(1764580445, 0),
	}
	want.Nested.A = "a"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	// The way back is the SDK's, and meets nothing that has changed.
	item, err := streamimage.Item(attributes)
	if err != nil || len(item) != len(attributes) {
		t.Fatal(item, err)
	}
	var again all
	if err := attributevalue.UnmarshalMap(maps.Clone(item), &again); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("%v: %+v", err, again)
	}
}

func TestAnAttributeOfNoTypeIsRefused(t *testing.T) {
	none := map[string]events.DynamoDBAttributeValue{"a": {}}
	for name, image := range map[string]map[string]events.DynamoDBAttributeValue{
		"at the top": none,
		"in a map":   {"a": events.NewMapAttribute(none)},
		"in a list":  {"a": events.NewListAttribute([]events.DynamoDBAttributeValue{{}})},
	} {
		t.Run(name, func(t *testing.T) {
			err := streamimage.Unmarshal(image, &map[string]any{})
			if refused, ok := errors.AsType[*streamimage.AttributeError](err); !ok || refused.Name != "a" {
				t.Errorf("%v, want an AttributeError of a", err)
			}
		})
	}
}

func Example() {
	type order struct {
		ID    string `dynamodbav:"pk"`
		State string `dynamodbav:"state"`
	}
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{
		Operation: "index-order", Key: idempotency.MustJMESPath("eventID"),
	})
	if err != nil {
		panic(err)
	}
	handler, err := eventguard.Changes(guard, eventguard.Config{Logger: slog.New(slog.DiscardHandler)}, streamimage.Unmarshal,
		func(_ context.Context, change eventguard.Change[order]) error {
			switch change.Kind {
			case eventguard.Inserted, eventguard.Modified:
				fmt.Println(change.New.ID, "is", change.New.State)
			case eventguard.Removed:
				fmt.Println(change.Keys.ID, "is cancelled")
			case eventguard.Expired:
				fmt.Println(change.Keys.ID, "is forgotten")
			}
			return nil
		})
	if err != nil {
		panic(err)
	}
	text := events.NewStringAttribute
	keys := map[string]events.DynamoDBAttributeValue{"pk": text("order#417")}
	fmt.Println(handler(context.Background(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{
		{EventID: "1", EventName: "INSERT", Change: events.DynamoDBStreamRecord{
			SequenceNumber: "101", Keys: keys, NewImage: map[string]events.DynamoDBAttributeValue{"pk": text("order#417"), "state": text("paid")},
		}},
		{EventID: "2", EventName: "REMOVE", Change: events.DynamoDBStreamRecord{SequenceNumber: "102", Keys: keys},
			UserIdentity: &events.DynamoDBUserIdentity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}},
	}}))
	// Output:
	// order#417 is paid
	// order#417 is forgotten
	// {[]} <nil>
}

func ExampleUnmarshal() {
	var order struct {
		ID string `dynamodbav:"pk"`
	}
	err := streamimage.Unmarshal(map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute("order#417")}, &order)
	fmt.Println(order.ID, err)
	// Output: order#417 <nil>
}

func ExampleItem() {
	item, err := streamimage.Item(map[string]events.DynamoDBAttributeValue{"paid": events.NewBooleanAttribute(true)})
	fmt.Printf("%T %v\n", item["paid"], err)
	// Output: *types.AttributeValueMemberBOOL <nil>
}
