package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// What Lambda invokes a durable function with, as the SDKs' own tests have it: first, and
// after a wait.
const (
	firstInvocation = `{"DurableExecutionArn":%q,"CheckpointToken":"token-1","InitialExecutionState":{"Operations":[` +
		`{"Id":"exec-1","Type":"EXECUTION","Status":"STARTED","StartTimestamp":%d,"ExecutionDetails":{"InputPayload":%q}}]}}`
	laterInvocation = `{"DurableExecutionArn":%q,"CheckpointToken":"token-2","UpdatedOperationIds":["2"],"InitialExecutionState":{"Operations":[` +
		`{"Id":"exec-1","Type":"EXECUTION","Status":"STARTED","StartTimestamp":%d,"ExecutionDetails":{"InputPayload":%q}},` +
		`{"Id":"1","Type":"STEP","Status":"SUCCEEDED","Name":"reserve","StartTimestamp":%[2]d,"EndTimestamp":%[2]d,"StepDetails":{"Attempt":1,"Result":"\"box 7\""}},` +
		`{"Id":"2","Type":"WAIT","Status":"SUCCEEDED","StartTimestamp":%[2]d,"WaitDetails":{"ScheduledEndTimestamp":%[2]d}}],"NextMarker":""}}`

	pending   = `{"Status":"PENDING"}`
	succeeded = `{"Status":"SUCCEEDED","Result":"\"receipt 1\""}`
	failed    = `{"Status":"FAILED","Error":{"ErrorType":"CardError","ErrorMessage":"the card is stolen"}}`

	failedForGood = `{"Status":"FAILED","Error":{"ErrorType":"PermanentError","ErrorMessage":"the card is stolen"}}`
)

const (
	executionA = "arn:aws:lambda:eu-west-1:123456789012:function:orders:7/durable-execution/a/0f0e"
	executionB = "arn:aws:lambda:eu-west-1:123456789012:function:orders:7/durable-execution/b/1a1b"
	executionC = "arn:aws:lambda:eu-west-1:123456789012:function:orders:8/durable-execution/c/2a2b"
)

// durable is a durable function under a guard, and what it answers next.
type durable struct {
	t       *testing.T
	store   persistence.Store
	config  idempotent.Config
	started map[string]time.Time
	events  []idempotent.EventKind
	runs    int
	// says is what the function answers, and then does.
	says func(ctx context.Context) (json.RawMessage, error)
}

func newDurable(t *testing.T, store persistence.Store) *durable {
	return &durable{t: t, store: store, started: make(map[string]time.Time)}
}

func (d *durable) answers(response string) {
	d.says = func(context.Context) (json.RawMessage, error) { return json.RawMessage(response), nil }
}

// invoke invokes the function for an execution of order 1, in an environment of its own.
func (d *durable) invoke(execution string) (string, error) {
	d.t.Helper()
	form := laterInvocation
	if d.started[execution].IsZero() {
		form, d.started[execution] = firstInvocation, time.Now()
	}
	return d.send(fmt.Sprintf(form, execution, d.started[execution].UnixMilli(), `{"id":"order 1"}`))
}

func (d *durable) send(event string) (string, error) {
	d.t.Helper()
	config := d.config
	config.Observe = func(_ context.Context, e idempotent.Event) { d.events = append(d.events, e.Kind) }
	guard := newTestGuard(d.t, &lab.Another{Store: d.store}, config)
	ctx, cancel := context.WithTimeout(d.t.Context(), 15*time.Minute)
	defer cancel()
	response, err := guard.Handler(func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		d.runs++
		return d.says(ctx)
	}).Invoke(ctx, []byte(event))
	return string(response), err
}

// wants says if an invocation is answered otherwise, or if the function has run otherwise.
func (d *durable) wants(execution, response string, runs int) {
	d.t.Helper()
	got, err := d.invoke(execution)
	if err != nil || got != response {
		d.t.Errorf("%s: got %s, %v; want %s", execution, got, err, response)
	}
	d.wantRuns(runs)
}

