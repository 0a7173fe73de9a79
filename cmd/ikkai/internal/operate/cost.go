package operate

import (
	"fmt"
	"io"
	"math"
	"time"
)

// Load is what a month has, and what a unit costs. Prices differ by Region and change, so they
// are for the caller to give: those of the pricing page of DynamoDB, on demand.
type Load struct {
	Requests   float64 // first arrivals, in a month
	Duplicates float64 // arrivals of the same again, as a share of Requests
	Result     int     // bytes
	Steps      int     // of each request
	StepOutput int     // bytes of each
	Event      int     // bytes of a kept one (idempotent.Config.KeepEvent); 0 where none is kept
	ReadFirst  bool
	TTL        time.Duration

	PerMillionWrites, PerMillionReads, PerGBMonth float64
}

// Line is a part of what a month costs.
type Line struct {
	Path   string  `json:"path"`
	Times  float64 `json:"times"`
	Writes float64 `json:"write_units_each"`
	Reads  float64 `json:"read_units_each"`
	Cost   float64 `json:"cost"`
}

// Sizes of a record: docs/cost.md, "Size of a record", with the default names.
const (
	processing   = 348
	completed    = 334
	stepsMap     = 8  // the map of steps
	stepName     = 16 // of a step, as names are
	stepEntry    = 22 // what is recorded beside name and output: "Steps" of the same page
	eventName    = 5  // of the attribute
	mostEvent    = 64 << 10
	itemOverhead = 100 // that storage is charged besides
)

// Lines reckons a month, by the model of docs/cost.md.
func (l Load) Lines() []Line {
	steps := 0
	if l.Steps > 0 {
		steps = stepsMap + l.Steps*l.step()
	}
	finished, running := completed+l.Result+steps, processing+l.event()
	first := Line{Path: "first runs", Times: l.Requests, Writes: writeUnits(running) + writeUnits(max(running+steps, finished))}
	for n := range l.Steps {
		first.Writes += writeUnits(running + stepsMap + (n+1)*l.step())
	}
	again := Line{Path: "duplicates", Times: l.Requests * l.Duplicates, Writes: writeUnits(finished)}
	if l.ReadFirst {
		first.Reads = 0.5
		again.Writes, again.Reads = 0, readUnits(finished)/2
	}
	lines := []Line{first, again}
	for i := range lines {
		lines[i].Cost = lines[i].Times * (lines[i].Writes*l.PerMillionWrites + lines[i].Reads*l.PerMillionReads) / 1e6
	}
	const month = 30 * 24 * time.Hour
	stored := l.Requests * l.TTL.Hours() / month.Hours() // at a time, once the first have expired
	gigabytes := stored * float64(finished+itemOverhead) / (1 << 30)
	return append(lines, Line{Path: fmt.Sprintf("storage of %.2f GB", gigabytes), Cost: gigabytes * l.PerGBMonth})
}

// event is what a record is larger by while it keeps one. Larger ones than 64 KB are not kept.
func (l Load) event() int {
	if l.Event == 0 || l.Event > mostEvent {
		return 0
	}
	return eventName + l.Event
}

func (l Load) step() int { return stepName + stepEntry + l.StepOutput }

// Reckon prints what a month costs; without prices, what it takes.
func Reckon(l Load, asJSON bool, stdout io.Writer) error {
	for _, given := range []float64{l.Requests, l.Duplicates, l.PerMillionWrites, l.PerMillionReads, l.PerGBMonth} {
		if math.IsNaN(given) || math.IsInf(given, 0) {
			return &UsageError{"a number has to be one"}
		}
	}
	if l.Requests < 0 || l.Duplicates < 0 || l.Result < 0 || l.Steps < 0 || l.StepOutput < 0 || l.Event < 0 || l.TTL < 0 || l.PerMillionWrites < 0 || l.PerMillionReads < 0 || l.PerGBMonth < 0 {
		return &UsageError{"no number can be negative"}
	}
	rows := [][]string{{"A MONTH", "TIMES", "WRITE UNITS EACH", "READ UNITS EACH", "COST"}}
	total := Line{Path: "together"}
	for _, line := range l.Lines() {
		if asJSON {
			if err := printJSON(stdout, line); err != nil {
				return err
			}
		}
		total.Cost += line.Cost
		rows = append(rows, line.row())
	}
	if asJSON {
		return printJSON(stdout, total)
	}
	rows = append(rows, total.row())
	if l.PerMillionWrites == 0 && l.PerMillionReads == 0 && l.PerGBMonth == 0 {
		rows = rows[:len(rows)-1]
		for i := range rows {
			rows[i] = rows[i][:len(rows[i])-1]
		}
	}
	return columns(stdout, rows)
}

func (l Line) row() []string {
	return []string{l.Path, number(l.Times), number(l.Writes), number(l.Reads), fmt.Sprintf("%.2f", l.Cost)}
}

func number(n float64) string {
	switch {
	case n == 0:
		return ""
	case n == math.Trunc(n):
		return fmt.Sprintf("%.0f", n)
	default:
		return fmt.Sprintf("%.1f", n)
	}
}

func writeUnits(bytes int) float64 { return math.Ceil(float64(max(bytes, 1)) / 1024) }

func readUnits(bytes int) float64 { return math.Ceil(float64(max(bytes, 1)) / 4096) }
