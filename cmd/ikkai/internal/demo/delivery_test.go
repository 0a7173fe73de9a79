package demo

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// consumer answers a batch.
type consumer func([]events.SQSMessage) string

func (c consumer) Invoke(_ context.Context, event []byte) ([]byte, error) {
	var batch events.SQSEvent
	if err := json.Unmarshal(event, &batch); err != nil {
		return nil, err
	}
	return []byte(c(batch.Records)), nil
}

func (c consumer) Kill(context.Context) error { return nil }
func (c consumer) Stop() error                { return nil }

func TestWhatBecomesOfMessages(t *testing.T) {
	ship := func([]events.SQSMessage) string { return `{"batchItemFailures":[]}` }
	tests := []struct {
		name    string
		answer  consumer
		failed  [2]bool
		failure string
	}{
		{"both are done", ship, [2]bool{}, ""},
		{"one comes back", func(batch []events.SQSMessage) string {
			return `{"batchItemFailures":[{"itemIdentifier":"` + batch[1].MessageId + `"}]}`
		}, [2]bool{false, true}, ""},
		{"an error", func([]events.SQSMessage) string { return `{"errorMessage":"no","errorType":"E"}` }, [2]bool{true, true}, "E: no"},
		{"a time-out", func([]events.SQSMessage) string { return "Task timed out after 2.00 seconds" }, [2]bool{true, true}, "Task timed out after 2.00 seconds"},
		{"an answer that Lambda can't use", func([]events.SQSMessage) string { return `{"batchItemFailures":[{"itemIdentifier":""}]}` },
			[2]bool{true, true}, "queuesim: an answer that fails the whole batch"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShowOf(t, test.answer)
				s.post(Parcel{ID: "a"}.letter())
				s.post("b")
				got, err := s.deliver(t.Context(), "env-11")
				if err != nil {
					t.Fatal(err)
				}
				want := Batch{Messages: []Message{
					{ID: "m1", Text: "a", Receives: 1, Failed: test.failed[0]},
					{ID: "m2", Text: `"b"`, Receives: 1, Failed: test.failed[1]},
				}, Failure: test.failure}
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Batch{}, "Work"), cmpopts.IgnoreUnexported(Batch{})); diff != "" {
					t.Error(diff)
				}
				left := 0
				for _, failed := range test.failed {
					if failed {
						left++
					}
				}
				checkFinding(t, s.stage.queued(left), "")

				s.stage.environments["env-11"].lambda = consumer(ship)
				checkFinding(t, delivered(mustDeliver(t, s)), "") // hidden
				if err := s.untilVisible(t.Context(), got); err != nil {
					t.Fatal(err)
				}
				if got := mustDeliver(t, s); len(got.Messages) != left {
					t.Errorf("%d messages are visible again, want %d", len(got.Messages), left)
				}
				checkFinding(t, s.stage.queued(0), "")
			})
		})
	}
}

// gone is an environment that nobody reaches.
type gone struct{ actor }

var errGone = errors.New("connection refused")

func (gone) Invoke(context.Context, []byte) ([]byte, error) { return nil, errGone }

func TestAnEnvironmentThatIsGoneEndsTheShow(t *testing.T) {
	s := newShowOf(t, gone{})
	if _, err := s.send(t.Context(), "env-1", firstOrder); !errors.Is(err, errGone) {
		t.Errorf("a request ends with %v", err)
	}
	s.post(firstParcel.letter())
	if _, err := s.deliver(t.Context(), "env-11"); !errors.Is(err, errGone) {
		t.Errorf("a batch ends with %v", err)
	}
}

func mustDeliver(t *testing.T, s *show) Batch {
	t.Helper()
	batch, err := s.deliver(t.Context(), "env-11")
	if err != nil {
		t.Fatal(err)
	}
	return batch
}