func (d *durable) wantRuns(want int) {
	d.t.Helper()
	if d.runs != want {
		d.t.Errorf("the function has run %d times, want %d", d.runs, want)
	}
}

// refuses says if an invocation is not answered as one of an execution that is over.
func (d *durable) refuses(execution, errorType string, code idempotent.Code, runs int) {
	d.t.Helper()
	got, err := d.invoke(execution)
	var r struct {
		Status string
		Error  struct{ ErrorType, ErrorMessage, ErrorData string }
	}
	if err != nil || json.Unmarshal([]byte(got), &r) != nil || r.Status != "FAILED" || r.Error.ErrorType != errorType ||
		!strings.Contains(r.Error.ErrorData, fmt.Sprintf("%q:%q", "code", code)) {
		d.t.Errorf("%s: got %s, %v; want a FAILED %s with the code %s", execution, got, err, errorType, code)
	}
	d.wantRuns(runs)
}

func TestASuspensionIsNeitherAResultNorADuplicate(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		d := newDurable(t, store)
		d.answers(pending)
		d.wants(executionA, pending, 1)
		for range 3 { // months of waiting
			time.Sleep(70 * 24 * time.Hour)
			d.refuses(executionB, "InProgressError", idempotent.CodeInProgress, d.runs)
			d.wants(executionA, pending, d.runs+1)
		}
		d.answers(succeeded)
		d.wants(executionA, succeeded, 5)
		d.wants(executionB, succeeded, 5)
		d.wants(executionA, succeeded, 5) // its answer was lost
		for _, kind := range d.events {
			if kind == idempotent.EventTakenOver {
				t.Errorf("a resume is told as a run that died: %v", d.events)
			}
		}
		time.Sleep(25 * time.Hour)
		d.wants(executionB, succeeded, 6) // the outcome has expired, after its TTL
	})
}

func TestAnExecutionGoesOnAtOnceWhereItsInvocationDied(t *testing.T) {
	tests := map[string]func(context.Context) (json.RawMessage, error){
		"an error":               func(context.Context) (json.RawMessage, error) { return nil, errors.New("no checkpoint") },
		"an answer of no status": func(context.Context) (json.RawMessage, error) { return json.RawMessage(`{"Status":"PAUSED"}`), nil },
		"no answer at all":       func(context.Context) (json.RawMessage, error) { return json.RawMessage(`null`), nil },
	}
	for name, dies := range tests {
		t.Run(name, func(t *testing.T) {
			lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
				d := newDurable(t, store)
				d.says = dies
				_, _ = d.invoke(executionA)
				d.refuses(executionB, "InProgressError", idempotent.CodeInProgress, 1)
				d.answers(succeeded)
				d.wants(executionA, succeeded, 2)
			})
		})
	}
	t.Run("a panic", func(t *testing.T) {
		lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
			d := newDurable(t, store)
			d.config.RefuseUnknown = true
			d.says = func(context.Context) (json.RawMessage, error) { panic("out of memory") }
			func() {
				defer func() { _ = recover() }()
				_, _ = d.invoke(executionA)
			}()
			d.answers(succeeded)
			d.wants(executionA, succeeded, 2)
		})
	})
}

func TestAFailedExecutionGivesItsRequestUp(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		d := newDurable(t, store)
		d.answers(pending)
		d.wants(executionA, pending, 1)
		d.answers(failed)
		d.wants(executionA, failed, 2)
		d.answers(succeeded)
		d.wants(executionB, succeeded, 3)
	})
}

func TestAZombieOfAnEarlierInvocationRecordsNothing(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		for name, zombie := range map[string]string{"success": succeeded, "failure": failed, "failure-for-good": failedForGood, "suspension": pending} {
			d := newDurable(t, store)
			d.config.Operation = "after-" + name
			const later = `{"Status":"SUCCEEDED","Result":"\"receipt 2\""}`
			d.says = func(context.Context) (json.RawMessage, error) {
				d.answers(pending)
				d.wants(executionA, pending, 2) // invoked again, while this one still runs
				return json.RawMessage(zombie), nil
			}
			got, err := d.invoke(executionA)
			if lost := errors.Is(err, idempotent.ErrLeaseLost); lost != (zombie != pending) {
				t.Errorf("%s: the zombie is answered %s, %v", name, got, err)
			}
			d.refuses(executionB, "InProgressError", idempotent.CodeInProgress, 2)
			d.answers(later)
			d.wants(executionA, later, 3)
			d.wants(executionB, later, 3)
		}
	})
}

