package eventguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/internal/proof/queuesim"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// worlds is how many random worlds of each kind are played. A seed decides the dice,
// but not in which order goroutines throw them.
const worlds = 8

const tableName = "idempotency"

// world is a bad day: a function in several environments that are killed at any
// point, a DynamoDB whose requests and replies are lost, late or refused, and a
// handler that fails and panics. Every effect is checked when it happens.
type world struct {
	t      *testing.T
	db     *dynamotest.DB
	books  *dynamostore.Store // looks at the records undisturbed
	before func(order) []string

	mu      sync.Mutex
	dice    *rand.Rand
	calm    bool
	effects map[string]int // by order
	running map[string]run // by record
	deaths  int
}

// run is the last run of a record.
type run struct {
	environment *environment
	kill        time.Time // when Lambda kills it at the latest
	over        bool
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, db: dynamotest.New(t), dice: rand.New(rand.NewPCG(seed, 0)),
		effects: make(map[string]int), running: make(map[string]run), before: func(order) []string { return nil },
	}
	config := dynamostore.Config{Table: tableName}
	if err := dynamostore.CreateTable(t.Context(), w.db.Client(), config); err != nil {
		t.Fatal(err)
	}
	books, err := dynamostore.New(w.db.Direct(), config)
	if err != nil {
		t.Fatal(err)
	}
	w.books = books
	effects := []func() dynamotest.Effect{
		dynamotest.LoseRequest, dynamotest.LoseReply, dynamotest.FailBefore, dynamotest.FailAfter, dynamotest.Throttle, dynamotest.OmitItem,
		func() dynamotest.Effect { return dynamotest.DelayBefore(3 * time.Second) },
		func() dynamotest.Effect { return dynamotest.DelayAfter(3 * time.Second) },
	}
	for range 40 {
		w.db.Inject(dynamotest.Fault{Nth: 1 + w.roll(300), Times: 1 + w.roll(3), Do: effects[w.roll(len(effects))]()})
	}
	return w
}

func (w *world) roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.IntN(n)
}

// unlucky happens one time in n, and never once the world is calm.
func (w *world) unlucky(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.calm && w.dice.IntN(n) == 0
}

// calmDown ends all trouble.
func (w *world) calmDown() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
	w.db.ClearFaults()
}

// environment is a Lambda environment, until it dies.
type environment struct {
	world  *world
	handle queuesim.Function

	once sync.Once
	died chan struct{}
}

func (e *environment) die() {
	e.once.Do(func() {
		close(e.died)
		e.world.mu.Lock()
		defer e.world.mu.Unlock()
		e.world.deaths++
	})
}

func (e *environment) dead() bool {
	select {
	case <-e.died:
		return true
	default:
		return false
	}
}

// point is a point at which the environment may die. It returns only to the living.
func (e *environment) point() {
	if e.world.unlucky(60) {
		e.die()
	}
	if e.dead() {
		runtime.Goexit()
	}
}

// request is one to the environment's store.
func (e *environment) request(_, _ string, do func() error) error {
	e.point()
	defer e.point()
	return do()
}

var errKilled = errors.New("killed")

// function is a function with one environment at a time.
func (w *world) function(config idempotent.Config, build func(*environment, *idempotent.Guard) queuesim.Function) queuesim.Function {
	var warm *environment
	return func(ctx context.Context, event []byte) ([]byte, error) {
		if warm == nil || warm.dead() {
			warm = &environment{world: w, died: make(chan struct{})}
			store, err := dynamostore.New(w.db.Client(), dynamostore.Config{Table: tableName})
			if err != nil {
				return nil, err
			}
			warm.handle = build(warm, newGuard(w.t, lab.Around(lab.Another{Store: store}, warm.request), config))
		}
		return warm.invoke(ctx, event)
	}
}

// invoke is an invocation as Lambda makes it, which kills the environment at the
// end of its time.
func (e *environment) invoke(ctx context.Context, event []byte) ([]byte, error) {
	type answer struct {
		response []byte
		err      error
	}
	answers := make(chan answer, 1)
	deadline, _ := ctx.Deadline()
	go func() {
		response, err := e.handle(context.WithValue(ctx, killKey{}, deadline), event)
		e.point()
		answers <- answer{response, err}
	}()
	select {
	case a := <-answers:
		return a.response, a.err
	case <-e.died:
	case <-time.After(time.Until(deadline) + time.Millisecond):
		e.die()
	}
	return nil, errKilled
}

type killKey struct{}

