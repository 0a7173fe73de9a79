package httpguard_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// What is refused before a guard is asked is told as what the guard refuses: by the attributes
// event and code, and to its observers where it is about a key.
func TestARefusalIsLoggedByEventAndCode(t *testing.T) {
	down := httpguard.ScopeFunc("session", func(context.Context, *httpguard.Request) (string, error) { return "", errors.New("down") })
	for name, test := range map[string]struct {
		scope   httpguard.Scope
		request request
		line    string // what it has to have
		events  int    // of a refused key
	}{
		"a missing key":   {httpguard.Unscoped(), request{}, "event=key_refused operation=payment key=\"\" code=key_missing", 1},
		"a malformed key": {httpguard.Unscoped(), request{header: http.Header{"Idempotency-Key": {`"a`}}}, "event=key_refused operation=payment key=\"\" code=key_unusable", 1},
		"nobody's key":    {httpguard.ByHeader("X-User"), request{header: http.Header{"Idempotency-Key": {"a"}}}, "level=WARN msg=\"idempotency: request refused\" event=request_refused operation=payment code=caller_unknown", 0},
		"a scope is down": {down, request{header: http.Header{"Idempotency-Key": {"a"}}}, "level=ERROR msg=\"idempotency: request failed\" event=request_failed operation=payment code=scope_failed", 0},
	} {
		var log bytes.Buffer
		refused := 0
		logger := slog.New(slog.NewTextHandler(&log, nil))
		guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "payment", Logger: logger, Observe: func(_ context.Context, e idempotent.Event) {
			if e.Kind == idempotent.EventKeyRefused {
				refused++
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		api, err := httpguard.New(guard, httpguard.Config{Scope: test.scope, Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		event := urlEvent(test.request.withDefaults())
		handler := api.FunctionURL(nothingToServe)
		if answer, err := handler(t.Context(), event); err != nil || answer.StatusCode < 400 {
			t.Errorf("%s: %d, %v", name, answer.StatusCode, err)
		}
		if !strings.Contains(log.String(), test.line) || strings.Count(log.String(), "\n") != 1 || refused != test.events {
			t.Errorf("%s: %d events, and the log is\n%s", name, refused, log.String())
		}
	}
}

func nothingToServe(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	return events.LambdaFunctionURLResponse{StatusCode: http.StatusCreated}, nil
}
