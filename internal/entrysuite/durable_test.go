package entrysuite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/entrysuite"
	"github.com/ikkai-go/idempotency/persistence"
)

// invocationInput is what Lambda invokes a durable function with, and invocationOutput what
// that answers.
type (
	invocationInput struct {
		DurableExecutionArn, CheckpointToken string
		InitialExecutionState                struct{ Operations []operation }
	}
	operation struct {
		ID               string `json:"Id"`
		Type, Status     string
		StartTimestamp   time.Time
		ExecutionDetails struct{ InputPayload string }
	}
	invocationOutput struct {
		Status string
		Result string       `json:",omitempty"`
		Error  *objectError `json:",omitempty"`
	}
	objectError struct{ ErrorType, ErrorMessage, ErrorData string }
)

// openDurable has an execution of its own for each request, as each call of the function has.
func openDurable(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	handler := newGuard(t, store, c).Handler(func(ctx context.Context, e invocationInput) (invocationOutput, error) {
		var o order
		if err := json.Unmarshal([]byte(e.InitialExecutionState.Operations[0].ExecutionDetails.InputPayload), &o); err != nil {
			return invocationOutput{}, err
		}
		return outputOf(fn(ctx, o.request())), nil
	})
	executions := 0
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		executions++
		e := invocationInput{DurableExecutionArn: fmt.Sprintf("arn:aws:lambda:eu-west-1:123456789012:function:orders:7/durable-execution/%p/%d", handler, executions), CheckpointToken: "t"}
		e.InitialExecutionState.Operations = []operation{{ID: "1", Type: "EXECUTION", Status: "STARTED", StartTimestamp: time.Now()}}
		e.InitialExecutionState.Operations[0].ExecutionDetails.InputPayload = string(payload(r))
		w, err := invoke[invocationOutput](ctx, handler, e)
		if err != nil {
			return told("", err)
		}
		return durablyAnswered(w)
	}
}

// outputOf is what a durable SDK makes of a function's answer.
func outputOf(result string, err error) invocationOutput {
	if err != nil {
		return invocationOutput{Status: "FAILED", Error: &objectError{ErrorType: fmt.Sprintf("%T", err), ErrorMessage: err.Error()}}
	}
	encoded, _ := json.Marshal(result)
	return invocationOutput{Status: "SUCCEEDED", Result: string(encoded)}
}

// durablyAnswered is what the caller of an execution makes of its end.
func durablyAnswered(w invocationOutput) entrysuite.Answer {
	if w.Status == "SUCCEEDED" {
		var result string
		if json.Unmarshal([]byte(w.Result), &result) != nil {
			return entrysuite.Answer{Failed: true}
		}
		return told(result, nil)
	}
	a := told("", errors.New("failed"))
	var verdict struct {
		Code  idempotent.Code
		Done  string
		Retry bool
	}
	if w.Error != nil && json.Unmarshal([]byte(w.Error.ErrorData), &verdict) == nil {
		a.Verdict = idempotent.Verdict{Code: verdict.Code, Done: entrysuite.DoneOf(verdict.Done), Retry: verdict.Retry}
	}
	return a
}