// place is the guarded handler.
func (e *environment) place(ctx context.Context, o order) error {
	w := e.world
	e.point()
	call, guarded := idempotent.CallFrom(ctx)
	if !guarded {
		w.t.Error("an unprotected run")
	}
	kill := ctx.Value(killKey{}).(time.Time)
	defer w.begin(call.Key, run{environment: e, kill: kill})()
	time.Sleep(time.Duration(w.roll(800)) * time.Millisecond) // virtual
	if w.unlucky(60) {
		time.Sleep(time.Minute) // does not listen to its context
	}
	e.point()
	switch {
	case strings.HasPrefix(o.ID, "poison"), w.unlucky(12):
		return errTryAgain
	case w.unlucky(40):
		panic("odd")
	}
	w.effect(call.Key, o)
	e.point()
	if w.unlucky(20) {
		return errTryAgain // after the effect
	}
	return nil
}

// begin notes a run. It must not begin while another one of its record may go on.
func (w *world) begin(key string, r run) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, known := w.running[key]
	killed := known && last.environment.dead() && time.Now().After(last.kill)
	if known && !last.over && !killed {
		w.t.Errorf("two runs of %s within a lease period", key)
	}
	w.running[key] = r
	return func() {
		if !r.environment.dead() { // the dead note nothing
			w.mu.Lock()
			defer w.mu.Unlock()
			r.over = true
			w.running[key] = r
		}
	}
}

// effect notes an effect. It must be that of the run that owns the record, and must
// not come before its predecessors are settled.
func (w *world) effect(key string, o order) {
	record, found, err := w.books.Read(context.Background(), key)
	if err != nil || !found || record.Status != persistence.StatusProcessing || !record.LeaseUntil.After(time.Now()) {
		w.t.Errorf("an effect of %s without a lease: %v, %v", o.ID, record, err)
	}
	for _, unsettled := range w.before(o) {
		w.t.Errorf("%s overtakes %s", o.ID, unsettled)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects[o.ID]++
}

// trouble is what the worlds of a test have had.
type trouble struct{ deaths, effects int }

func (all *trouble) add(w *world) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all.deaths += w.deaths
	all.effects += len(w.effects)
}

// want fails worlds that were no test.
func (all *trouble) want(t *testing.T) {
	t.Helper()
	if all.deaths < worlds || all.effects == 0 {
		t.Errorf("only %d deaths, %d orders with an effect", all.deaths, all.effects)
	}
}

// completed tells whether the order's record is.
func (w *world) completed(key string) bool {
	record, found, err := w.books.Read(context.Background(), key)
	return err == nil && found && record.Status == persistence.StatusCompleted
}

func (w *world) effectOf(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effects[id]
}

// asFunction is how the Go runtime calls a handler.
func asFunction[E, R any](handler func(context.Context, E) (R, error), err error) queuesim.Function {
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		var event E
		if err := errors.Join(err, json.Unmarshal(payload, &event)); err != nil {
			return nil, err
		}
		response, err := handler(ctx, event)
		if err != nil {
			return nil, err
		}
		return json.Marshal(response)
	}
}

func orderKey(id string) string {
	key, _ := byOrderID.Key("order", []byte(body(id)))
	return key
}

// Every message is done or in the dead-letter queue at the end: it may have got there
// without a run, behind a failure of its group or in a batch that failed as a whole.
// Order is checked among what is neither: what is dead may have been overtaken.
func TestNoQueueLosesAMessage(t *testing.T) {
	var all trouble
	const timeout = 20 * time.Second
	for _, name := range []string{"orders", "orders.fifo"} {
		for _, answer := range []eventguard.Failures{eventguard.ReportItems, eventguard.FailBatch} {
			for seed := range uint64(worlds / 2) {
				t.Run(fmt.Sprintf("%s/answer %d/seed %d", name, answer, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, seed)
						queue := queuesim.NewQueue(queuesim.QueueConfig{
							Name:       name,
							Visibility: []time.Duration{timeout / 2, timeout + 2*time.Second, 6 * timeout}[w.roll(3)],
							MaxReceive: 12,
							Seed:       seed + 1,
						})
						ids := sendOrders(w, queue)
						if strings.HasSuffix(name, ".fifo") {
							w.before = func(o order) []string { return unsettledBefore(w, queue, o.ID) }
						}
						config := eventguard.Config{Concurrency: 1 + w.roll(5), OnFailure: answer, Logger: silent}
						var pollers []queuesim.QueueMapping
						for range 3 {
							pollers = append(pollers, queuesim.QueueMapping{
								Queue: queue, BatchSize: 1 + w.roll(10), Timeout: timeout,
								IgnoresAnswers: answer == eventguard.FailBatch,
								Function: w.function(idempotent.Config{Key: byOrderID}, func(e *environment, g *idempotent.Guard) queuesim.Function {
									return asFunction(eventguard.SQS(g, config, func(ctx context.Context, o order, _ events.SQSMessage) error { return e.place(ctx, o) }))
								}),
							})
						}
						poll(pollers, 5*time.Minute, queue.Len)
						w.calmDown()
						poll(pollers, 10*time.Hour, queue.Len)
						time.Sleep(2 * time.Minute) // virtual; the last of the killed find out
						all.add(w)
						if left := queue.Len(); left > 0 {
							t.Errorf("%d messages are never done", left)
						}
						dead := make(map[string]bool)
						for _, letter := range queue.DeadLetters() {
							dead[letter.Body] = true
						}
						for _, id := range ids {
							if !w.completed(orderKey(id)) && !dead[body(id)] {
								t.Errorf("%s is lost", id)
							}
							if w.completed(orderKey(id)) && w.effectOf(id) == 0 {
								t.Errorf("%s is done without an effect", id)
							}
						}
					})
				})
			}
		}
	}
	all.want(t)
}

