package eventguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// texts decodes an image of texts by hand.
func texts(image map[string]events.DynamoDBAttributeValue, out any) error {
	all, ok := out.(*map[string]string)
	if !ok {
		return fmt.Errorf("not into %T", out)
	}
	*all = make(map[string]string)
	for name, value := range image {
		if value.DataType() != events.DataTypeString {
			return fmt.Errorf("%s is no text", name)
		}
		(*all)[name] = value.String()
	}
	return nil
}

func TestChangesAreTyped(t *testing.T) {
	byTTL := `"userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}`
	tests := map[string]struct {
		record string
		want   string // kind, keys, old and new; empty where it fails
	}{
		"an insert":            {`"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}, "NewImage": {"pk": {"S": "a"}, "x": {"S": "1"}}}`, `inserted map[pk:a] <nil> &map[pk:a x:1]`},
		"a change":             {`"eventName": "MODIFY", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}, "OldImage": {"x": {"S": "1"}}, "NewImage": {"x": {"S": "2"}}}`, `modified map[pk:a] &map[x:1] &map[x:2]`},
		"a removal":            {`"eventName": "REMOVE", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}, "OldImage": {"x": {"S": "1"}}}`, `removed map[pk:a] &map[x:1] <nil>`},
		"a removal by TTL":     {byTTL + `, "eventName": "REMOVE", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}}`, `expired map[pk:a] <nil> <nil>`},
		"somebody else's":      {`"userIdentity": {"type": "Service", "principalId": "replication.dynamodb.amazonaws.com"}, "eventName": "REMOVE", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}}`, `removed map[pk:a] <nil> <nil>`},
		"a change, not by TTL": {byTTL + `, "eventName": "MODIFY", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}}`, `modified map[pk:a] <nil> <nil>`},
		"keys only":            {`"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}}`, `inserted map[pk:a] <nil> <nil>`},
		"an empty image":       {`"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}, "NewImage": {}}`, `inserted map[pk:a] <nil> &map[]`},
		"an unknown kind":      {`"eventName": "TRUNCATE", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}}`, ``},
		"no kind":              {`"dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}}`, ``},
		"an image of a number": {`"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}, "NewImage": {"x": {"N": "1"}}}`, ``},
		"two spellings":        {`"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": {"pk": {"S": "a"}}, "NewImage": {"x": {"S": "1"}, "X": {"S": "2"}}}`, `inserted map[pk:a] <nil> &map[X:2 x:1]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			handle, err := eventguard.Changes(newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{Logger: silent}, texts, func(_ context.Context, c eventguard.Change[map[string]string]) error {
				got = append(got, fmt.Sprint(c.Kind, " ", c.Keys, " ", c.Old, " ", c.New))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var event events.DynamoDBEvent
			if err := json.Unmarshal([]byte(`{"Records": [{"eventID": "e1", `+test.record+`}]}`), &event); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time a replay
				response, err := handle(t.Context(), event)
				if failed := len(response.BatchItemFailures) == 1; err != nil || failed != (test.want == "") {
					t.Errorf("failed: %v, %v", failed, err)
				}
			}
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			if !slices.Equal(got, want) {
				t.Errorf("ran with %q, want %q", got, want)
			}
		})
	}
}

// Only a struct's fields are found in any case. What is a key of a map, or is not read,
// holds no shard.
func TestAttributesThatDifferInCaseFailWhereTheyAreFields(t *testing.T) {
	type inner struct{ A string }
	type item struct {
		Meta    inner             `dynamodbav:"meta"`
		Headers map[string]string `dynamodbav:"headers"`
		List    []inner
	}
	for image, runs := range map[string]bool{
		`{"headers": {"M": {"X-A": {"S": "1"}, "x-a": {"S": "2"}}}}`:              true,
		`{"other": {"M": {"X-A": {"S": "1"}, "x-a": {"S": "2"}}}}`:                true,
		`{"meta": {"M": {"A": {"S": "1"}, "a": {"S": "2"}}}}`:                     false,
		`{"Meta": {"M": {}}, "meta": {"M": {}}}`:                                  false,
		`{"list": {"L": [{"M": {}}, {"M": {"A": {"S": "1"}, "a": {"S": "2"}}}]}}`: false,
	} {
		ran := false
		decode := func(map[string]events.DynamoDBAttributeValue, any) error { return nil }
		handle, err := eventguard.Changes(newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{Logger: silent}, decode, func(context.Context, eventguard.Change[item]) error {
			ran = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var event events.DynamoDBEvent
		if err := json.Unmarshal([]byte(`{"Records": [{"eventID": "e1", "eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "NewImage": `+image+`}}]}`), &event); err != nil {
			t.Fatal(err)
		}
		if got, err := handle(t.Context(), event); err != nil || ran != runs || len(got.BatchItemFailures) == 1 == runs {
			t.Errorf("%s: runs: %v; %v, %v", image, ran, got, err)
		}
	}
}

func TestChangesNeedAFunctionAndADecoder(t *testing.T) {
	guard := newGuard(t, persistence.NewMemory(), idempotent.Config{})
	fn := func(context.Context, eventguard.Change[order]) error { return nil }
	_, without := eventguard.Changes(guard, eventguard.Config{}, nil, fn)
	_, nothing := eventguard.Changes[order](guard, eventguard.Config{}, texts, nil)
	for name, err := range map[string]error{"no decoder": without, "no function": nothing} {
		if !errors.Is(err, idempotent.ErrConfig) {
			t.Errorf("%s: %v, want an ErrConfig", name, err)
		}
	}
}

// DynamoDB's own removal by time to live is told from a delete.
func ExampleChangeKindOf() {
	deleted := events.DynamoDBEventRecord{EventName: "REMOVE"}
	expired := deleted
	expired.UserIdentity = &events.DynamoDBUserIdentity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}
	fmt.Println(eventguard.ChangeKindOf(deleted), eventguard.ChangeKindOf(expired))
	// Output: removed expired
}
