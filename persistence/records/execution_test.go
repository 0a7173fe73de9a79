package records_test

import (
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
)

const suspended = "arn:aws:lambda:eu-west-1:123456789012:function:orders:7/durable-execution/a/0f0e"

// The lease of a suspended execution may last for a year. Whoever knows that it is over, and
// says so, need not wait for that.
func TestTheRecordOfAnExecutionIsRunningUntilSomebodyKnowsThatThatIsOver(t *testing.T) {
	acts := map[string]act{"forget": forget, "settle": settle(records.Complete([]byte(`7`)))}
	for name, a := range acts {
		for known, want := range map[string]string{"": "running", suspended + "2": "running", suspended: "done"} {
			memory := persistence.NewMemory()
			memory.Put(persistence.Record{
				Key: "order#1", Status: persistence.StatusProcessing, Owner: suspended + "#XYZ", Attempt: 3,
				LeaseUntil: time.Now().Add(9000 * time.Hour), ExpiresAt: time.Now().Add(9000 * time.Hour),
			})
			desk, err := records.New(memory, records.Config{EndedExecution: known})
			if err != nil {
				t.Fatal(err)
			}
			shown, err := desk.Show(t.Context(), "order#1")
			if err != nil || shown.Execution != suspended {
				t.Fatalf("shows the execution %q, %v", shown.Execution, err)
			}
			if got := outcomeOf(t, desk, shown, a); got != want {
				t.Errorf("%s, where the ended one is %q: %s, want %s", name, known, got, want)
			}
		}
	}
}
