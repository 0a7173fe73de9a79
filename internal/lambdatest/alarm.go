package lambdatest

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/emfspec"
	"github.com/ikkai-go/idempotency/internal/samtemplate"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// The metric filters of template.yaml.
const (
	Faults = "IdempotencyFaults"
	Stuck  = "IdempotencyStuck"
	Events = "IdempotencyEvents" // Faults and Stuck, by operation and event
)

// LogStory is what happens to a process of a function, and which metric filters count
// what it prints then.
type LogStory struct {
	Variables map[string]string // of the process, besides those that all stories have
	// Before, if set, is called before each event.
	Before func(t *testing.T, db *dynamotest.DB, event int)
	Events [][]byte
	// Answers are parts of what the events are answered.
	Answers []string
	// Counted are the filters that count any line; none where nobody has to look.
	Counted []string
}

// Template is template.yaml, for the test of a package in functions/<name>.
func Template(t *testing.T) *samtemplate.Template {
	t.Helper()
	template, err := samtemplate.Read(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// Run lets the story happen to the function with that logical ID and these variables, and
// holds template.yaml to it: the lines that the process prints are counted as said, and it may do with records
// what it has done.
func (s LogStory) Run(t *testing.T, db *dynamotest.DB, function string, timeout time.Duration, variables map[string]string) {
	t.Helper()
	template := Template(t)
	process := StartProcess(t, db, timeout, variables, s.Variables, map[string]string{"AWS_EMF_NAMESPACE": samtemplate.StackName})
	for n, event := range s.Events {
		if s.Before != nil {
			s.Before(t, db, n)
		}
		if answer := process.Invoke(event); len(s.Answers) > n && !strings.Contains(string(answer), s.Answers[n]) {
			t.Errorf("event %d is answered %s, want %s", n, answer, s.Answers[n])
		}
	}
	lines := process.Lines()
	if counted := slices.Sorted(maps.Keys(template.Matches(lines))); !slices.Equal(counted, slices.Sorted(slices.Values(s.Counted))) {
		t.Errorf("%v count what is printed, want %v:\n%s", counted, s.Counted, bytes.Join(lines, []byte("\n")))
	}
	checkMetrics(t, template, lines)
	for _, r := range db.Requests() {
		for _, key := range r.Keys {
			if key, isRecord := strings.CutPrefix(key, "idempotency_key="); isRecord && !mayWrite(template, function, r.Operation, key) {
				t.Errorf("by template.yaml %s may not %s %s", function, r.Operation, key)
			}
		}
	}
}

// checkMetrics holds the lines with metrics to their format, and the dashboard to them: it
// shows each.
func checkMetrics(t *testing.T, template *samtemplate.Template, lines [][]byte) {
	t.Helper()
	printed := 0
	for _, line := range lines {
		if !emfspec.Is(line) {
			continue
		}
		printed++
		if counted := template.Matches([][]byte{line}); len(counted) > 0 {
			t.Errorf("%v count a line with metrics, too: %s", counted, line)
		}
		data, err := emfspec.Read(line, time.Now())
		if err != nil {
			t.Errorf("%v: %s", err, line)
		}
		for _, d := range data {
			if !slices.ContainsFunc(template.Searches, func(s samtemplate.Search) bool { return s.Finds(d.Namespace, d.Name, d.Dimensions) }) {
				t.Errorf("the dashboard does not show %s of %s by %v", d.Name, d.Namespace, d.Dimensions)
			}
		}
	}
	if printed == 0 {
		t.Errorf("no metrics in\n%s", bytes.Join(lines, []byte("\n")))
	}
}

// mayWrite tells whether the function may do that with a record. A transaction needs the
// permissions of the writes in it.
func mayWrite(template *samtemplate.Template, function, operation, key string) bool {
	actions := []string{operation}
	if operation == "TransactWriteItems" {
		actions = []string{"PutItem", "UpdateItem"}
	}
	return !slices.ContainsFunc(actions, func(action string) bool { return !template.Allows(function, action, "IdempotencyTable", key) })
}

// StoreDown has every request to the table of records refused, from the nth on.
func StoreDown(nth int) func(*testing.T, *dynamotest.DB, int) {
	return func(_ *testing.T, db *dynamotest.DB, event int) {
		if event == 0 {
			db.Inject(dynamotest.Fault{Table: IdempotencyTable, Nth: nth, Times: dynamotest.Always, Do: dynamotest.Deny()})
		}
	}
}

// StolenBy has all records be somebody else's as soon as the function has written a row
// of its own.
func StolenBy(t *testing.T, db *dynamotest.DB, ledger string) {
	t.Helper()
	db.Inject(dynamotest.Fault{Table: ledger, Operation: "PutItem", Do: dynamotest.After(func(dynamotest.Request) {
		for _, record := range db.Items(IdempotencyTable) {
			record["owner"] = &types.AttributeValueMemberS{Value: "somebody else"}
			if err := db.Seed(IdempotencyTable, record); err != nil {
				t.Error(err)
			}
		}
	})})
}