// An invocation whose claim is late by more than the next one needs to begin has the record then,
// and the next one, which its service goes by, can't end the execution. It is invoked once more.
func TestAnOldInvocationThatWakesUpCostsTheNewerOneARetry(t *testing.T) {
	for name, test := range map[string]struct{ old, newer string }{
		"the old one is suspended":            {pending, succeeded},
		"its checkpoint is refused":           {"", succeeded},
		"the newer one has failed":            {pending, failed},
		"the newer one has failed, as it has": {"", failed},
	} {
		t.Run(name, func(t *testing.T) {
			lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
				d := newDurable(t, store)
				d.started[executionA] = time.Now()
				old := fmt.Sprintf(firstInvocation, executionA, time.Now().UnixMilli(), `{"id":"order 1"}`)
				d.says = func(context.Context) (json.RawMessage, error) { // the newer one
					d.says = func(context.Context) (json.RawMessage, error) {
						if test.old == "" {
							return nil, errors.New("invalid checkpoint token")
						}
						return json.RawMessage(test.old), nil
					}
					_, _ = d.send(old)
					return json.RawMessage(test.newer), nil
				}
				if got, err := d.invoke(executionA); !errors.Is(err, idempotent.ErrLeaseLost) {
					t.Errorf("the newer one is answered %s, %v", got, err)
				}
				d.refuses(executionB, "InProgressError", idempotent.CodeInProgress, 2)
				d.answers(test.newer)
				d.wants(executionA, test.newer, 3)
				if test.newer == failed {
					d.answers(succeeded)
					d.wants(executionB, succeeded, 4)
					return
				}
				d.wants(executionB, succeeded, 3)
			})
		})
	}
}

// A claim that comes after the end of its execution finds no record where that has failed. It is
// nobody's then, as that of an execution which was stopped.
func TestAnInvocationThatWakesUpAfterItsExecutionHasFailedLocksTheKey(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		d := newDurable(t, store)
		d.config.ExecutionTimeout = time.Hour
		old := fmt.Sprintf(firstInvocation, executionA, time.Now().UnixMilli(), `{"id":"order 1"}`)
		d.started[executionA] = time.Now()
		d.answers(failed)
		d.wants(executionA, failed, 1)
		d.says = func(context.Context) (json.RawMessage, error) { return nil, errors.New("invalid checkpoint token") }
		_, _ = d.send(old)
		d.refuses(executionB, "InProgressError", idempotent.CodeInProgress, 2)
		time.Sleep(time.Hour + time.Second) // virtual
		d.answers(succeeded)
		d.wants(executionC, succeeded, 3)
	})
}

// An execution ends with the answer that it has failed: nobody would give its key up after that.
// So the answer is an error for as long as the record does not say so.
func TestAnExecutionDoesNotFailBeforeItsRecordSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		done   func(*durable) // says if another execution does not find it failed
	}{
		"failed": {failed, func(d *durable) {
			d.answers(succeeded)
			d.wants(executionB, succeeded, 3)
		}},
		"failed for good": {failedForGood, func(d *durable) { d.refuses(executionB, "PermanentError", idempotent.CodeFailed, 2) }},
	} {
		t.Run(name, func(t *testing.T) {
			memory := persistence.NewMemory()
			for _, failOpen := range []bool{false, true} {
				d := newDurable(t, lab.Dying(memory, errDown))
				d.config = idempotent.Config{Operation: fmt.Sprintf("payment-%t", failOpen), FailOpen: failOpen}
				d.answers(test.answer)
				if got, err := d.invoke(executionA); !errors.Is(err, idempotent.ErrStore) || idempotent.VerdictOf(err).Code != idempotent.CodeNotStored {
					t.Errorf("answered %s, %v", got, err)
				}
				d.store = memory
				d.wants(executionA, test.answer, 2)
				test.done(d)
			}
		})
	}
}

