package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// failing is a handler that fails.
type failing struct{ err error }

func (f failing) Invoke(context.Context, []byte) ([]byte, error) { return nil, f.err }

func TestTheGuardsRefusalsAreHTTPResponses(t *testing.T) {
	for _, c := range []struct {
		err        error
		status     int
		retryAfter string
	}{
		{&idempotent.KeyError{}, 400, ""},
		{&idempotent.InProgressError{RetryAfter: time.Second}, 409, "1"},
		{&idempotent.InProgressError{RetryAfter: time.Millisecond}, 409, "1"},
		{&idempotent.InProgressError{RetryAfter: 1001 * time.Millisecond}, 409, "2"},
		{&idempotent.MismatchError{}, 422, ""},
		{&idempotent.PermanentError{Message: "the payment was declined"}, 402, ""},
		{&idempotent.ResultNotStoredError{}, 409, ""},
		{&idempotent.OutcomeUnknownError{}, 409, ""},
		{&idempotent.LeaseLostError{}, 409, ""},
		{&idempotent.StoreError{Err: errors.New("secret endpoint")}, 503, ""},
		{&idempotent.NotStartedError{Err: context.DeadlineExceeded}, 503, ""},
	} {
		t.Run(fmt.Sprintf("%T", c.err), func(t *testing.T) {
			raw, err := refusals{failing{c.err}}.Invoke(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			response := decode(t, raw, c.status)
			if got := response.Headers["Retry-After"]; got != c.retryAfter {
				t.Errorf("Retry-After is %q, want %q", got, c.retryAfter)
			}
			var document struct{ Status int }
			if err := json.Unmarshal([]byte(response.Body), &document); err != nil || document.Status != c.status {
				t.Errorf("the problem is %s (%v)", response.Body, err)
			}
			if strings.Contains(response.Body, "secret") {
				t.Errorf("the problem tells too much: %s", response.Body)
			}
		})
	}
}

func TestOtherErrorsPassUnchanged(t *testing.T) {
	for _, own := range []error{errors.New("connection reset"), &idempotent.ReplayError{Err: errors.New("no JSON")}} {
		if _, err := (refusals{failing{own}}).Invoke(t.Context(), nil); err != own {
			t.Errorf("%v became %v", own, err)
		}
	}
}

func TestTheAlarmKnowsTheGuardsEvents(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []idempotent.EventKind{
		idempotent.LeaseLost, idempotent.OutcomeUnknown, idempotent.NotStored, idempotent.StoreFailed,
	} {
		if pattern := fmt.Sprintf(`$.message = "idempotency: %s"`, kind); !strings.Contains(string(template), pattern) {
			t.Errorf("template.yaml has no filter for %s", pattern)
		}
	}
}