// sendOrders sends orders of three customers, some of them twice, and one that
// always fails.
func sendOrders(w *world, queue *queuesim.Queue) []string {
	var ids []string
	for i := range 8 {
		for _, customer := range []string{"a", "b", "c"} {
			id := fmt.Sprintf("%s-%d", customer, i)
			if id == "b-4" {
				id = "poison-b-4"
			}
			ids = append(ids, id)
			for try := range 1 + w.roll(2) {
				queue.Send(queuesim.Letter{Body: body(id), Group: customer, DeduplicationID: fmt.Sprint(id, try)})
			}
		}
	}
	return ids
}

// unsettledBefore are the earlier orders of the same customer that are neither done
// nor given up by the queue.
func unsettledBefore(w *world, queue *queuesim.Queue, id string) []string {
	dead := make(map[string]bool)
	for _, letter := range queue.DeadLetters() {
		dead[letter.Body] = true
	}
	customer, number := id[:1], int(id[len(id)-1]-'0')
	var unsettled []string
	for i := range number {
		earlier := fmt.Sprintf("%s-%d", customer, i)
		if earlier == "b-4" {
			earlier = "poison-b-4"
		}
		if !w.completed(orderKey(earlier)) && !dead[body(earlier)] {
			unsettled = append(unsettled, earlier)
		}
	}
	return unsettled
}

// poll has all pollers work until the queue is empty, or the time is over.
func poll(pollers []queuesim.QueueMapping, most time.Duration, left func() int) {
	end := time.Now().Add(most)
	var working sync.WaitGroup
	for _, p := range pollers {
		working.Go(func() {
			for left() > 0 && time.Now().Before(end) {
				if got, _ := p.Poll(context.Background()); got == 0 {
					time.Sleep(time.Second) // virtual
				}
			}
		})
	}
	working.Wait()
}

// SQS counts the deliveries of what is held back, too. That is documented, not wanted.
func TestPoisonTakesWhatItHoldsBackAlong(t *testing.T) {
	tests := map[string]struct {
		failure error
		config  eventguard.Config
		batch   int
		ran     []string
		dead    []string
	}{
		"an error":                {errTryAgain, eventguard.Config{}, 3, []string{"o4"}, []string{"poison", "o2", "o3"}},
		"an error, alone":         {errTryAgain, eventguard.Config{}, 1, []string{"o2", "o3", "o4"}, []string{"poison"}},
		"permanent":               {idempotent.Permanent(errTryAgain), eventguard.Config{}, 3, []string{"o4"}, []string{"poison", "o2", "o3"}},
		"permanent, acknowledged": {idempotent.Permanent(errTryAgain), eventguard.Config{OnPermanent: eventguard.AcknowledgePermanent}, 3, []string{"o2", "o3", "o4"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := queuesim.NewQueue(queuesim.QueueConfig{Name: "q.fifo", Visibility: time.Minute, MaxReceive: 5})
				for _, id := range []string{"poison", "o2", "o3", "o4"} {
					queue.Send(queuesim.Letter{Body: body(id), Group: "a", DeduplicationID: id})
				}
				var l ledger
				test.config.Logger = silent
				mapping := queuesim.QueueMapping{Queue: queue, BatchSize: test.batch, Timeout: 10 * time.Second, Function: asFunction(
					eventguard.SQS(newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), test.config, func(ctx context.Context, o order, m events.SQSMessage) error {
						if o.ID == "poison" {
							return test.failure
						}
						return l.place(ctx, o, m)
					}))}
				poll([]queuesim.QueueMapping{mapping}, time.Hour, queue.Len)
				l.want(t, test.ran...)
				var dead []string
				for _, letter := range queue.DeadLetters() {
					dead = append(dead, letter.DeduplicationID)
				}
				if !slices.Equal(dead, test.dead) {
					t.Errorf("%q are dead, want %q", dead, test.dead)
				}
			})
		})
	}
}

