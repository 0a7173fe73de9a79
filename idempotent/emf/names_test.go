package emf_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent/internal/measure"
	"github.com/ikkai-go/idempotency/internal/samtemplate"
)

// The dashboard of template.yaml shows every metric, and none that is not there.
func TestTheDashboardShowsEveryMetric(t *testing.T) {
	template, err := samtemplate.Read("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	for _, s := range template.Searches {
		shown[s.Metric] = true
		if s.Namespace != samtemplate.StackName {
			t.Errorf("%s is searched for in %s", s.Metric, s.Namespace)
		}
	}
	for _, entry := range measure.Table {
		if !shown[entry.CloudWatch] {
			t.Errorf("the dashboard does not show %s", entry.CloudWatch)
		}
		delete(shown, entry.CloudWatch)
	}
	if len(shown) > 0 {
		t.Errorf("the dashboard shows %v, which are no metrics", shown)
	}
}

// docs/metrics.md has the table.
func TestTheDocumentHasTheTable(t *testing.T) {
	document, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var table []string
	for line := range strings.Lines(string(document)) {
		if strings.HasPrefix(line, "| `") && strings.Contains(line, "` | `idempotency.") {
			table = append(table, strings.TrimSpace(line))
		}
	}
	for i, entry := range measure.Table {
		unit := "count"
		if entry.Unit == measure.Time {
			unit = "milliseconds; seconds in OpenTelemetry"
		}
		want := "| `" + entry.CloudWatch + "` | `" + entry.OpenTelemetry + "` | " + unit + " | " + entry.Meaning + " |"
		if i >= len(table) || table[i] != want {
			t.Errorf("the table lacks, in its place,\n%s", want)
		}
	}
	if len(table) != len(measure.Table) {
		t.Errorf("the table has %d metrics, want %d", len(table), len(measure.Table))
	}
}
