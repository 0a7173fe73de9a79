package demo

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/rie"
)

// actors puts environments on the stage that answer every event in the same way.
func actors(t *testing.T, s *stage, answer string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) }))
	t.Cleanup(server.Close)
	for _, role := range cast {
		s.environments[role.environment] = &environment{
			Environment: &rie.Environment{URL: server.URL, Timeout: functionTimeout},
			meter:       &meter{meters: &meters{db: s.db}},
		}
	}
}

func TestAFunctionThatKeepsNoPromiseIsFoundOut(t *testing.T) {
	for name, answer := range map[string]string{
		"it fails":                   `{"errorMessage":"out of order","errorType":"Error"}`,
		"it says yes to everything":  `{"statusCode":201,"body":"{}"}`,
		"it is out of time for ever": "Task timed out after 2.00 seconds",
	} {
		t.Run(name, func(t *testing.T) {
			stage := tables(t)
			actors(t, stage, answer)
			show := &show{stage: stage, template: event{}, started: time.Now(), narrator: NewTimeline(io.Discard, Palette{})}
			if err := show.play(t.Context(), story); err != nil {
				t.Fatal(err)
			}
			summary := show.summarize()
			if summary.Promises != len(summary.Broken) || summary.Promises < len(story) {
				t.Errorf("of %d promises %d are broken: %q", summary.Promises, len(summary.Broken), summary.Broken)
			}
		})
	}
}

func TestTheStoryEndsBetweenTwoEventsWhenInterrupted(t *testing.T) {
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	var told []string
	stage := tables(t)
	actors(t, stage, `{"statusCode":201,"body":"{}"}`)
	scenes := []scene{{"one", func(ctx context.Context, s *show) error {
		_, err := s.send(ctx, "env-1", firstOrder)
		told = append(told, "first")
		cancel(interrupted)
		return err
	}}, {"two", func(ctx context.Context, s *show) error {
		_, err := s.send(ctx, "env-1", firstOrder)
		return err
	}}, {"three", func(context.Context, *show) error {
		told = append(told, "third")
		return nil
	}}}
	show := &show{stage: stage, template: event{}, started: time.Now(), narrator: NewTimeline(io.Discard, Palette{})}
	if err := show.play(ctx, scenes); !errors.Is(err, interrupted) {
		t.Errorf("the story ended with %v", err)
	}
	if !slices.Equal(told, []string{"first"}) {
		t.Errorf("told %q", told)
	}
}

func TestRequestsAreCountedByKind(t *testing.T) {
	stage := tables(t)
	client := stage.db.Client()
	for range 3 {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(paymentsTable), Item: item{"pk": text("payment#1")}}); err != nil {
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
