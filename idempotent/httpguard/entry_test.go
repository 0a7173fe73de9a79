package httpguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/internal/entrysuite"
	"github.com/ikkai-go/idempotency/persistence"
)

// Each shape is an entry point: it keeps all rules that entry points keep.
func TestEveryShapeKeepsEveryRule(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		if s.name == "net/http behind lambdaurl" {
			t.Skip("a panic there ends the process, with and without a guard")
		}
		entrysuite.Check(t, entrysuite.Entry{Name: s.name, Open: s.enter, Keyless: true, Own: s.answersItself()})
	})
}

// answersItself says that handlers of the shape have no errors to return.
func (s shape) answersItself() bool { return strings.HasPrefix(s.name, "net/http") }

type askedKey struct{}

func (s shape) enter(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	t.Helper()
	c.Fingerprint = nil // the whole request is compared anyway
	guard, err := idempotent.New(store, c)
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped(), Logger: c.Logger})
	if err != nil {
		t.Fatal(err)
	}
	send := s.guard(api, func(ctx context.Context) (answer, error) {
		asked, _ := ctx.Value(askedKey{}).(entrysuite.Request)
		result, err := fn(ctx, asked)
		switch {
		case err == nil:
			return answer{status: http.StatusCreated, body: result}, nil
		case !s.answersItself():
			return answer{}, err
		case idempotent.VerdictOf(err).Code == idempotent.CodeFailed:
			return answer{status: http.StatusPaymentRequired}, nil // recorded
		default:
			return answer{status: http.StatusServiceUnavailable}, nil
		}
	})
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		body := fmt.Sprintf(`{"id":%q,"content":%q}`, r.Key, r.Content)
		return send(context.WithValue(ctx, askedKey{}, r), key(r.Key, body)).told()
	}
}

// told is what a client makes of an answer.
func (a answer) told() entrysuite.Answer {
	if a.err != nil || a.status == http.StatusCreated {
		return entrysuite.Answer{Result: a.body, Failed: a.err != nil, Verdict: idempotent.VerdictOf(a.err)}
	}
	told := entrysuite.Answer{Failed: true}
	var problem struct {
		Code, Done string
		Retry      bool
	}
	if json.Unmarshal([]byte(a.body), &problem) == nil {
		told.Verdict = idempotent.Verdict{
			Code: idempotent.Code(problem.Code), Done: entrysuite.DoneOf(problem.Done), Retry: problem.Retry && a.header.Get("Retry-After") != "",
		}
	}
	return told
}
