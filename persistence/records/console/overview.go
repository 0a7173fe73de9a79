package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// about is what the page has to know first.
func (c *Console) about(r *http.Request) (any, error) {
	return map[string]any{
		"title":             c.config.Title,
		"write":             c.config.Access(r) >= ReadWrite,
		"max_bulk":          c.config.MaxBulk,
		"price_per_million": c.config.PricePerMillion,
	}, nil
}

// overview is what the records say together.
type overview struct {
	Total   int  `json:"total"`
	Limited bool `json:"limited,omitempty"` // not everything was looked at
	// States and Reasons count records.
	States  map[records.State]int  `json:"states"`
	Reasons map[records.Reason]int `json:"reasons"`
	// Operations, those with most records first.
	Operations []operation `json:"operations"`
	// Slots count states by the start of the last run, oldest first.
	Slots []slot `json:"slots"`
	// Slot is the length of each, in seconds.
	Slot int `json:"slot_seconds"`
	// Undated are records that do not say when they were started.
	Undated int `json:"undated"`
}

type operation struct {
	Name    string `json:"name"`
	Records int    `json:"records"`
	Stuck   int    `json:"stuck"`
	// Writes is at least how many writes these records took: a first run two, each further
	// attempt and each step one more. Records of up to 1 KB take a unit for each.
	Writes int `json:"writes"`
}

type slot struct {
	From   time.Time             `json:"from"`
	States map[records.State]int `json:"states"`
}

// slots is how many bars the chart has.
const slots = 24

// overview goes through all records: a table of 10,000 takes some hundred read units.
func (c *Console) overview(r *http.Request) (any, error) {
	found, limited, err := c.all(r.Context(), filter{}, 1_000_000)
	if err != nil {
		return nil, err
	}
	return summarize(found, limited, time.Now()), nil
}

func summarize(found []records.Record, limited bool, now time.Time) overview {
	out := overview{Total: len(found), Limited: limited, States: make(map[records.State]int), Reasons: make(map[records.Reason]int)}
	length := slotLength(found, now)
	out.Slot = int(length.Seconds())
	first := now.Truncate(length).Add(-(slots - 1) * length)
	for i := range slots {
		out.Slots = append(out.Slots, slot{From: first.Add(time.Duration(i) * length), States: make(map[records.State]int)})
	}
	operations := make(map[string]*operation)
	for _, record := range found {
		out.States[record.State]++
		of := operations[record.Operation]
		if of == nil {
			of = &operation{Name: record.Operation}
			operations[record.Operation] = of
		}
		of.Records++
		of.Writes += writes(record)
		if record.Stuck != records.NotStuck {
			out.Reasons[record.Stuck]++
			of.Stuck++
		}
		if record.StartedAt.IsZero() {
			out.Undated++
		} else if i := int(record.StartedAt.Sub(first) / length); i >= 0 && i < slots && !record.StartedAt.Before(first) {
			out.Slots[i].States[record.State]++
		}
	}
	for _, of := range operations {
		out.Operations = append(out.Operations, *of)
	}
	slices.SortFunc(out.Operations, func(a, b operation) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), strings.Compare(a.Name, b.Name))
	})
	return out
}

// slotLength is the shortest length with which the chart has all of the records that say when
// they were started.
func slotLength(found []records.Record, now time.Time) time.Duration {
	oldest := now
	for _, record := range found {
		if !record.StartedAt.IsZero() && record.StartedAt.Before(oldest) {
			oldest = record.StartedAt
		}
	}
	lengths := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}
	for _, length := range lengths {
		if now.Sub(oldest) < (slots-1)*length {
			return length
		}
	}
	return lengths[len(lengths)-1]
}

// writes is at least how many writes a record took.
func writes(r records.Record) int {
	n := max(r.Attempt, 1)
	for _, step := range r.Steps {
		n += 1 + step.Starts
	}
	if r.State != records.StateRunning && r.State != records.StateDied {
		n++ // it was completed, or given up
	}
	return n
}
