package idempotent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
)

// durableEvent is what Lambda invokes a durable function with, as far as it matters here.
type durableEvent struct {
	DurableExecutionArn   string
	CheckpointToken       string
	InitialExecutionState *struct {
		Operations []struct {
			Type             string
			StartTimestamp   instant
			ExecutionDetails struct{ InputPayload *string }
		}
		NextMarker string
	}
}

// openDurable recognises the event of a durable function, and returns the execution that it
// belongs to, with what the caller of that has sent. Any other event is returned as it is. One
// that names an execution of something else is refused: whoever has written that is not Lambda.
// So is one that can't be read, or lacks the input: as an event of its own each invocation would
// be another request.
func openDurable(ctx context.Context, payload []byte) (*execution, []byte, error) {
	// Without the quote in front, which JSON is full of, a search is ten times as fast.
	if !bytes.Contains(payload, []byte(`DurableExecutionArn"`)) {
		return nil, payload, nil
	}
	var e durableEvent
	unreadable := json.Unmarshal(payload, &e)
	if e.DurableExecutionArn == "" || e.CheckpointToken == "" && e.InitialExecutionState == nil {
		return nil, payload, nil
	}
	if !executes(ctx, e.DurableExecutionArn) {
		return nil, nil, errors.New("the event looks like that of a durable function, and is of no execution of this one")
	}
	x := &execution{arn: e.DurableExecutionArn}
	if unreadable != nil {
		return x, nil, errors.New("the event of a durable function has another form than is known here")
	}
	if e.InitialExecutionState == nil {
		return x, nil, errNoInput
	}
	operations := e.InitialExecutionState.Operations
	x.resumes = len(operations) > 1 || e.InitialExecutionState.NextMarker != ""
	for _, o := range operations {
		if o.Type == "EXECUTION" && o.ExecutionDetails.InputPayload != nil {
			x.started = o.StartTimestamp.Time
			return x, []byte(*o.ExecutionDetails.InputPayload), nil
		}
	}
	return x, nil, errNoInput
}

// errNoInput refuses an execution whose input Lambda has not sent along. The durable SDKs then
// ask its service for further pages; nobody here can.
var errNoInput = errors.New("the event of a durable function is without the input of its execution: there is none, or it is too large to come with the event")

// executes tells whether an execution may be one of the function that is invoked, as far as its
// ARN tells: that of the function and its version, followed by "/durable-execution/…". Outside
// of Lambda the function has none.
func executes(ctx context.Context, execution string) bool {
	if strings.Contains(execution, "#") { // it would be taken for another one: see execution.prefix
		return false
	}
	caller, ok := lambdacontext.FromContext(ctx)
	if !ok || caller.InvokedFunctionArn == "" {
		return true
	}
	function := caller.InvokedFunctionArn
	if fields := strings.SplitN(function, ":", 8); len(fields) == 8 { // the last one is an alias, or a version
		function = strings.TrimSuffix(function, ":"+fields[7])
	}
	return strings.HasPrefix(execution, function+":")
}

// durableResponse is what a durable function answers with.
type durableResponse struct {
	Status string
	Result *string       `json:",omitempty"`
	Error  *durableError `json:",omitempty"`
}

type durableError struct {
	ErrorType    string `json:",omitempty"`
	ErrorMessage string `json:",omitempty"`
	ErrorData    string `json:",omitempty"`
}

const (
	durableSucceeded = "SUCCEEDED"
	durableFailed    = "FAILED"
)

// take reads the answer of an invocation of a durable function. Only a success ends its
// request, and a failure its execution; whatever else it says, or is, the execution goes on.
func (x *execution) take(e *effect) error {
	if x == nil {
		return nil
	}
	if e.omit != nil { // the service does not get it either, and invokes the execution again
		e.done = false
		return e.omit
	}
	var r durableResponse
	if json.Unmarshal(e.result, &r) != nil {
		r.Status = ""
	}
	switch r.Status {
	case durableSucceeded:
		if r.Result != nil && *r.Result == "" {
			e.omit = errCheckpointed
		}
		return nil
	case durableFailed:
		e.done = false
		return failedExecution(r.Error)
	default:
		e.done = false
		return &suspension{}
	}
}

