package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// Beside is what an execution that is suspended, dead or under way keeps others from.
const Beside Promise = "no execution runs beside another one that is not over"

// Freed is what whoever is told that an execution is over may rely on: nothing of it comes any
// more that could give its record up.
const Freed Promise = "no execution ends and holds its record"

// executionTimeout is how long an execution may live, and invocationsApart how many there
// are: callers are their invocations in turn.
const (
	executionTimeout = 30 * time.Second
	invocationsApart = 2
)

// Executions is the system with a durable function: each caller is an invocation of one of
// two executions of the same request.
func (s System) Executions() System {
	s.Name += ", two executions"
	s.Durable = true
	return s
}

// execution is a durable execution, as its service knows it.
type execution struct {
	arn     string
	started time.Time // of its first invocation
	entered bool      // an invocation of it has run the function
	over    bool      // it has recorded its end
}

func (w *world) newExecution() *execution {
	x := &execution{arn: fmt.Sprintf("arn:execution/%d", len(w.executions))}
	w.executions = append(w.executions, x)
	return x
}

// succeeded tells whether another process has no lease to lose any more: that was its
// execution's, and a later invocation has it, or has ended it. Its service takes no answer
// or checkpoint of such a zombie either.
func (w *world) succeeded(p, other *Process) bool {
	return w.system.Durable && (p.execution == other.execution || other.execution.over)
}

// judgeBeside judges the start of a run beside other executions.
func (w *world) judgeBeside(p *Process) {
	if !w.system.Durable {
		return
	}
	p.execution.entered = true
	for _, x := range w.executions {
		if x != p.execution && x.entered && !x.over && w.now().Add(Allowance).Before(x.started.Add(executionTimeout)) {
			w.violate(Beside, "%s runs for %s, and %s is not over", p.name, p.execution.arn, x.arn)
		}
	}
}

// judgeFreed judges an answer that ends its execution. Its service goes by that of the newest
// invocation. A late copy of a claim leaves a record of nobody, here as everywhere.
func (w *world) judgeFreed(p *Process) {
	if !w.system.Durable || p.err != nil && !p.failed || w.faultsLeft < w.bounds.Faults {
		return
	}
	for _, newer := range w.processes[p.index+1:] {
		if newer.execution == p.execution && newer.begun {
			return
		}
	}
	if r := w.record; r.exists && r.Status == persistence.StatusProcessing && strings.HasPrefix(r.Owner, p.execution.arn+"#") {
		w.violate(Freed, "%s ends %s, and there is %s", p.name, p.execution.arn, w.describe(r))
	}
}

// endExecution notes that an invocation has recorded the end of its execution.
func (w *world) endExecution(p *Process) {
	if w.system.Durable {
		p.execution.over = true
	}
}

// goesOn is the process itself where its execution is invoked again, and nil where that is
// over: its caller then has to begin another.
func (w *world) goesOn(p *Process) *Process {
	if p.failed {
		return nil
	}
	return p
}

// longest is how long a record may be locked.
func (w *world) longest() time.Duration {
	if w.system.Durable {
		return executionTimeout + 2*Allowance
	}
	return callTimeout + 2*Allowance
}

func (w *world) writeExecutions(d *digest) {
	if !w.system.Durable {
		return
	}
	for _, x := range w.executions {
		d.time(x.started)
		d.flag(x.entered)
		d.flag(x.over)
	}
}

// output is what an invocation of a durable function answers.
type output struct {
	Status string
	Result string
	Error  *failing `json:",omitempty"`
}

type failing struct{ ErrorType, ErrorMessage, ErrorData string }

const succeeded = "SUCCEEDED"

// errSuspended is the answer of an invocation that is suspended.
var errSuspended = errors.New("explore: the execution is suspended")

// durably is the protocol of an invocation of the process's execution.
func durably(p *Process, store persistence.Store, config idempotent.Config) (Protocol, error) {
	config.Key = idempotency.WholePayload()
	config.ExecutionTimeout = executionTimeout
	guard, err := idempotent.New(seen{Store: spoiledFor(p, store), p: p}, config)
	if err != nil {
		return nil, err
	}
	x := p.execution
	if x.started.IsZero() {
		x.started = p.world.now()
	}
	event := fmt.Sprintf(`{"DurableExecutionArn":%q,"CheckpointToken":%q,"InitialExecutionState":{"Operations":[{"Type":"EXECUTION","StartTimestamp":%d,"ExecutionDetails":{"InputPayload":"1"}}]}}`,
		x.arn, p.name, x.started.UnixMilli())
	return func(ctx context.Context, run func(context.Context) (string, error)) (string, error) {
		response, err := guard.Handler(func(ctx context.Context, _ json.RawMessage) (output, error) {
			result, err := run(ctx)
			return outputOf(result, err), nil
		}).Invoke(ctx, []byte(event))
		if err != nil {
			return "", err
		}
		return p.reads(response)
	}, nil
}

// outputOf is what a durable SDK makes of a function's answer.
func outputOf(result string, err error) output {
	switch {
	case errors.Is(err, errSuspended):
		return output{Status: "PENDING"}
	case err != nil:
		return output{Status: "FAILED", Error: &failing{ErrorType: fmt.Sprintf("%T", err), ErrorMessage: err.Error()}}
	}
	encoded, _ := json.Marshal(result)
	return output{Status: succeeded, Result: string(encoded)}
}

// reads is what the execution's service makes of an answer, and its caller then.
func (p *Process) reads(response []byte) (string, error) {
	var o output
	if err := json.Unmarshal(response, &o); err != nil {
		return "", err
	}
	switch o.Status {
	case succeeded:
		return string(plain([]byte(o.Result))), nil
	case "PENDING":
		return "", errSuspended
	}
	p.failed = true
	var told struct {
		Code       idempotent.Code
		RetryAfter float64 `json:"retry_after"`
	}
	_ = json.Unmarshal([]byte(o.Error.ErrorData), &told) // empty for the function's own
	switch {
	case told.Code == idempotent.CodeInProgress:
		return "", marked{&idempotent.InProgressError{RetryAfter: time.Duration(told.RetryAfter * float64(time.Second))}, ErrRejected}
	case told.Code == idempotent.CodeFailed || p.declined:
		return "", marked{&idempotent.PermanentError{Message: o.Error.ErrorMessage}, ErrFailed}
	default:
		return "", errTryAgain
	}
}
