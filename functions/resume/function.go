package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/metrics"
	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// operation is that of the messages about abandoned requests: each is sent once.
const operation = "resume"

// function is what Lambda runs. It asks nothing of the event: the next one finds what this
// one has left.
type function = func(context.Context) (records.Swept, error)

// newFunction is the function. It does not have the other functions' handlers in itself but invokes
// them, as whoever sends them requests: so a resumed request is run by the code, with the
// settings, the permissions and the time that it would have had, under the same key; and a
// deployment of one function does not wait for another.
func newFunction(p wiring.Parts) (function, error) {
	a := &aws{options: p.Client.Options(), setting: p.Setting}
	var functions map[string]string
	if err := json.Unmarshal([]byte(p.Setting("FUNCTIONS")), &functions); err != nil {
		return nil, fmt.Errorf("FUNCTIONS is to say which function has which operation, such as {\"checkout\": \"name, or ARN\"}: %w", err)
	}
	queue := p.Setting("ABANDONED_QUEUE_URL")
	if queue == "" {
		return nil, errors.New("ABANDONED_QUEUE_URL is empty")
	}
	units, err := strconv.ParseFloat(cmp.Or(p.Setting("MAX_UNITS"), "10000"), 64)
	if err != nil || units < 0 {
		return nil, fmt.Errorf("MAX_UNITS is %q, which is no number of read units", p.Setting("MAX_UNITS"))
	}
	desk, err := records.New(p.Store, records.Config{})
	if err != nil {
		return nil, err
	}
	guard, err := idempotent.New(p.Store, metrics.Watch(idempotent.Config{Operation: operation, TTL: queueKeeps}))
	if err != nil {
		return nil, err
	}
	s := &sweeper{aws: a, functions: functions, guard: guard, queue: queue}
	return func(ctx context.Context) (records.Swept, error) {
		swept, err := desk.Sweep(ctx, records.Sweep{
			Send: s.send, Abandon: s.abandon, Observe: observe,
			MaxAttempts: 10, Limit: 50, Slowest: slowest, MaxUnits: units, UnitsPerSecond: 200,
		})
		slog.InfoContext(ctx, "resume: swept", "event", "resume_swept", "swept", swept)
		return swept, err
	}, nil
}

const (
	// slowest is longer than the functions' time-out, with what starting one takes.
	slowest = 20 * time.Second
	// queueKeeps is for how long the queue keeps messages, and a message is not sent again.
	queueKeeps = 14 * 24 * time.Hour
)

// sweeper is what a sweep asks of the rest of the world.
type sweeper struct {
	aws       *aws
	functions map[string]string // by operation
	guard     *idempotent.Guard
	queue     string
}

// send invokes a request's function.
func (s *sweeper) send(ctx context.Context, r records.Record, event []byte) error {
	name := s.functions[r.Operation]
	if name == "" {
		return records.ErrNoFunction
	}
	ctx, cancel := context.WithTimeout(ctx, slowest)
	defer cancel()
	return s.aws.invoke(ctx, name, r, event)
}

// abandon tells the queue of a request, once for each state that it is found in.
func (s *sweeper) abandon(ctx context.Context, c records.Case) error {
	if c.Record.Operation == operation {
		return nil // a message of an earlier sweep, which this one sends
	}
	err := s.guard.Do(ctx, c.Record.Key+" "+c.Record.Version, func(ctx context.Context) error {
		content, err := json.Marshal(messageOf(c))
		if err != nil {
			return err
		}
		return s.aws.sendMessage(ctx, s.queue, string(content))
	})
	if errors.Is(err, idempotent.ErrInProgress) {
		return nil // another sweep tells it
	}
	return err
}

// observe logs a case: filters go by "event" and "code", as with the guard's own lines.
func observe(ctx context.Context, c records.Case) {
	level := slog.LevelInfo
	if c.Fate == records.FateAbandoned {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("event", "resume_"+string(c.Fate)), slog.String("operation", c.Record.Operation), slog.String("key", c.Record.Key),
		slog.Int("attempt", c.Record.Attempt),
	}
	if c.Why != "" {
		attrs = append(attrs, slog.String("code", c.Why))
	}
	if c.Err != nil {
		attrs = append(attrs, slog.Any("error", c.Err))
	}
	slog.LogAttrs(ctx, level, "resume: "+string(c.Fate), attrs...)
}
