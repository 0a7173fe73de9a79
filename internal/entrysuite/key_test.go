package entrysuite_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// An entry point takes the guard's Key, or refuses a guard that has one; none looks past it.
func TestEveryEntryPointTakesTheKeyOrRefusesIt(t *testing.T) {
	type answer string
	const (
		takes   answer = "takes it"
		refuses answer = "refuses the guard"
		panics  answer = "panics: it is program text"
	)
	ctx := t.Context()
	payload := []byte(`{"id": "a"}`)
	done := func(context.Context) (string, error) { return "", nil }
	for name, entry := range map[string]struct {
		open          func(g *idempotent.Guard) error
		with, without answer
	}{
		"Handler": {func(g *idempotent.Guard) error {
			_, err := g.Handler(func(context.Context) error { return nil }).Invoke(ctx, payload)
			return err
		}, takes, panics},
		"Func": {func(g *idempotent.Guard) error {
			_, err := idempotent.Func(g, func(context.Context, map[string]string) (string, error) { return "", nil })(ctx, map[string]string{"id": "a"})
			return err
		}, takes, panics},
		"Do":       {func(g *idempotent.Guard) error { _, err := idempotent.Do(ctx, g, "a", done); return err }, refuses, takes},
		"Guard.Do": {func(g *idempotent.Guard) error { return g.Do(ctx, "a", func(context.Context) error { return nil }) }, refuses, takes},
		"Identity": {func(g *idempotent.Guard) error {
			_, err := idempotent.DoAs(ctx, g, g.Identity("a", "b"), done)
			return err
		}, refuses, takes},
		"Identify": {func(g *idempotent.Guard) error {
			_, err := idempotent.DoAs(ctx, g, g.Identify(payload), done)
			return err
		}, takes, refuses},
		"IdentifyOr": {func(g *idempotent.Guard) error {
			_, err := idempotent.DoAs(ctx, g, g.IdentifyOr(payload, "m"), done)
			return err
		}, takes, takes},
		"RecordKey": {func(g *idempotent.Guard) error { _, err := g.RecordKey(ctx, payload); return err }, takes, refuses},
		"batch.Each": {func(g *idempotent.Guard) error {
			b := batch.Batch[string]{Name: "b", ID: func(s string) string { return s }}
			_, err := batch.Each(ctx, g, b, []string{"a"}, func(context.Context, string) error { return nil })
			return err
		}, refuses, takes},
		"httpguard": {func(g *idempotent.Guard) error {
			_, err := httpguard.New(g, httpguard.Config{Scope: httpguard.ByHeader("x-user")})
			return err
		}, refuses, takes},
		"eventguard": {func(g *idempotent.Guard) error {
			_, err := eventguard.SQS(g, eventguard.Config{}, func(context.Context, map[string]string, events.SQSMessage) error { return nil })
			return err
		}, takes, takes},
	} {
		for key, want := range map[*idempotency.Expression]answer{idempotency.MustJMESPath("id"): entry.with, nil: entry.without} {
			t.Run(name, func(t *testing.T) {
				guard := idempotent.MustNew(persistence.NewMemory(), idempotent.Config{Operation: "pay", Key: key, Logger: slog.New(slog.DiscardHandler)})
				var got answer
				func() {
					defer func() {
						if text, _ := recover().(string); strings.Contains(text, "Config.Key") {
							got = panics
						}
					}()
					switch err := entry.open(guard); {
					case err == nil:
						got = takes
					case errors.Is(err, idempotent.ErrConfig):
						got = refuses
					default:
						t.Fatal(err)
					}
				}()
				if got != want {
					t.Errorf("with a Key: %v; %s, want that it %s", key != nil, got, want)
				}
			})
		}
	}
}
