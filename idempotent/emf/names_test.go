package emf_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
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

// docs/metrics.md says of every event, and of every part of a call, where it is to be seen, and
// of what is counted by which metric.
func TestEverythingThatAnObserverIsToldHasAPlace(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	kinds := func(name string) (all []idempotent.EventKind) {
		for _, match := range regexp.MustCompile(`EventKind = "(\w+)"`).FindAllStringSubmatch(read(name), -1) {
			all = append(all, idempotent.EventKind(match[1]))
		}
		return all
	}
	document := read("docs/metrics.md")
	for _, part := range kinds("idempotent/trace.go") {
		if !strings.Contains(document, "\n| `idempotency."+string(part)) {
			t.Errorf("no span is said to be of %s", part)
		}
	}
	_, events, _ := strings.Cut(document, "| event | counted by |")
	places := make(map[string]string)
	for row := range strings.Lines(events) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 && len(places) > 0 {
			break
		}
		for _, match := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row, -1) {
			places[match[1]] = strings.TrimSpace(cells[2])
		}
	}
	told := kinds("idempotent/event.go")
	if len(told) < 20 {
		t.Fatalf("event.go declares %d kinds", len(told))
	}
	for _, kind := range told {
		metric, counts := measure.OfEvent(idempotent.Event{Kind: kind})
		place, ok := places[string(kind)]
		name := measure.Table[metric].CloudWatch
		switch {
		case !ok:
			t.Errorf("nothing says where %s is to be seen", kind)
		case counts && place != "`"+name+"`" && (place != "the metric of the same name" || name != string(kind)):
			t.Errorf("%s is counted by %s, and not by %s", kind, name, place)
		case !counts && !strings.HasPrefix(place, "nothing: ") && !strings.HasPrefix(place, "`calls`, ") && !strings.HasPrefix(place, "`runs`, "):
			t.Errorf("%s is not counted by %s", kind, place)
		}
	}
}
