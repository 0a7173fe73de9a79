package queuesim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/internal/proof/queuesim"
)

// consumed is a function that notes its batches by partition and offset, and answers
// with what answer says.
func consumed(batches *[]string, answer func(call int) (string, error)) queuesim.Function {
	return func(_ context.Context, payload []byte) ([]byte, error) {
		var event events.KafkaEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			return nil, err
		}
		var batch []string
		for _, records := range event.Records {
			for _, r := range records {
				batch = append(batch, fmt.Sprintf("%d/%d", r.Partition, r.Offset))
			}
		}
		slices.Sort(batch)
		*batches = append(*batches, fmt.Sprint(batch))
		response, err := answer(len(*batches))
		return []byte(response), err
	}
}

func item(partition string, offset any) string {
	return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":{"partition":%q,"offset":%v}}]}`, partition, offset)
}

func TestOfATopicJustTheFailuresComeAgain(t *testing.T) {
	tests := map[string]struct {
		first string // the answer of the first batch
		err   error
		want  []string
	}{
		"success":              {"", nil, []string{"[0/0 0/1 1/0]", "[0/2 1/1]"}},
		"null":                 {"null", nil, []string{"[0/0 0/1 1/0]", "[0/2 1/1]"}},
		"a record":             {item("orders-0", 0), nil, []string{"[0/0 0/1 1/0]", "[0/0 1/1]", "[0/2]"}},
		"another partition":    {item("orders-2", 0), nil, []string{"[0/0 0/1 1/0]", "[0/0 0/1 1/0]", "[0/2 1/1]"}},
		"another topic":        {item("sales-0", 0), nil, []string{"[0/0 0/1 1/0]", "[0/0 0/1 1/0]", "[0/2 1/1]"}},
		"a later offset":       {item("orders-0", 2), nil, []string{"[0/0 0/1 1/0]", "[0/0 0/1 1/0]", "[0/2 1/1]"}},
		"an offset in a text":  {item("orders-0", `"0"`), nil, []string{"[0/0 0/1 1/0]", "[0/0 0/1 1/0]", "[0/2 1/1]"}},
		"a text":               {`{"batchItemFailures":[{"itemIdentifier":"orders-0-0"}]}`, nil, []string{"[0/0 0/1 1/0]", "[0/0 0/1 1/0]", "[0/2 1/1]"}},
		"Powertools' example":  {`{"batchItemFailures":[{"itemIdentifier":{"topic-partition":"orders-0","offset":0}}]}`, nil, []string{"[0/0 0/1 1/0]", "[0/0 0/1 1/0]", "[0/2 1/1]"}},
		"a failed invocation":  {"", errors.New("failed"), []string{"[0/0 0/1 1/0]", "[0/0 0/1 1/0]", "[0/2 1/1]"}},
		"an answer of no JSON": {"done", nil, []string{"[0/0 0/1 1/0]", "[0/0 0/1 1/0]", "[0/2 1/1]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			topic := queuesim.NewTopic("orders", 2)
			for _, partition := range []int{0, 0, 0, 1, 1} {
				topic.Put(partition, []byte("{}"))
			}
			var got []string
			mapping := queuesim.TopicMapping{Topic: topic, BatchSize: 3, Timeout: time.Minute, Function: consumed(&got, func(call int) (string, error) {
				if call == 1 {
					return test.first, test.err
				}
				return "", nil
			})}
			for topic.Left() > 0 {
				_, _ = mapping.Poll(t.Context())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("batches %v, want %v", got, test.want)
			}
		})
	}
}

func TestATopicDiscardsWhatFailsTooOften(t *testing.T) {
	topic := queuesim.NewTopic("orders", 1)
	for range 3 {
		topic.Put(0, nil)
	}
	var got []string
	mapping := queuesim.TopicMapping{Topic: topic, BatchSize: 2, Timeout: time.Minute, MaxRetries: 2, Function: consumed(&got, func(call int) (string, error) {
		if call < 4 {
			return item("orders-0", 1), nil
		}
		return "", nil
	})}
	for topic.Left() > 0 {
		_, _ = mapping.Poll(t.Context())
	}
	if want := []string{"[0/0 0/1]", "[0/1]", "[0/1]", "[0/2]"}; !slices.Equal(got, want) {
		t.Errorf("batches %v, want %v", got, want)
	}
	if gone := topic.Discarded(); len(gone) != 1 || gone[0].Offset != 1 {
		t.Errorf("discarded %v, want offset 1", gone)
	}
}

func TestAMappingWithoutPartialFailuresIgnoresTheAnswer(t *testing.T) {
	topic := queuesim.NewTopic("orders", 1)
	topic.Put(0, nil)
	var got []string
	mapping := queuesim.TopicMapping{Topic: topic, BatchSize: 2, Timeout: time.Minute, IgnoresAnswers: true, Function: consumed(&got, func(int) (string, error) {
		return item("orders-0", 0), nil
	})}
	if _, err := mapping.Poll(t.Context()); err != nil || topic.Left() != 0 {
		t.Errorf("%v, %d left", err, topic.Left())
	}
}
