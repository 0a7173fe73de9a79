package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// world is what everybody in a simulation shares.
type world struct {
	scenario
	flaw  Flaw
	start time.Time
	db    *dynamotest.DB
	table *dynamostore.Store // past the wire, for the audit
	ended sync.WaitGroup     // everybody but the clients

	mu         sync.Mutex
	fair       bool // the faults have stopped
	wakes      map[time.Time]bool
	actors     uint64
	log        []string
	counts     Counts
	violations []Violation
	ledger     ledger
	names      map[string]string // of the keys
	audited    audit
	bank       *bank // nil without accounts
}

func newWorld(s scenario, f Flaw) (*world, error) {
	w := &world{
		scenario: s,
		flaw:     f,
		start:    time.Now(),
		db:       dynamotest.Open(),
		wakes:    make(map[time.Time]bool),
		counts:   make(Counts),
		ledger:   newLedger(),
		names:    make(map[string]string),
		audited:  audit{table: make(map[string]audited)},
	}
	config := dynamostore.Config{Table: tableName}
	if err := dynamostore.CreateTable(context.Background(), w.db.Client(), config); err != nil {
		return nil, err
	}
	for at, op := range s.operations {
		for _, o := range op.orders {
			w.names[w.key(at, o)] = op.config.Operation + " " + o.tenant + o.ID
		}
	}
	var err error
	if len(s.accounts) > 0 {
		if w.bank, err = w.newBank(); err != nil {
			return nil, err
		}
	}
	w.table, err = dynamostore.New(w.db.Direct(), config)
	return w, err
}

const tableName = "idempotency"

// key is the key of an operation's record.
func (w *world) key(at int, o order) string {
	key, err := idempotency.Key(w.operations[at].config.Operation, o.ID)
	if err == nil && o.tenant != "" {
		key, err = idempotency.TenantKey(o.tenant, key)
	}
	if err != nil {
		panic(err) // operations, tenants and ids are well-formed
	}
	return key
}

// say writes a line of the log.
func (w *world) say(who, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%16v  %-14s %s", time.Since(w.start), who, fmt.Sprintf(format, args...)))
}

// count counts something that has happened.
func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// broken notes that a rule is broken.
func (w *world) broken(rule Rule, format string, args ...any) {
	v := Violation{Rule: rule, At: time.Since(w.start), Detail: fmt.Sprintf(format, args...)}
	w.say("!!!", "%s: %s", rule, v.Detail)
	w.mu.Lock()
	defer w.mu.Unlock()
	v.Line = len(w.log)
	w.violations = append(w.violations, v)
}

// id numbers everybody in the order of their appearance.
func (w *world) id() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actors++
	return w.actors
}

// dice returns somebody's own source of chance: what others draw does not shift it.
func (w *world) dice(id uint64) *rand.Rand { return rand.New(rand.NewPCG(w.seed, id)) }

// stopFaults ends all bad luck.
func (w *world) stopFaults() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fair = true
}

func (w *world) isFair() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fair
}

// unlucky tells whether something of that probability goes wrong now.
func (w *world) unlucky(dice *rand.Rand, probability float64) bool {
	drawn := dice.Float64() < probability
	w.mu.Lock()
	defer w.mu.Unlock()
	return drawn && !w.fair
}

// distinct lengthens a duration from now by the nanoseconds it takes for nobody
// else to wake at its end.
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

// pause sleeps until the context ends. Contexts of several callers may end at
// the same instant, so it lets a distinct moment pass then.
func (w *world) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(w.distinct(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		w.sleep(time.Microsecond)
		return context.Cause(ctx)
	}
}

// between draws a duration, to the nanosecond.
func between(dice *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(dice.Int64N(int64(high-low)))
}
