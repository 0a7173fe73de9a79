package demo

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// The scenes of an operator at night, who has the command line and nothing else.

var (
	lostBasket   = Basket{Key: "basket-3", Quantity: 1}
	chargedOrder = Order{Key: "order-9", Amount: 31_00}
)

// margin is by how much the operator's clock may be ahead: it is the same machine.
const margin = time.Second

func nightShift(ctx context.Context, s *show) error {
	s.crashAt(ctx, "env-19", dynamotest.Fault{Table: idempotencyTable, Operation: "UpdateItem"})
	if _, err := s.send(ctx, "env-19", lostBasket); err != nil {
		return err
	}
	if err := wait(ctx, time.Until(s.stage.lastLease())+margin+time.Millisecond); err != nil {
		return err
	}
	listed, err := s.ikkai(ctx, "records", "list", "--stuck")
	if err != nil {
		return err
	}
	key := lostBasket.recordKey()
	shown, err := s.ikkai(ctx, "records", "show", key)
	if err != nil {
		return err
	}
	s.promise("the stuck request is found, with what it has done, and shows no customer's data",
		says(listed, key, "run_died"), says(shown, "reserve-stock  finished", "charge         finished", "checkout:"), hides(shown, lostBasket.email()),
		s.stage.recorded(lostBasket, persistence.StatusProcessing, 1))
	event, err := s.eventFile(lostBasket)
	if err != nil {
		return err
	}
	resume := []string{"records", "resume", key, "--function", "function", "--lambda-endpoint", s.stage.environments["env-15"].endpoint, "--event", event}
	plan, err := s.ikkai(ctx, resume...)
	if err != nil {
		return err
	}
	s.promise("a command that changes something says first what it would do, and does nothing",
		says(plan, "Nothing was done"), s.stage.recorded(lostBasket, persistence.StatusProcessing, 1))
	resumed, err := s.ikkai(ctx, append(resume, "--version", versionIn(shown), "--yes")...)
	if err != nil {
		return err
	}
	s.promise("resumed without its client: one charge, one e-mail, and the goods are taken once",
		says(resumed, "is completed now"),
		s.stage.recorded(lostBasket, persistence.StatusCompleted, 2), s.stage.done(lostBasket, 1))
	return nil
}

func settledByHand(ctx context.Context, s *show) error {
	death, err := s.send(ctx, "env-20", chargedOrder)
	if err != nil {
		return err
	}
	if err := wait(ctx, time.Until(s.stage.lastLease())+margin+time.Millisecond); err != nil {
		return err
	}
	found, err := s.ikkaiAlone(ctx, "records", "key", "--operation", "payment", "--idempotency-key", chargedOrder.Key,
		"--scope", "jwt-subject", "--claim", "iss=https://login.example.com/", "--claim", "sub=shop")
	if err != nil {
		return err
	}
	key := strings.TrimSpace(found)
	shown, err := s.ikkai(ctx, "records", "show", key)
	if err != nil {
		return err
	}
	s.promise("the record is found by what the customer knows: the key of the request",
		killed(death.Work, death.Answer.Failure), same(key, chargedOrder.recordKey()), says(shown, "died, PROCESSING"))
	answer := filepath.Join(s.stage.logs, "answer.json")
	if err := os.WriteFile(answer, []byte(`{"statusCode": 201, "headers": {"content-type": "application/json"}, "body": "{\"id\":\"by hand\"}"}`), 0o600); err != nil {
		return err
	}
	settled, err := s.ikkai(ctx, "records", "settle", key, "--completed", "--result", answer, "--version", versionIn(shown), "--yes")
	if err != nil {
		return err
	}
	again, err := s.send(ctx, "env-8", chargedOrder)
	if err != nil {
		return err
	}
	s.promise("the provider says that it has charged, so that is settled by hand, and the client's retry charges nothing",
		says(settled, "is completed now"), answered(again, http.StatusCreated), markedAsReplay(again), untouched(again.Work),
		s.stage.done(chargedOrder, 1))
	return nil
}

// versionIn is the version of a record that is shown.
func versionIn(shown string) string {
	for line := range strings.Lines(shown) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "version" {
			return fields[1]
		}
	}
	return ""
}

// says finds fault with an output that lacks something.
func says(output string, parts ...string) string {
	for _, part := range parts {
		if !strings.Contains(output, part) {
			return fmt.Sprintf("the command does not say %q:\n%s", part, output)
		}
	}
	return ""
}

// hides finds fault with an output that has something.
func hides(output, part string) string {
	if strings.Contains(output, part) {
		return fmt.Sprintf("the command shows %q", part)
	}
	return ""
}

func same(got, want string) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("it is %q instead of %q", got, want)
}
