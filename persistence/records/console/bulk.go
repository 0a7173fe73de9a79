package console

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// bulk is an action on the records that a filter has matched, which was planned and not done
// yet.
type bulk struct {
	action action
	shown  []records.Record
	until  time.Time
}

// bulks are those that wait for a confirmation. They are few, and for minutes.
type bulks struct {
	mu      sync.Mutex
	planned map[string]*bulk
	now     func() time.Time
}

const (
	maxBulks = 8
	bulkFor  = 10 * time.Minute
)

// add keeps a plan until it is taken, or others that are newer leave no room for it.
func (b *bulks) add(planned *bulk) (id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	oldest := ""
	for id, old := range b.planned {
		if !now.Before(old.until) {
			delete(b.planned, id)
		} else if oldest == "" || old.until.Before(b.planned[oldest].until) {
			oldest = id
		}
	}
	if len(b.planned) >= maxBulks {
		delete(b.planned, oldest)
	}
	id, planned.until = rand.Text(), now.Add(bulkFor)
	b.planned[id] = planned
	return id
}

// take returns a bulk once.
func (b *bulks) take(id string) (*bulk, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	planned, ok := b.planned[id]
	delete(b.planned, id)
	return planned, ok && b.now().Before(planned.until)
}

type bulkRequest struct {
	Filter filter `json:"filter"`
	Action action `json:"action"`
}

type bulkPlanned struct {
	// ID to confirm with; empty where nothing would be done.
	ID string `json:"id,omitempty"`
	// Count of the records that it would be done to, and Refused of those that match and that
	// it can't be done to.
	Count   int `json:"count"`
	Refused int `json:"refused"`
	// Limited says that more may match.
	Limited bool `json:"limited,omitempty"`
	// States of those that it would be done to, and what it would do to the first of them.
	States map[records.State]int `json:"states"`
	First  *planned              `json:"first,omitempty"`
}

// bulkPlan counts what an action on all matches would be done to, and keeps it for a while:
// what is confirmed is this, and not what would match later.
func (c *Console) bulkPlan(r *http.Request, asked bulkRequest) (any, error) {
	if asked.Action.Step != "" || asked.Action.Do == "complete" {
		return nil, &usageError{"Steps and results are settled one record at a time."}
	}
	found, limited, err := c.all(r.Context(), asked.Filter, c.config.MaxBulk)
	if err != nil {
		return nil, err
	}
	sortNewest(found)
	out := bulkPlanned{Limited: limited, States: make(map[records.State]int)}
	b := &bulk{action: asked.Action}
	for _, record := range found {
		p, err := asked.Action.plan(r.Context(), c.desk, record)
		if _, unusable := errors.AsType[*usageError](err); unusable {
			return nil, err
		}
		if err != nil {
			out.Refused++
			continue
		}
		if out.First == nil {
			out.First = &planned{Does: p.Does, Notes: p.Notes}
		}
		out.States[record.State]++
		b.shown = append(b.shown, record)
	}
	if out.Count = len(b.shown); out.Count == 0 {
		return out, nil
	}
	out.ID = c.bulks.add(b)
	return out, nil
}

type bulkConfirmed struct {
	ID string `json:"id"`
	// Count that was shown.
	Count int `json:"count"`
}

type bulkDone struct {
	Done int `json:"done"`
	// Changed are those that were not what was shown any more: nothing was done to them.
	Changed int `json:"changed"`
	// Failed, and why the first of them.
	Failed int    `json:"failed"`
	Why    string `json:"why,omitempty"`
	// Left were not come to: the request was given up.
	Left int `json:"left"`
}

// bulkDo does what was planned, to the records that were counted, as far as they are what they
// were.
func (c *Console) bulkDo(r *http.Request, confirmed bulkConfirmed) (any, error) {
	b, ok := c.bulks.take(confirmed.ID)
	if !ok || len(b.shown) != confirmed.Count {
		return nil, &usageError{"That is not planned any more. Count again."}
	}
	out := c.doAll(r.Context(), b)
	c.log(r, "did something about all matching records", slog.String("action", b.action.Do),
		slog.Int("done", out.Done), slog.Int("changed", out.Changed), slog.Int("failed", out.Failed), slog.Int("left", out.Left))
	return out, nil
}

// atOnce is how many records are settled side by side.
const atOnce = 8

func (c *Console) doAll(ctx context.Context, b *bulk) bulkDone {
	var mu sync.Mutex
	var out bulkDone
	relay.Each(len(b.shown), atOnce, func(i int) {
		if ctx.Err() != nil {
			mu.Lock()
			defer mu.Unlock()
			out.Left++
			return
		}
		err := b.do(ctx, c.desk, b.shown[i])
		mu.Lock()
		defer mu.Unlock()
		out.note(err)
	})
	return out
}

func (b *bulk) do(ctx context.Context, desk *records.Desk, record records.Record) error {
	p, err := b.action.plan(ctx, desk, record)
	if err != nil {
		return err
	}
	_, err = p.Do(ctx)
	return err
}

func (d *bulkDone) note(err error) {
	switch {
	case err == nil:
		d.Done++
	case changed(err):
		d.Changed++
	default:
		if d.Failed++; d.Why == "" {
			d.Why = err.Error()
		}
	}
}

// changed tells whether a record was not what was shown.
func changed(err error) bool {
	_, other := errors.AsType[*records.ChangedError](err)
	_, running := errors.AsType[*records.RunningError](err)
	return other || running
}
