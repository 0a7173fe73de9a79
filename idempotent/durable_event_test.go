package idempotent_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestKeysOfDurableFunctionsAreSelectedFromWhatTheCallerHasSent(t *testing.T) {
	store := persistence.NewMemory()
	d := newDurable(t, store)
	d.answers(pending)
	d.wants(executionA, pending, 1)
	key, err := newTestGuard(t, &lab.Another{Store: store}, idempotent.Config{}).RecordKey(t.Context(), []byte(`{"id":"order 1"}`))
	if err != nil {
		t.Fatal(err)
	}
	records := store.Records()
	if len(records) != 1 || records[0].Key != key || !strings.HasPrefix(records[0].Owner, executionA+"#") {
		t.Errorf("got %+v, want one record of %s, whose owner names the execution", records, key)
	}
	for name, event := range map[string]string{
		"no input":      `{"DurableExecutionArn":"arn","CheckpointToken":"t","InitialExecutionState":{"Operations":[{"Id":"1","Type":"EXECUTION"}]}}`,
		"no operations": `{"DurableExecutionArn":"arn","CheckpointToken":"t","InitialExecutionState":{"Operations":[]}}`,
		"no JSON":       fmt.Sprintf(firstInvocation, executionB, 0, `order 1`),
		"no key":        fmt.Sprintf(firstInvocation, executionB, 0, `{"ID":"order 1"}`),
	} {
		got, err := d.send(event)
		if err != nil || !strings.Contains(got, `"Status":"FAILED"`) || !strings.Contains(got, `"ErrorType":"KeyError"`) {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	d.wantRuns(1)
}

func TestAnEventThatOnlyLooksDurableIsOneOfItsOwn(t *testing.T) {
	d := newDurable(t, persistence.NewMemory())
	d.answers(`"receipt"`)
	for i, event := range []string{
		`{"id":"1","note":"\"DurableExecutionArn\" \"InitialExecutionState\""}`,
		`{"id":"2","DurableExecutionArn":"","InitialExecutionState":{}}`,
		`{"id":"3","DurableExecutionArn":"arn","InitialExecutionState":null}`,
	} {
		if got, err := d.send(event); err != nil || got != `"receipt"` || d.runs != i+1 {
			t.Errorf("%s: got %s, %v", event, got, err)
		}
	}
}

const envelope = `{"DurableExecutionArn":%q,"CheckpointToken":"t","InitialExecutionState":%s}`

// execOperation is the operation of an execution, with its input.
const execOperation = `{"Id":"e","Type":"EXECUTION","Status":"STARTED","StartTimestamp":%s,"ExecutionDetails":{"InputPayload":"{\"id\":\"order 1\"}"}}`

// The input is that of the operation of the execution, wherever that stands. What is not known of
// the event is of no matter; but an event that is not understood is refused, since as one of its own
// each invocation would be another request.
func TestTheInputOfAnExecutionIsFoundOrItIsRefused(t *testing.T) {
	exec := fmt.Sprintf(execOperation, `"2026-11-30T21:00:00.5Z"`)
	const step = `{"Id":"1","Type":"STEP","Status":"SUCCEEDED","ExecutionDetails":null,"StepDetails":{"Result":"{\"id\":\"order 2\"}"}}`
	for name, test := range map[string]struct {
		state string
		runs  bool
	}{
		"first":                     {`{"Operations":[` + exec + `]}`, true},
		"behind a step":             {`{"Operations":[` + step + `,` + exec + `]}`, true},
		"with further pages":        {`{"Operations":[` + exec + `,` + step + `],"NextMarker":"page 2"}`, true},
		"no further page":           {`{"Operations":[` + exec + `],"NextMarker":null}`, true},
		"members not known yet":     {`{"Operations":[{"Kind":1,` + exec[1:] + `],"Region":{"A":[1]},"Count":1}`, true},
		"on another page":           {`{"Operations":[],"NextMarker":"page 1"}`, false},
		"on another page, behind":   {`{"Operations":[` + step + `],"NextMarker":"page 2"}`, false},
		"no operations":             {`{"Operations":null}`, false},
		"no state":                  {`null`, false},
		"without a payload":         {`{"Operations":[{"Type":"EXECUTION","ExecutionDetails":{}}]}`, false},
		"a payload of a step":       {`{"Operations":[` + strings.Replace(exec, "EXECUTION", "STEP", 1) + `]}`, false},
		"operations by their id":    {`{"Operations":{"e":` + exec + `}}`, false},
		"a payload that is no text": {`{"Operations":[{"Type":"EXECUTION","ExecutionDetails":{"InputPayload":{"id":"order 1"}}}]}`, false},
		"a marker that is no text":  {`{"Operations":[` + exec + `],"NextMarker":{"page":2}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			memory := persistence.NewMemory()
			d := newDurable(t, memory)
			d.config.RunWithoutKey = true // what can't be understood is not without a key
			d.answers(pending)
			got, err := d.send(fmt.Sprintf(envelope, executionA, test.state))
			if err != nil {
				t.Fatal(err)
			}
			if test.runs {
				d.wantRuns(1)
				d.refuses(executionB, "InProgressError", idempotent.CodeInProgress, 1) // of the same order
				return
			}
			d.wantRuns(0)
			if !strings.Contains(got, `"Status":"FAILED"`) || !strings.Contains(got, `"ErrorType":"KeyError"`) || len(memory.Records()) != 0 {
				t.Errorf("got %s, and %d records", got, len(memory.Records()))
			}
			if strings.Contains(got, "order") {
				t.Errorf("the answer quotes the payload: %s", got)
			}
		})
	}
}

// An execution may live for a year: its record is kept for as long, however short the TTL of outcomes
// is, and its lease counts from the start of the execution, in whatever form that is told.
func TestTheRecordOfAnExecutionIsKeptForAsLongAsThatMayLive(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	ago := now.Add(-time.Hour)
	for name, test := range map[string]struct {
		told  string
		start time.Time
	}{
		"a text":                  {`"` + ago.UTC().Format(time.RFC3339Nano) + `"`, ago},
		"a text in another zone":  {`"` + ago.In(time.FixedZone("", 9*3600)).Format(time.RFC3339) + `"`, ago},
		"milliseconds":            {fmt.Sprint(ago.UnixMilli()), ago},
		"seconds":                 {fmt.Sprint(ago.Unix()), ago},
		"seconds with a fraction": {fmt.Sprintf("%d.250", ago.Unix()), ago.Add(250 * time.Millisecond)},
		"nothing":                 {`null`, now},
		"not understood":          {`{"at":1}`, now},
		"in the future":           {fmt.Sprint(now.Add(time.Hour).UnixMilli()), now},
	} {
		for _, timeout := range []time.Duration{0, 90 * time.Minute} {
			t.Run(fmt.Sprint(name, timeout), func(t *testing.T) {
				memory := persistence.NewMemory()
				d := newDurable(t, memory)
				d.config.TTL, d.config.ExecutionTimeout = time.Second, timeout
				d.answers(pending)
				if _, err := d.send(fmt.Sprintf(envelope, executionA, `{"Operations":[`+fmt.Sprintf(execOperation, test.told)+`]}`)); err != nil {
					t.Fatal(err)
				}
				if timeout == 0 {
					timeout = 366 * 24 * time.Hour
				}
				r := memory.Records()[0]
				if late := r.LeaseUntil.Sub(test.start.Add(timeout)); late < 0 || late > time.Minute {
					t.Errorf("the lease ends at %v, which is %v from where it should", r.LeaseUntil, late)
				}
				if r.ExpiresAt.Before(r.LeaseUntil) {
					t.Errorf("the record expires at %v, before its lease ends at %v", r.ExpiresAt, r.LeaseUntil)
				}
			})
		}
	}
}

// The ARN of an execution has that of a version of the function, and up to 1,024 characters. A
// deployment is no end of the executions of the version before.
func TestExecutionsOfAllVersionsAreThoseOfOneFunction(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		const function = "arn:aws-cn:lambda:cn-north-1:123456789012:function:orders:"
		d := newDurable(t, store)
		d.answers(pending)
		long := function + "7/durable-execution/" + strings.Repeat("n", 1024)
		long = long[:1024-len("/0f0e")] + "/0f0e"
		d.wants(long, pending, 1)
		for _, other := range []string{"8/durable-execution/a/0f0e", "$LATEST/durable-execution/a/0f0e", "$LATEST.PUBLISHED/durable-execution/a/0f0e"} {
			d.refuses(function+other, "InProgressError", idempotent.CodeInProgress, 1)
		}
		d.refuses(strings.TrimSuffix(long, "e"), "InProgressError", idempotent.CodeInProgress, 1) // its name begins alike
		d.wants(long, pending, 2)
	})
}

// A function may become durable, and cease to be: what was recorded before is answered in the form of
// the call, or refused. So is what an operator says a request has come to.
func TestResultsAreAnsweredInTheFormOfTheCall(t *testing.T) {
	plain := []byte(`{"id":"order 1"}`)
	for result, want := range map[string]string{
		`"receipt 1"`:                   succeeded,
		`{"Status":"SHIPPED"}`:          `{"Status":"SUCCEEDED","Result":"{\"Status\":\"SHIPPED\"}"}`,
		`{"Status":"SUCCEEDED","Id":1}`: `{"Status":"SUCCEEDED","Result":"{\"Status\":\"SUCCEEDED\",\"Id\":1}"}`,
		succeeded:                       succeeded,
	} {
		memory := persistence.NewMemory()
		handler := newTestGuard(t, &lab.Another{Store: memory}, idempotent.Config{}).Handler(func() (json.RawMessage, error) { return json.RawMessage(result), nil })
		if got, err := handler.Invoke(t.Context(), plain); err != nil || string(got) != result {
			t.Fatalf("got %s, %v", got, err)
		}
		d := newDurable(t, memory)
		d.wants(executionA, want, 0)
	}
	memory := persistence.NewMemory()
	d := newDurable(t, memory)
	d.answers(succeeded)
	d.wants(executionA, succeeded, 1)
	handler := newTestGuard(t, &lab.Another{Store: memory}, idempotent.Config{}).Handler(func() { t.Error("it runs") })
	if got, err := handler.Invoke(t.Context(), plain); idempotent.VerdictOf(err).Code != idempotent.CodeReplayUnreadable || strings.Contains(fmt.Sprint(err), "receipt") {
		t.Errorf("got %s, %v", got, err)
	}
}

// What the SDK's Wrap returns is a function of raw bytes, for which Lambda's own handler takes base64.
func TestAFunctionOfBytesGetsTheEventOfItsExecutionAsItIs(t *testing.T) {
	event := fmt.Sprintf(firstInvocation, executionA, 0, `{"id":"order 1"}`)
	for name, test := range map[string]struct{ event, gets, answers string }{
		"an execution":  {event, event, pending},
		"another event": {`"aGVsbG8="`, "hello", `"` + base64.StdEncoding.EncodeToString([]byte(pending)) + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			type wrapped func(context.Context, []byte) ([]byte, error)
			fn := func(_ context.Context, payload []byte) ([]byte, error) {
				if string(payload) != test.gets {
					t.Errorf("the function gets %s, want %s", payload, test.gets)
				}
				return []byte(pending), nil
			}
			for _, function := range []any{fn, wrapped(fn)} {
				handler := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Key: idempotency.WholePayload()}).Handler(function)
				if got, err := handler.Invoke(t.Context(), []byte(test.event)); err != nil || string(got) != test.answers {
					t.Errorf("%T: got %s, %v, want %s", function, got, err, test.answers)
				}
			}
		})
	}
}
