package demo

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// actor answers every event in the same way.
type actor string

func (a actor) Invoke(context.Context, []byte) ([]byte, error) { return []byte(a), nil }
func (a actor) Kill(context.Context) error                     { return nil }
func (a actor) Stop() error                                    { return nil }

// newShowOf is a show in which all environments are played by one actor.
func newShowOf(t *testing.T, a lambda) *show {
	t.Helper()
	s := emptyStage(t)
	s.logs = t.TempDir()
	for _, role := range cast {
		s.environments[role.environment] = &environment{lambda: a, meter: &meter{meters: &meters{db: s.db}}}
	}
	return newShow(NewTimeline(io.Discard, Palette{}), s, map[function]event{payment: {}, register: {}, checkout: {}}, silent)
}

// silent is a command line that does nothing.
func silent(context.Context, []string, io.Writer, io.Writer) int { return 0 }

func TestAFunctionThatKeepsNoPromiseIsFoundOut(t *testing.T) {
	for name, answer := range map[string]actor{
		"it fails":                   `{"errorMessage":"out of order","errorType":"Error"}`,
		"it says yes to everything":  `{"statusCode":201,"body":"{}"}`,
		"it says no to everything":   `{"statusCode":409,"headers":{"Retry-After":"1"},"batchItemFailures":[{"itemIdentifier":"?"}]}`,
		"it is out of time for ever": "Task timed out after 2.00 seconds",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				show := newShowOf(t, answer)
				if err := show.play(t.Context(), story); err != nil {
					t.Fatal(err)
				}
				summary := show.summarize()
				if summary.Promises != len(summary.Broken) || summary.Promises < len(story) {
					t.Errorf("of %d promises %d are broken: %q", summary.Promises, len(summary.Broken), summary.Broken)
				}
			})
		})
	}
}

func TestTheStoryEndsBetweenTwoEventsWhenInterrupted(t *testing.T) {
	for name, next := range map[string]func(context.Context, *show) error{
		"before a request": func(ctx context.Context, s *show) error {
			_, err := s.send(ctx, "env-1", firstOrder)
			return err
		},
		"before a batch": func(ctx context.Context, s *show) error {
			s.post(firstParcel.letter())
			_, err := s.deliver(ctx, "env-11")
			return err
		},
		"while it waits": func(ctx context.Context, s *show) error {
			return s.untilVisible(ctx, Batch{answered: time.Now().Add(time.Hour)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			interrupted := errors.New("interrupted")
			ctx, cancel := context.WithCancelCause(t.Context())
			var told []string
			scenes := []scene{{"one", func(ctx context.Context, s *show) error {
				_, err := s.send(ctx, "env-1", firstOrder)
				told = append(told, "first")
				cancel(interrupted)
				return err
			}}, {"two", next}, {"three", func(context.Context, *show) error {
				told = append(told, "third")
				return nil
			}}}
			if err := newShowOf(t, actor(`{"statusCode":201,"body":"{}"}`)).play(ctx, scenes); !errors.Is(err, interrupted) {
				t.Errorf("the story ended with %v", err)
			}
			if !slices.Equal(told, []string{"first"}) {
				t.Errorf("told %q", told)
			}
		})
	}
}

func TestRequestsAreCountedByKind(t *testing.T) {
	stage := emptyStage(t)
	client := stage.db.Client()
	for range 3 {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(payment.table), Item: item{"pk": text("payment#1")}}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, c := range countRequests(stage.db.Requests()) {
		got = append(got, c.Table+" "+c.String())
		if c.Count != 3 || c.Write != 3 || c.Read != 0 {
			t.Errorf("counted %+v", c)
		}
	}
	if !slices.Equal(got, []string{"payments PutItem"}) {
		t.Errorf("counted %q", got)
	}
}
