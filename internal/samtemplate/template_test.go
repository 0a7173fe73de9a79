package samtemplate_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/internal/samtemplate"
)

const ours = "../../template.yaml"

// operations are those whose records a function may touch.
var operations = map[string]string{
	"PaymentFunction": "payment", "RegisterFunction": "register", "OrdersFunction": "order",
	"CheckoutFunction": "checkout", "PayrollFunction": "salary",
}

func read(t *testing.T, file string) *samtemplate.Template {
	t.Helper()
	template, err := samtemplate.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// Register is public: whatever it is made to do, it must not touch another function's
// records.
func TestNoFunctionMayTouchTheRecordsOfAnother(t *testing.T) {
	template := read(t, ours)
	for function := range operations {
		for owner, operation := range operations {
			key := operation + "#7a8c7a36b0794d1e"
			tenants, err := idempotency.TenantKey("blue", key)
			if err != nil {
				t.Fatal(err)
			}
			for _, action := range []string{"PutItem", "UpdateItem", "DeleteItem", "GetItem"} {
				for _, k := range []string{key, tenants} {
					if got := template.Allows(function, action, "IdempotencyTable", k); got != (function == owner) {
						t.Errorf("%s may %s %s: %t", function, action, k, got)
					}
				}
			}
			for _, k := range []string{operation, operation + "s#1", "x" + key, ""} {
				if template.Allows(function, "GetItem", "IdempotencyTable", k) {
					t.Errorf("%s may read %q", function, k)
				}
			}
		}
		for _, action := range []string{"Scan", "Query", "DeleteTable", "BatchWriteItem"} {
			if template.Allows(function, action, "IdempotencyTable", operations[function]+"#1") {
				t.Errorf("%s may %s", function, action)
			}
		}
	}
}

// TestWhoResumesMayReadAllRecordsAndWriteNone but those of its own messages. What it does to the
// others, their functions do.
func TestWhoResumesMayReadAllRecordsAndWriteNone(t *testing.T) {
	template := read(t, ours)
	for _, operation := range append(slices.Collect(maps.Values(operations)), "resume") {
		key := operation + "#7a8c7a36b0794d1e"
		for _, action := range []string{"GetItem", "PutItem", "UpdateItem", "DeleteItem"} {
			want := operation == "resume" || action == "GetItem"
			if got := template.Allows("ResumeFunction", action, "IdempotencyTable", key); got != want {
				t.Errorf("it may %s %s: %t", action, key, got)
			}
		}
	}
	if !template.Allows("ResumeFunction", "Scan", "IdempotencyTable", "") || template.Allows("ResumeFunction", "GetItem", "SalesTable", "sale#1") {
		t.Error("it may not look for records, or may look elsewhere")
	}
	for function := range operations {
		if template.Allows(function, "GetItem", "IdempotencyTable", "resume#1") {
			t.Errorf("%s may read the records of messages", function)
		}
	}
	for _, s := range template.Statements("ResumeFunction") {
		if s.Sid == "Functions" && s.Resource != "CheckoutFunction.Arn" || s.Sid == "Messages" && s.Resource != "AbandonedQueue.Arn" {
			t.Errorf("it may %v %s", s.Actions, s.Resource)
		}
	}
}

// What is counted raises an alarm, but for what is counted by operation: the same
// lines, with the two attributes that every event of the guard has.
func TestWhatIsCountedRaisesAnAlarm(t *testing.T) {
	template := read(t, ours)
	for _, f := range template.Filters {
		if template.Alarmed(f) == (len(f.Dimensions) > 0) {
			t.Errorf("%s has an alarm: %t, and the dimensions %v", f.ID, template.Alarmed(f), f.Dimensions)
		}
		for name, selector := range f.Dimensions {
			if selector != "$."+name || name != "operation" && name != "event" {
				t.Errorf("%s: the dimension %s is %s", f.ID, name, selector)
			}
		}
	}
}

// A line with metrics (package emf) has the code of calls and the names of events, too, and its
// metrics count already what it tells. Of the guard's own lines one is what has happened; adapters
// repeat its code in theirs.
func TestALineIsCountedOnce(t *testing.T) {
	template := read(t, ours)
	kinds := []string{"stuck", "lease_lost", "not_stored", "store_failed", "compensation_failed", "partial_success", "record_failed", "request_failed"}
	for _, code := range append(kinds, "outcome_unknown", "function_failed") {
		metrics := fmt.Sprintf(`{"_aws":{"Timestamp":1,"CloudWatchMetrics":[]},"operation":"payment","code":%q,"calls":1,%q:1}`, code, code)
		if counted := template.Matches([][]byte{[]byte(metrics)}); len(counted) > 0 {
			t.Errorf("%v count the metrics of a call that ends with %s", counted, code)
		}
		for _, kind := range kinds {
			counts := 0
			line := fmt.Sprintf(`{"event":%q,"operation":"payment","code":%q}`, kind, code)
			for _, f := range template.Filters {
				if template.Alarmed(f) && f.Pattern.Matches([]byte(line)) {
					counts++
				}
			}
			want := 1
			if kind == "partial_success" || kind == "record_failed" || kind == "request_failed" {
				want = 0
			}
			if counts != want {
				t.Errorf("%s is counted %d times for alarms, want %d", line, counts, want)
			}
		}
	}
}

func TestTheRecordsOutliveTheStack(t *testing.T) {
	content, err := os.ReadFile(ours)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(content), "\n  IdempotencyTable:\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, setting := range []string{"DeletionPolicy: Retain", "UpdateReplacePolicy: Retain", "DeletionProtectionEnabled: true"} {
		if !strings.Contains(table, setting) {
			t.Errorf("the table of records lacks %s", setting)
		}
	}
}

// A template that says more than is understood here must not pass for one that holds
// its functions to less.
func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	const statement = "Resources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties:\n      Policies:\n        - Statement:\n            - "
	for name, content := range map[string]string{
		"no YAML":                  "Resources: [",
		"a denial":                 statement + "Effect: Deny\n",
		"another condition":        statement + "{Effect: Allow, Condition: {StringLike: {\"aws:PrincipalTag/a\": b}}}\n",
		"a request without keys":   statement + "{Effect: Allow, Condition: {\"Null\": {\"dynamodb:LeadingKeys\": \"true\"}}}\n",
		"no dashboard":             "Resources:\n  F:\n    Type: AWS::CloudWatch::Dashboard\n    Properties:\n      DashboardBody: widgets\n",
		"another search":           "Resources:\n  F:\n    Type: AWS::CloudWatch::Dashboard\n    Properties:\n      DashboardBody: '{\"widgets\":[{\"properties\":{\"metrics\":[[{\"expression\":\"SUM(METRICS())\"}]]}}]}'\n",
		"another kind of pattern":  "Resources:\n  F:\n    Type: AWS::Logs::MetricFilter\n    Properties:\n      FilterPattern: ERROR\n",
		"a filter without metrics": "Resources:\n  F:\n    Type: AWS::Logs::MetricFilter\n    Properties:\n      FilterPattern: '{ $.a = \"b\" }'\n",
	} {
		file := filepath.Join(t.TempDir(), "template.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := samtemplate.Read(file); err == nil {
			t.Errorf("%s is understood", name)
		}
	}
	if _, err := samtemplate.Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no file is a template")
	}
}
