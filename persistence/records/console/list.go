package console

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// filter is what the page may ask for.
type filter struct {
	State     string `json:"state,omitempty"`
	Operation string `json:"operation,omitempty"`
	Tenant    string `json:"tenant,omitempty"`
	Stuck     bool   `json:"stuck,omitempty"`
	Reason    string `json:"reason,omitempty"`
	OlderThan string `json:"older_than,omitempty"` // a duration, such as 15m
	Search    string `json:"search,omitempty"`     // part of a key, a request ID or a function's name
}

func filterOf(query url.Values) filter {
	return filter{
		State:     query.Get("state"),
		Operation: query.Get("operation"),
		Tenant:    query.Get("tenant"),
		Stuck:     query.Get("stuck") != "",
		Reason:    query.Get("reason"),
		OlderThan: query.Get("older_than"),
		Search:    query.Get("search"),
	}
}

// records returns the filter as package records has it.
func (f filter) records(now time.Time) (records.Filter, error) {
	out := records.Filter{Operation: f.Operation, Tenant: f.Tenant, Stuck: f.Stuck, Reason: records.Reason(f.Reason)}
	if f.State != "" {
		out.States = []records.State{records.State(f.State)}
	}
	if f.Tenant != "" && f.Operation == "" {
		return out, &usageError{"A tenant needs an operation."}
	}
	if f.OlderThan != "" {
		age, err := time.ParseDuration(f.OlderThan)
		if err != nil || age < 0 {
			return out, &usageError{"The age is a duration such as 15m or 2h30m."}
		}
		out.StartedBefore = now.Add(-age)
	}
	return out, nil
}

// finds tells whether a record is what the search looks for. That is not for the store: it
// can't look into keys.
func (f filter) finds(r records.Record) bool {
	return f.Search == "" || strings.Contains(r.Key, f.Search) ||
		strings.Contains(r.RequestID, f.Search) || strings.Contains(r.Function, f.Search)
}

type listed struct {
	records.Page
	// Limited says that not everything was looked at, for what it would have consumed.
	Limited bool `json:"limited,omitempty"`
}

// patience is for how long a list goes on looking for matches before it shows what it has.
const patience = 2 * time.Second

// list returns a page of what a filter lets through: as many store pages as it takes to fill
// it.
func (c *Console) list(r *http.Request) (any, error) {
	query := r.URL.Query()
	asked := filterOf(query)
	wanted, err := asked.records(time.Now())
	if err != nil {
		return nil, err
	}
	out := listed{Page: records.Page{Records: []records.Record{}, Cursor: query.Get("cursor")}}
	if asked.Search != "" && out.Cursor == "" {
		if exact, err := c.desk.Show(r.Context(), asked.Search); err == nil {
			out.Records = append(out.Records, exact)
			return out, nil
		}
	}
	wanted.PageSize = c.config.PageSize
	if asked != (filter{}) {
		wanted.PageSize = max(wanted.PageSize, 500) // most will not match
	}
	// One page of the store at least: without a cursor an empty answer says that nothing matches.
	for began := time.Now(); len(out.Records) < c.config.PageSize; {
		read, err := c.desk.Page(r.Context(), wanted, out.Cursor)
		if err != nil {
			return nil, err
		}
		for _, record := range read.Records {
			if asked.finds(record) {
				out.Records = append(out.Records, record)
			}
		}
		out.Seen += read.Seen
		out.Units += read.Units
		if out.Cursor = read.Cursor; out.Cursor == "" {
			break
		}
		if out.Units >= c.config.MaxUnits {
			out.Limited = true
			break
		}
		if time.Since(began) >= patience {
			break // the cursor goes on from here
		}
	}
	return out, nil
}

// all returns every record that a filter lets through, up to a number and the limit of units.
func (c *Console) all(ctx context.Context, asked filter, most int) (found []records.Record, limited bool, err error) {
	wanted, err := asked.records(time.Now())
	if err != nil {
		return nil, false, err
	}
	wanted.MaxUnits = c.config.MaxUnits
	wanted.Segments = 4
	for record, err := range c.desk.List(ctx, wanted) {
		if _, ended := errors.AsType[*records.LimitError](err); ended {
			return found, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		if !asked.finds(record) {
			continue
		}
		if len(found) == most {
			return found, true, nil
		}
		found = append(found, record)
	}
	return found, false, nil
}

func (c *Console) show(r *http.Request) (any, error) {
	return c.desk.Show(r.Context(), r.URL.Query().Get("key"))
}

// shown names a record as somebody sees it.
type shown struct {
	Key     string `json:"key"`
	Version string `json:"version"`
}

// still returns the record, if it is what is shown.
func (c *Console) still(ctx context.Context, s shown) (records.Record, error) {
	record, err := c.desk.Show(ctx, s.Key)
	if _, gone := errors.AsType[*records.NotFoundError](err); gone {
		return record, &records.ChangedError{Key: s.Key}
	}
	if err == nil && record.Version != s.Version {
		return record, &records.ChangedError{Key: s.Key, Now: &record}
	}
	return record, err
}

// opened are the contents of a record, as text.
type opened struct {
	Result *string `json:"result,omitempty"`
	Event  *string `json:"event,omitempty"`
	// Failure and Compensation are the messages of a request that is being undone.
	Failure      *string           `json:"failure,omitempty"`
	Compensation *string           `json:"compensation,omitempty"`
	Steps        map[string]string `json:"steps,omitempty"`
}

// open returns the contents of one record. It is a POST so that no link and no history has
// it.
func (c *Console) open(r *http.Request, s shown) (any, error) {
	record, err := c.still(r.Context(), s)
	if err != nil {
		return nil, err
	}
	full, err := c.desk.Open(r.Context(), record)
	if err != nil {
		return nil, err
	}
	c.log(r, "opened the contents of a record", slog.String("key", s.Key))
	out := opened{Steps: make(map[string]string)}
	out.Result = c.text(r.Context(), full, "result", full.Result)
	out.Event = c.text(r.Context(), full, "event", full.Event)
	if u := full.Undoing; u != nil {
		out.Failure = c.text(r.Context(), full, "failure", message(u.Message))
		out.Compensation = c.text(r.Context(), full, "compensation", message(u.BlockedMessage))
	}
	for _, step := range full.Steps {
		if text := c.text(r.Context(), full, Part("step/"+step.Name), step.Output); text != nil {
			out.Steps[step.Name] = *text
		}
	}
	return out, nil
}

func message(text string) *records.Value {
	if text == "" {
		return nil
	}
	return &records.Value{Content: []byte(text)}
}

// text returns what may be shown of a content; nil where there is none.
func (c *Console) text(ctx context.Context, record records.Record, part Part, v *records.Value) *string {
	if v == nil || v.Content == nil {
		return nil
	}
	content := v.Content
	if c.config.Redact != nil {
		content = c.config.Redact(ctx, record, part, slices.Clone(content))
	}
	text := readable(content)
	return &text
}

// sortNewest puts the records that were started last first.
func sortNewest(found []records.Record) {
	slices.SortStableFunc(found, func(a, b records.Record) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), strings.Compare(a.Key, b.Key))
	})
}
