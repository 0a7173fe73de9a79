package scale

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// world is one play of a scenario.
type world struct {
	Scenario
	start time.Time
	db    *dynamotest.DB

	mu     sync.Mutex
	dice   *rand.Rand // of which environment takes a call
	wakes  map[time.Time]bool
	free   []*environment
	runs   map[string]int // how often the function has come to its end, by key
	report *Report
}

// Play plays a scenario in a bubble of virtual time.
func Play(t *testing.T, s Scenario) *Report {
	t.Helper()
	var report *Report
	cryptotest.SetGlobalRandom(t, s.Seed)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, s)
		w.play()
		report = w.report
	})
	return report
}

const tableName = "idempotency"

func newWorld(t *testing.T, s Scenario) *world {
	t.Helper()
	w := &world{
		Scenario: s,
		start:    time.Now(),
		db:       dynamotest.New(t, dynamotest.WithThroughputShare(s.Share)),
		dice:     rand.New(rand.NewPCG(s.Seed, 0)),
		wakes:    make(map[time.Time]bool),
		runs:     make(map[string]int),
		report:   newReport(s),
	}
	if err := w.createTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for number := range max(1, int(float64(s.Environments)*s.Share)) {
		e, err := w.newEnvironment(1 + number)
		if err != nil {
			t.Fatal(err)
		}
		if s.Together && number > 0 {
			e.guard = w.free[0].guard
		}
		w.free = append(w.free, e)
	}
	return w
}

func (w *world) createTable(ctx context.Context) error {
	config := dynamostore.Config{Table: tableName}
	if err := dynamostore.CreateTable(ctx, w.db.Client(), config); err != nil {
		return err
	}
	if w.Writes == 0 {
		return nil
	}
	capacity := aws.Int64(int64(float64(w.Writes) * w.Share))
	_, err := w.db.Client().UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: aws.String(tableName), BillingMode: types.BillingModeProvisioned,
		ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: capacity, WriteCapacityUnits: capacity},
	})
	return err
}

// environment is one of Lambda's, with a client and a store of its own, for one call at a time.
type environment struct {
	world *world
	guard *idempotent.Guard

	turn sync.Mutex // where an environment has many calls at a time
	dice *rand.Rand
}

func (w *world) newEnvironment(number int) (*environment, error) {
	e := &environment{world: w, dice: rand.New(rand.NewPCG(w.Seed, uint64(number)))}
	client := w.db.Client(func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: way{e}} })
	var store persistence.Store
	store, err := dynamostore.New(client, dynamostore.Config{Table: tableName})
	if err != nil {
		return nil, err
	}
	if w.Guard.Cached {
		store = cached.New(store, cached.Limits{})
	}
	config := w.Guard.Config
	config.Operation = "payment"
	config.Logger = slog.New(slog.DiscardHandler)
	e.guard, err = idempotent.New(store, config)
	return e, err
}

// between draws a time. An environment of Lambda has one call at a time, so that what others draw
// does not shift it.
func (e *environment) between(low, high time.Duration) time.Duration {
	e.turn.Lock()
	defer e.turn.Unlock()
	return low + time.Duration(e.dice.Int64N(int64(high-low)))
}

// way is the network between an environment and the table.
type way struct{ *environment }

// RoundTrip implements [http.RoundTripper].
func (n way) RoundTrip(r *http.Request) (*http.Response, error) {
	there := n.between(shortestWay, longestWay) / 2
	if err := n.world.pause(r.Context(), there); err != nil {
		return nil, err
	}
	response, err := n.world.db.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return response, n.world.pause(r.Context(), there)
}

func (w *world) play() {
	var underWay sync.WaitGroup
	for number, s := range w.Streams {
		dice := rand.New(rand.NewPCG(^w.Seed, uint64(number)))
		underWay.Go(func() { w.send(s, dice, &underWay) })
	}
	ended := make(chan struct{})
	go func() {
		underWay.Wait()
		close(ended)
	}()
	for second := time.NewTicker(time.Second); ; {
		select {
		case <-second.C:
			w.tally()
		case <-ended:
			second.Stop()
			w.tally()
			w.audit()
			return
		}
	}
}

// send sends the requests of a stream.
func (w *world) send(s Stream, dice *rand.Rand, underWay *sync.WaitGroup) {
	w.sleep(s.From)
	to := s.To
	if to == 0 {
		to = w.Length
	}
	for n := 0; ; n++ {
		w.sleep(time.Duration(dice.ExpFloat64() / (s.Rate * w.Share) * float64(time.Second)))
		if time.Since(w.start) >= to {
			return
		}
		key := s.Keys(n)
		e := w.take()
		if e == nil {
			w.note(s.Name, time.Since(w.start), 0, errNoEnvironment)
			continue
		}
		underWay.Go(func() {
			began := time.Now()
			err := w.invoke(e, key)
			w.note(s.Name, began.Sub(w.start), time.Since(began), err)
			w.give(e)
		})
	}
}

var errNoEnvironment = errors.New("scale: no environment is free")

func (w *world) invoke(e *environment, key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), w.distinct(timeout))
	defer cancel()
	_, err := idempotent.Do(ctx, e.guard, key, func(ctx context.Context) (string, error) {
		run := w.Run
		if run == 0 {
			run = usualRun
		}
		if err := w.pause(ctx, e.between(run/2, run*3/2)); err != nil {
			return "", err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.runs[key]++
		return "receipt of " + key, nil
	})
	return err
}

// take takes a free environment at random; nil if there is none.
func (w *world) take() *environment {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.free) == 0 {
		return nil
	}
	last, n := len(w.free)-1, w.dice.IntN(len(w.free))
	e := w.free[n]
	w.free[n] = w.free[last]
	w.free = w.free[:last]
	return e
}

func (w *world) give(e *environment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free = append(w.free, e)
}

// distinct lengthens a duration from now so that nobody else wakes at its end: of all goroutines one runs at a time.
func (w *world) distinct(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	wake := time.Now().Add(d)
	for w.wakes[wake] {
		wake = wake.Add(time.Nanosecond)
	}
	w.wakes[wake] = true
	return time.Until(wake)
}

func (w *world) sleep(d time.Duration) { time.Sleep(w.distinct(d)) }

func (w *world) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(w.distinct(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("scale: cut short: %w", context.Cause(ctx))
	}
}