// A batch that fails as a whole takes what is done in it along. With a Key a redrive
// does not run it again, also days later.
func TestAFailedBatchTakesWhatIsDoneAlong(t *testing.T) {
	for name, test := range map[string]struct {
		config idempotent.Config
		ran    []string // in all, after the redrive
	}{
		"with a key": {idempotent.Config{Key: byOrderID}, []string{"o1", "o3"}},
		"by the id":  {idempotent.Config{}, []string{"o1", "o3", "o1", "o3"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := queuesim.NewQueue(queuesim.QueueConfig{Name: "q", Visibility: time.Minute, MaxReceive: 5})
				for _, id := range []string{"o1", "bad", "o3"} {
					queue.Send(queuesim.Letter{Body: body(id)})
				}
				var l ledger
				mapping := queuesim.QueueMapping{
					Queue: queue, BatchSize: 10, Timeout: 10 * time.Second, IgnoresAnswers: true,
					Function: asFunction(eventguard.SQS(newGuard(t, persistence.NewMemory(), test.config), eventguard.Config{OnFailure: eventguard.FailBatch, Logger: silent}, l.place)),
				}
				poll([]queuesim.QueueMapping{mapping}, time.Hour, queue.Len)
				l.want(t, "o1", "o3")
				dead := queue.DeadLetters()
				if len(dead) != 3 {
					t.Errorf("%v are dead, want all", dead)
				}
				time.Sleep(13 * 24 * time.Hour)
				for _, letter := range dead { // a redrive
					queue.Send(letter)
				}
				poll([]queuesim.QueueMapping{mapping}, time.Minute, queue.Len)
				l.want(t, test.ran...)
			})
		})
	}
}

func TestNoShardLosesARecord(t *testing.T) {
	var all trouble
	const timeout = 20 * time.Second
	streams := map[string]struct {
		event func([]queuesim.Entry) any
		key   idempotent.Config
		build func(eventguard.Config) func(*environment, *idempotent.Guard) queuesim.Function
	}{
		"Kinesis by key": {
			queuesim.KinesisEvent, idempotent.Config{Key: byOrderID},
			func(config eventguard.Config) func(*environment, *idempotent.Guard) queuesim.Function {
				return func(e *environment, g *idempotent.Guard) queuesim.Function {
					return asFunction(eventguard.Kinesis(g, config, func(ctx context.Context, o order, _ events.KinesisEventRecord) error { return e.place(ctx, o) }))
				}
			},
		},
		"DynamoDB by id": {
			queuesim.DynamoDBEvent, idempotent.Config{},
			func(config eventguard.Config) func(*environment, *idempotent.Guard) queuesim.Function {
				return func(e *environment, g *idempotent.Guard) queuesim.Function {
					return asFunction(eventguard.DynamoDB(g, config, func(ctx context.Context, r events.DynamoDBEventRecord) error {
						return e.place(ctx, order{ID: r.Change.NewImage["pk"].String()})
					}))
				}
			},
		},
	}
	for name, stream := range streams {
		for _, answer := range []eventguard.Failures{eventguard.ReportItems, eventguard.FailBatch} {
			for seed := range uint64(worlds / 2) {
				t.Run(fmt.Sprintf("%s/answer %d/seed %d", name, answer, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, seed)
						shard := new(queuesim.Shard)
						const records = 25
						for i := range records {
							id := fmt.Sprint("o-", i)
							shard.Put(id, []byte(body(id)))
						}
						w.before = w.earlier
						mapping := queuesim.ShardMapping{
							Shard: shard, Event: stream.event, BatchSize: 1 + w.roll(10), Timeout: timeout, Bisects: w.roll(2) == 0,
							Function: w.function(stream.key, stream.build(eventguard.Config{OnFailure: answer, Logger: silent})),
						}
						w.play(mapping.Poll, shard.Left)
						all.add(w)
						for i := range records {
							if id := fmt.Sprint("o-", i); w.effectOf(id) == 0 {
								t.Errorf("%s is lost", id)
							}
						}
					})
				})
			}
		}
	}
	all.want(t)
}

