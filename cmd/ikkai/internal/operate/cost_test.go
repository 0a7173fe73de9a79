package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// What a month is reckoned from is what the embedded DynamoDB charges for a first run and for a
// duplicate. The sizes are not at the borders of units: records outside of Lambda are smaller.
func TestTheReckoningIsWhatIsCharged(t *testing.T) {
	for _, result := range []int{100, 500, 1500, 6000, 50_000} {
		for _, readFirst := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, ReadFirst %v", result, readFirst), func(t *testing.T) {
				db := dynamotest.New(t)
				config := dynamostore.Config{Table: "idempotency"}
				if err := dynamostore.CreateTable(t.Context(), db.Client(), config); err != nil {
					t.Fatal(err)
				}
				store, err := dynamostore.New(db.Client(), config)
				if err != nil {
					t.Fatal(err)
				}
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

func TestAMonth(t *testing.T) {
	var out strings.Builder
	load := Load{Requests: 1e6, Duplicates: 0.1, Result: 512, Steps: 3, StepOutput: 64, TTL: 24 * time.Hour, PerMillionWrites: 1, PerMillionReads: 0.2, PerGBMonth: 0.25}
	if err := Reckon(load, false, &out); err != nil {
		t.Fatal(err)
	}
	// A run is one write to acquire, three of steps, the outcome of more than 1 KB, so two.
	const want = `A MONTH             TIMES    WRITE UNITS  READ UNITS  COST
first runs          1000000  6                        6.00
duplicates          100000   2                        0.20
storage of 0.04 GB                                    0.01
together                                              6.21
`
	if out.String() != want {
		t.Errorf("the month is\n%swant\n%s", out.String(), want)
	}
	usage := (*UsageError)(nil)
	if err := Reckon(Load{Requests: -1}, false, io.Discard); !errors.As(err, &usage) {
		t.Errorf("a negative number gives %v", err)
	}
}