// suspension is how an invocation ends whose execution goes on: neither with a result nor with
// a failure. It never leaves the guard, but to those that observe it.
type suspension struct{ mark }

func (*suspension) Error() string { return "idempotent: the durable execution is suspended" }

// OfCall returns true: an invocation that is suspended is its call's.
func (*suspension) OfCall(string) bool { return true }

// Verdict is [VerdictOf] for an error that the call itself has made.
func (*suspension) Verdict() Verdict {
	return Verdict{Done: DoneMaybe, Retry: true, Code: CodeSuspended}
}

func isSuspension(err error) bool {
	_, ok := err.(*suspension) //nolint:errorlint // nobody wraps it
	return ok
}

// answerWith is the answer of an execution that has a recorded result. One of before the function
// was durable, or by which an operator has settled the request, is the result alone.
func (x *execution) answerWith(result []byte) []byte {
	if x == nil {
		return result
	}
	known := json.NewDecoder(bytes.NewReader(result))
	known.DisallowUnknownFields()
	var r durableResponse
	if known.Decode(&r) == nil && r.Status == durableSucceeded {
		return result
	}
	text := string(result)
	response, _ := json.Marshal(durableResponse{Status: durableSucceeded, Result: &text})
	return response
}

// errOfExecution is why a recorded result is no answer of a function that is not durable any more.
var errOfExecution = errors.New("it is the answer of a durable execution, and the function is not durable")

// failedExecution is the failure that an execution has answered with. A failure for good
// ([Permanent]) is known by its type's name, which is all that the answer has of it.
func failedExecution(e *durableError) error {
	if e == nil || typeName(e.ErrorType) != typeName(errorType(new(PermanentError))) {
		return errExecutionFailed
	}
	return &permanentExecution{&PermanentError{Type: typeName(e.ErrorType), Message: e.ErrorMessage}}
}

// permanentExecution is an errExecutionFailed that is recorded.
type permanentExecution struct{ *PermanentError }

// Is reports whether target is errExecutionFailed.
func (*permanentExecution) Is(target error) bool { return target == errExecutionFailed }

// Unwrap returns the failure for good.
func (p *permanentExecution) Unwrap() error { return p.PermanentError }

// errCheckpointed is why the result of an execution is not stored. It is larger than a
// response may be, and only the service has it.
var errCheckpointed = errors.New("idempotent: the execution's result is in its checkpoint, and not in the response")

// answer is what an invocation answers with that has ended with err: the function's own response,
// which says that its execution is suspended or has failed, or a refusal as one.
func (x *execution) answer(response []byte, err error) ([]byte, error) {
	switch {
	case err == nil, x == nil:
		return response, err
	case isSuspension(err), errors.Is(err, errExecutionFailed):
		return response, nil
	}
	if refused := x.refusal(err); refused != nil {
		return refused, nil
	}
	return nil, err
}

// refusal is the answer of an execution whose invocation was refused, and always would be:
// a response, since an error has Lambda invoke it again for hours. Any other error goes out
// as it is, and the execution goes on when it is invoked again.
func (x *execution) refusal(err error) []byte {
	if !origin.IsOwn(err) {
		return nil
	}
	v := VerdictOf(err)
	switch v.Code {
	case CodeInProgress: // for as long as the other execution takes
	case CodeNotStored, CodeStoreFailed, CodeNotStarted, CodeLeaseLost:
		return nil // of this execution, which owns the record
	default:
		if v.Retry {
			return nil
		}
	}
	data, _ := json.Marshal(struct {
		Code       Code    `json:"code"`
		Done       string  `json:"done"`
		Retry      bool    `json:"retry"`
		RetryAfter float64 `json:"retry_after,omitempty"`
	}{v.Code, v.Done.String(), v.Retry, v.After.Seconds()})
	response, _ := json.Marshal(durableResponse{Status: durableFailed, Error: &durableError{
		ErrorType: typeName(errorType(err)), ErrorMessage: err.Error(), ErrorData: string(data),
	}})
	return response
}

// errorType is the type of an error as Go prints it.
func errorType(err error) string { return fmt.Sprintf("%T", err) }

// typeName is the name of a type without its package, as Lambda has it.
func typeName(of string) string { return of[strings.LastIndexByte(of, '.')+1:] }
