package scale

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	write = flag.Bool("write", false, "play docs/scale.md's scenarios anew and write their reports and pictures")
	draw  = flag.Bool("draw", false, "draw the pictures of docs/scale.md anew, from the reports that are recorded")
)

var page = filepath.Join("..", "..", "..", "docs", "scale.md")

const recordedReports = "testdata/reports.json"

// No storm of one key slows the others, and nothing that was done is lost in it. At a fiftieth of the size.
func TestAStormOfOneKeySlowsNobodyElse(t *testing.T) {
	calm := Play(t, storm("calm", defaults, 0, 0.02)).Of("others").P99
	played := map[string]Scenario{"20,000 a second from memory": storm("storm", fromMemory, 20_000, 0.02)}
	for _, g := range []Guard{defaults, fromMemory, waiting} {
		played[g.Name] = storm("storm", g, 5000, 0.02)
		together := storm("storm", g, 5000, 0.02)
		together.Together = true
		played[g.Name+", in one process"] = together
	}
	for name, s := range played {
		t.Run(name, func(t *testing.T) {
			r := Play(t, s)
			others, duplicates := r.Of("others"), r.Of("storm")
			if others.Refused+others.Failed+others.NotStored > 0 || others.P99 > 2*calm+100*time.Millisecond {
				t.Errorf("others: %+v; without the storm 99 %% took up to %v", told(others), calm)
			}
			if duplicates.Refused+duplicates.Failed > 0 || duplicates.P99 > 2*time.Second {
				t.Errorf("duplicates: %+v", told(duplicates))
			}
			if r.Unrecorded+r.Repeated > 0 {
				t.Errorf("%d runs are not recorded, %d were not the first", r.Unrecorded, r.Repeated)
			}
		})
	}
}

// Whatever a table refuses, what was done is recorded and happens once, and callers are told within a few seconds.
func TestWhatIsDoneOnAThrottledTableIsRecorded(t *testing.T) {
	for _, s := range []Scenario{short("throttled", 0.02), launch("launch", 1000, 0, 0.01)} {
		t.Run(s.Name, func(t *testing.T) {
			r := Play(t, s)
			if r.Table.Throttled == 0 {
				t.Error("nothing was throttled")
			}
			for _, stream := range r.Streams {
				if stream.NotStored > 0 || stream.P99 > 6*time.Second {
					t.Errorf("%+v", told(stream))
				}
			}
			if r.Unrecorded+r.Repeated > 0 {
				t.Errorf("%d runs are not recorded, %d were not the first", r.Unrecorded, r.Repeated)
			}
		})
	}
}

// A seed decides everything.
func TestAScenarioPlaysTheSameAgain(t *testing.T) {
	s := storm("storm", defaults, 5000, 0.02)
	s.Length = 8 * time.Second
	first, again := encoded(t, Play(t, s)), encoded(t, Play(t, s))
	if !bytes.Equal(first, again) {
		t.Errorf("first\n%s\nthen\n%s", first, again)
	}
}

// The reports behind the page are recorded, since playing them takes minutes; "make scale" plays them anew.
func TestThePageSaysWhatWasPlayed(t *testing.T) {
	if *write {
		var reports []*Report
		for _, s := range scenarios() {
			began := time.Now()
			r := Play(t, s)
			t.Logf("%s: %v", s.Name, time.Since(began).Round(time.Second))
			reports = append(reports, r)
		}
		save(t, recordedReports, append(encoded(t, reports), '\n'))
	}
	now, before := load(t, recordedReports), load(t, "testdata/before.json")
	for _, c := range figures(now, before) {
		path := filepath.Join(filepath.Dir(page), "pictures", c.Name+".svg")
		if *write || *draw {
			save(t, path, c.svg())
		}
		if got := read(t, path); !bytes.Equal(got, c.svg()) {
			t.Errorf("%s is not what the reports say: make scale", path)
		}
		if !strings.Contains(string(read(t, page)), "(pictures/"+c.Name+".svg)") {
			t.Errorf("the page does not show %s", c.Name)
		}
	}
	text := string(read(t, page))
	for _, row := range append(rows(now, ""), rows(before, ", before")...) {
		if !strings.Contains(text, row) {
			t.Errorf("the page lacks the row\n%s", row)
		}
	}
}

// rows are the page's rows of reports: who asks, how many were answered, told that it is in progress, failed with nothing
// done, refused by Lambda, done and not recorded; the 50th and 99th percentile of the times.
func rows(reports []*Report, suffix string) []string {
	var rows []string
	for _, r := range reports {
		for _, s := range r.Streams {
			whole := func(n int) string { return thousands(float64(n) / r.Share) }
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %v | %v |", r.Scenario+suffix, s.Name,
				whole(s.Answered), whole(s.InProgress), whole(s.Failed), whole(s.Refused), whole(s.NotStored),
				round(s.P50), round(s.P99)))
		}
	}
	return rows
}

func round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// told is a tally without its list of times.
func told(t *Tally) Tally {
	copied := *t
	copied.times = nil
	return copied
}

func encoded(t *testing.T, what any) []byte {
	t.Helper()
	text, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func load(t *testing.T, path string) (reports []*Report) {
	t.Helper()
	if err := json.Unmarshal(read(t, path), &reports); err != nil {
		t.Fatal(err)
	}
	return reports
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func save(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
