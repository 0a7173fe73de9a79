package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// What a customer writes is no execution of the function: it would have the record of its choice,
// for as long as an execution may live, and run the function as often as it likes.
func TestAnExecutionOfAnotherFunctionIsRefused(t *testing.T) {
	const alias = "arn:aws:lambda:eu-west-1:123456789012:function:orders:live"
	for name, test := range map[string]struct {
		invoked, execution string
		runs               int
	}{
		"its own":                       {alias, executionA, 1},
		"its own, without an alias":     {"arn:aws:lambda:eu-west-1:123456789012:function:orders", executionA, 1},
		"of a function of another name": {"arn:aws:lambda:eu-west-1:123456789012:function:orders-2", executionA, 0},
		"of a longer name":              {"arn:aws:lambda:eu-west-1:123456789012:function:order", executionA, 0},
		"of another account":            {"arn:aws:lambda:eu-west-1:999999999999:function:orders", executionA, 0},
		"no ARN":                        {alias, "order 1", 0},
		"where the function is unknown": {"", "local", 1},
		"with another's name in it":     {"", "local#1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			memory := persistence.NewMemory()
			guard := newTestGuard(t, memory, idempotent.Config{})
			ctx := t.Context()
			if test.invoked != "" {
				ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{InvokedFunctionArn: test.invoked})
			}
			arn, _ := json.Marshal(test.execution)
			event := fmt.Sprintf(`{"id":"order 2","DurableExecutionArn":%s,"InitialExecutionState":{"Operations":[`+
				`{"Type":"EXECUTION","ExecutionDetails":{"InputPayload":"{\"id\":\"order 1\"}"}}]}}`, arn)
			runs := 0
			_, err := guard.Handler(func(context.Context, json.RawMessage) (json.RawMessage, error) {
				runs++
				return json.RawMessage(pending), nil
			}).Invoke(ctx, []byte(event))
			refused := test.runs == 0
			if runs != test.runs || errors.Is(err, idempotent.ErrKey) != refused || (len(memory.Records()) == 0) != refused {
				t.Errorf("runs %d, want %d; %d records: %v", runs, test.runs, len(memory.Records()), err)
			}
		})
	}
}

// An invocation that waits for another execution does not wait for its own.
func TestAnInvocationThatWaitsIsNotKeptOutByItsOwnExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := persistence.NewMemory()
		d := newDurable(t, memory)
		d.answers(pending)
		d.wants(executionA, pending, 1)
		go func() {
			time.Sleep(time.Second) // virtual: executionA is over, and a zombie of executionB is there
			held := memory.Records()[0]
			if err := memory.Release(t.Context(), held.Lease()); err != nil {
				t.Error(err)
			}
			now := time.Now()
			if _, err := memory.Acquire(t.Context(), persistence.Claim{
				Key: held.Key, Owner: executionB + "#zombie", Execution: executionB + "#", Now: now,
				LeaseUntil: now.Add(time.Hour).Truncate(time.Millisecond), ExpiresAt: now.Add(2 * time.Hour).Truncate(time.Second),
			}); err != nil {
				t.Error(err)
			}
		}()
		guard := newTestGuard(t, memory, idempotent.Config{Wait: time.Minute}) // it looks while it waits
		event := fmt.Sprintf(laterInvocation, executionB, time.Now().UnixMilli(), `{"id":"order 1"}`)
		got, err := guard.Handler(func() (json.RawMessage, error) { return json.RawMessage(succeeded), nil }).Invoke(t.Context(), []byte(event))
		if err != nil || string(got) != succeeded {
			t.Errorf("got %s, %v", got, err)
		}
	})
}

// An execution that ends while the table can't be reached, and the guard fails open, is over all
// the same: its record must not lock the key for as long as an execution may live.
func TestAnExecutionThatEndsWithoutItsRecordSettlesItOnceTheTableAnswers(t *testing.T) {
	for answer, next := range map[string]struct {
		response string
		runs     int
	}{
		succeeded: {succeeded, 2}, // replayed
		failed:    {pending, 3},   // runs
		`{"Status":"FAILED","Error":{"ErrorType":"PermanentError","ErrorMessage":"stolen"}}`: {"", 2},
	} {
		memory := persistence.NewMemory()
		d := newDurable(t, memory)
		d.config.FailOpen = true
		d.answers(pending)
		d.wants(executionA, pending, 1)
		asked := 0
		d.store = lab.Before(memory, "acquire", func() error {
			if asked++; asked == 1 {
				return errDown
			}
			return nil
		})
		d.answers(answer)
		d.wants(executionA, answer, 2)
		d.store = memory
		d.answers(pending)
		if next.response == "" {
			d.refuses(executionB, "PermanentError", idempotent.CodeFailed, next.runs)
			continue
		}
		d.wants(executionB, next.response, next.runs)
	}
}
