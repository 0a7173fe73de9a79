package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// What a month is reckoned from is what the embedded DynamoDB charges for a first run and for a
// duplicate. The sizes are not at the borders of units: records outside of Lambda are smaller.
func TestTheReckoningIsWhatIsCharged(t *testing.T) {
	for _, result := range []int{100, 500, 1500, 6000, 50_000} {
		for _, readFirst := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, ReadFirst %v", result, readFirst), func(t *testing.T) {
				db, store := embedded.Store(t, dynamostore.Config{})
				guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", ReadFirst: readFirst})
				if err != nil {
					t.Fatal(err)
				}
				load := Load{Requests: 1, Duplicates: 1, Result: result + len(`""`), ReadFirst: readFirst, TTL: 24 * time.Hour}
				for i, line := range load.Lines()[:2] {
					db.ResetLog()
					_, err := idempotent.Do(t.Context(), guard, "4711", func(context.Context) (string, error) { return strings.Repeat("x", result), nil })
					if err != nil {
						t.Fatal(err)
					}
					charged := dynamotest.Capacity{}
					for _, request := range db.Requests() {
						charged = charged.Plus(request.Capacity)
					}
					if charged.Write != line.Writes || charged.Read != line.Reads {
						t.Errorf("call %d (%s) is charged %+v, and reckoned as %v write and %v read units", i+1, line.Path, charged, line.Writes, line.Reads)
					}
				}
			})
		}
	}
}

// TestTheReckoningOfStepsAndEventsIsWhatIsCharged, of records that grow over several units, and that keep
// an event until they are finished.
func TestTheReckoningOfStepsAndEventsIsWhatIsCharged(t *testing.T) {
	name, version := lambdacontext.FunctionName, lambdacontext.FunctionVersion
	t.Cleanup(func() { lambdacontext.FunctionName, lambdacontext.FunctionVersion = name, version })
	lambdacontext.FunctionName, lambdacontext.FunctionVersion = "payment", "$LATEST"
	for _, c := range []struct{ steps, output, result, event int }{
		{1, 64, 100, 0}, {3, 64, 100, 0}, {3, 1500, 100, 0}, {12, 450, 2100, 0},
		{0, 0, 100, 300}, {0, 0, 100, 10_000}, {0, 0, 9000, 3000}, {3, 64, 100, 2000}, {3, 64, 100, 64 << 10}, {3, 64, 100, 64<<10 + 1},
	} {
		db, store := embedded.Store(t, dynamostore.Config{})
		var steps []*saga.Step[string]
		var declared []saga.Declaration
		for n := range c.steps {
			step := saga.NewStep(saga.Spec[string]{Name: fmt.Sprintf("step-%011d", n)})
			steps, declared = append(steps, step), append(declared, step)
		}
		guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", Steps: saga.Steps(declared...), KeepEvent: c.event > 0})
		if err != nil {
			t.Fatal(err)
		}
		load := Load{Requests: 1, Duplicates: 1, Result: c.result + 2, Steps: c.steps, StepOutput: c.output + 2, Event: c.event, TTL: time.Hour}
		guard = guard.KeepingEvent(func() []byte { return []byte(strings.Repeat("e", c.event)) })
		for i, line := range load.Lines()[:2] {
			db.ResetLog()
			ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"})
			_, err := idempotent.Do(ctx, guard, "4711", func(ctx context.Context) (string, error) {
				for _, step := range steps {
					if _, err := step.Run(ctx, func(context.Context, saga.Call) (string, error) { return strings.Repeat("x", c.output), nil }); err != nil {
						return "", err
					}
				}
				return strings.Repeat("x", c.result), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			charged := dynamotest.Capacity{}
			for _, request := range db.Requests() {
				charged = charged.Plus(request.Capacity)
			}
			if charged.Write != line.Writes {
				t.Errorf("%+v, call %d: is charged %v, and reckoned as %v write units", c, i+1, charged.Write, line.Writes)
			}
		}
	}
}

func TestAMonth(t *testing.T) {
	var out strings.Builder
	load := Load{Requests: 1e6, Duplicates: 0.1, Result: 512, Steps: 3, StepOutput: 64, TTL: 24 * time.Hour, PerMillionWrites: 1, PerMillionReads: 0.2, PerGBMonth: 0.25}
	if err := Reckon(load, false, &out); err != nil {
		t.Fatal(err)
	}
	// A run is one write to acquire, three of steps, the outcome of more than 1 KB, so two.
	const want = `A MONTH             TIMES    WRITE UNITS EACH  READ UNITS EACH  COST
first runs          1000000  6                                  6.00
duplicates          100000   2                                  0.20
storage of 0.04 GB                                              0.01
together                                                        6.21
`
	if out.String() != want {
		t.Errorf("the month is\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	load.PerMillionWrites, load.PerMillionReads, load.PerGBMonth = 0, 0, 0
	if err := Reckon(load, false, &out); err != nil || strings.Contains(out.String(), "COST") || strings.Contains(out.String(), "0.00") {
		t.Errorf("without prices the month is\n%s (%v)", &out, err)
	}
	usage := (*UsageError)(nil)
	if err := Reckon(Load{Requests: -1}, false, io.Discard); !errors.As(err, &usage) {
		t.Errorf("a negative number gives %v", err)
	}
}