func TestAnExecutionThatIsOverUnseenLocksItsKeyUntilItsTimeoutOnly(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		d := newDurable(t, store)
		d.config.ExecutionTimeout = 48 * time.Hour
		d.answers(pending)
		d.wants(executionA, pending, 1)
		time.Sleep(24 * time.Hour)
		d.wants(executionA, pending, 2) // its timeout counts from its start
		time.Sleep(24 * time.Hour)
		d.refuses(executionB, "InProgressError", idempotent.CodeInProgress, 2)
		time.Sleep(time.Second)
		d.answers(succeeded)
		d.wants(executionC, succeeded, 3)
		if last := d.events[len(d.events)-2:]; !slices.Equal(last, []idempotent.EventKind{idempotent.EventTakenOver, idempotent.EventExecuted}) {
			t.Errorf("nobody is told that the other one has ended unseen: %v", last)
		}
		d.wants(executionA, succeeded, 3) // not stopped after all
	})
}

// Whether an execution that has ended unseen has done anything is not known.
func TestAnExecutionThatIsOverUnseenIsRefusedWhereThatIsWanted(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		d := newDurable(t, store)
		d.config = idempotent.Config{ExecutionTimeout: 48 * time.Hour, TTL: time.Hour, RefuseUnknown: true}
		d.answers(pending)
		d.wants(executionA, pending, 1)
		time.Sleep(48*time.Hour + time.Minute) // virtual
		d.refuses(executionB, "OutcomeUnknownError", idempotent.CodeOutcomeUnknown, 1)
		d.wants(executionA, pending, 2) // which may know it
	})
}

func TestAResultThatOnlyTheServiceHasIsNotReplayedAsAnEmptyOne(t *testing.T) {
	d := newDurable(t, persistence.NewMemory())
	const checkpointed = `{"Status":"SUCCEEDED","Result":""}`
	d.answers(checkpointed)
	d.wants(executionA, checkpointed, 1)
	d.refuses(executionB, "ResultNotStoredError", idempotent.CodeResultNotStored, 1)
	d.config.Operation = "without-result"
	const nothing = `{"Status":"SUCCEEDED"}`
	d.answers(nothing)
	d.wants(executionA, nothing, 2)
	d.wants(executionB, nothing, 2)
}

// An execution whose answer was lost has succeeded, also where its result is not recorded: the
// function has it. A duplicate has not.
func TestAnExecutionWhoseAnswerWasLostIsAnsweredByItsFunction(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		d := newDurable(t, store)
		d.config.OnlyLock = true
		d.answers(succeeded)
		d.wants(executionA, succeeded, 1)
		d.wants(executionA, succeeded, 2)
		d.refuses(executionB, "ResultNotStoredError", idempotent.CodeResultNotStored, 2)
		d.says = func(context.Context) (json.RawMessage, error) { return nil, errDown }
		if got, err := d.invoke(executionA); !errors.Is(err, errDown) {
			t.Errorf("got %s, %v", got, err)
		}
		d.answers(succeeded)
		d.wants(executionA, succeeded, 4)
		d.refuses(executionB, "ResultNotStoredError", idempotent.CodeResultNotStored, 4)
	})
}

func TestWhatPassesHasAnExecutionInvokedAgain(t *testing.T) {
	memory := persistence.NewMemory()
	d := newDurable(t, memory)
	d.answers(succeeded)
	d.store = lab.Around(memory, func(_, _ string, do func() error) error { return errors.Join(do(), errDown) })
	if got, err := d.invoke(executionA); !errors.Is(err, idempotent.ErrStore) {
		t.Errorf("an acquire without an answer: %s, %v", got, err)
	}
	d.store = memory
	d.refuses(executionB, "InProgressError", idempotent.CodeInProgress, 0) // it was applied
	d.wants(executionA, succeeded, 1)
}