// play polls through five minutes of trouble and an hour of calm.
func (w *world) play(poll func(context.Context) (int, error), left func() int) {
	w.t.Helper()
	until := func(end time.Time) {
		for left() > 0 && time.Now().Before(end) {
			_, _ = poll(context.Background())
			time.Sleep(2 * time.Second) // virtual
		}
	}
	until(time.Now().Add(5 * time.Minute))
	w.calmDown()
	until(time.Now().Add(time.Hour))
	time.Sleep(2 * time.Minute) // virtual; the last of the killed find out
	if left := left(); left > 0 {
		w.t.Errorf("%d records are never done", left)
	}
}

// earlier are the orders before one, of those that are numbered behind a dash, that have
// had no effect.
func (w *world) earlier(o order) (missing []string) {
	of, text, _ := strings.Cut(o.ID, "-")
	number, _ := strconv.Atoi(text)
	for i := range number {
		if id := fmt.Sprint(of, "-", i); w.effectOf(id) == 0 {
			missing = append(missing, id)
		}
	}
	return missing
}

// Nothing of a topic is lost, and no partition is out of order, though just what failed
// comes again.
func TestNoTopicLosesARecord(t *testing.T) {
	var all trouble
	const timeout = 20 * time.Second
	for name, key := range map[string]*idempotency.Expression{"by key": byOrderID, "by place": nil} {
		for _, config := range []eventguard.Config{{}, {Concurrency: 3}, {OnFailure: eventguard.FailBatch}, {Unordered: true, Concurrency: 4}} {
			for seed := range uint64(worlds / 4) {
				t.Run(fmt.Sprintf("%s/answer %d, %d at a time, unordered %t/seed %d", name, config.OnFailure, config.Concurrency, config.Unordered, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, seed)
						topic := queuesim.NewTopic("orders", 3)
						const records = 12 // of each partition
						for i := range records {
							for partition := range 3 {
								topic.Put(partition, []byte(body(fmt.Sprint("p", partition, "-", i))))
							}
						}
						if !config.Unordered {
							w.before = w.earlier
						}
						config := quieter(config)
						mapping := queuesim.TopicMapping{
							Topic: topic, BatchSize: 1 + w.roll(20), Timeout: timeout, IgnoresAnswers: config.OnFailure == eventguard.FailBatch,
							Function: w.function(idempotent.Config{Key: key}, func(e *environment, g *idempotent.Guard) queuesim.Function {
								return asFunction(eventguard.Kafka(g, config, func(ctx context.Context, o order, _ eventguard.KafkaRecord) error { return e.place(ctx, o) }))
							}),
						}
						w.play(mapping.Poll, topic.Left)
						all.add(w)
						for i := range records {
							for partition := range 3 {
								if id := fmt.Sprint("p", partition, "-", i); w.effectOf(id) == 0 {
									t.Errorf("%s is lost", id)
								}
							}
						}
					})
				})
			}
		}
	}
	all.want(t)
}

// A run that Lambda kills is never acknowledged by the delivery that meets its
// lease; once that is over, it is run again.
func TestAKilledRunIsNeverAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persistence.NewMemory()
		queue := queuesim.NewQueue(queuesim.QueueConfig{Name: "orders", Visibility: 10 * time.Second})
		queue.Send(queuesim.Letter{Body: body("o1")})
		var runs atomic.Int32
		killed := make(chan struct{})
		t.Cleanup(func() { close(killed) })
		handle := asFunction(eventguard.SQS(newGuard(t, store, idempotent.Config{Key: byOrderID}), eventguard.Config{Logger: silent}, func(context.Context, order, events.SQSMessage) error {
			if runs.Add(1) == 1 {
				<-killed
				runtime.Goexit()
			}
			return nil
		}))
		mapping := queuesim.QueueMapping{Queue: queue, BatchSize: 1, Timeout: 10 * time.Second, Function: func(ctx context.Context, event []byte) (response []byte, err error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				response, err = handle(ctx, event)
			}()
			select {
			case <-done:
				return response, err
			case <-ctx.Done():
				return nil, errKilled
			}
		}}
		if _, err := mapping.Poll(t.Context()); !errors.Is(err, errKilled) {
			t.Fatalf("%v, want it killed", err)
		}
		if got, err := mapping.Poll(t.Context()); got != 1 || err != nil || runs.Load() != 1 || queue.Len() != 1 {
			t.Errorf("within the lease: %d received, %v, %d runs, %d left; want it back in the queue", got, err, runs.Load(), queue.Len())
		}
		time.Sleep(10 * time.Second) // virtual
		if got, err := mapping.Poll(t.Context()); got != 1 || err != nil || runs.Load() != 2 || queue.Len() != 0 {
			t.Errorf("after the lease: %d received, %v, %d runs, %d left; want it done", got, err, runs.Load(), queue.Len())
		}
	})
}
