package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// environment is where processes run, one after another.
type environment struct {
	world *world
	name  string
	dice  *rand.Rand

	mu      sync.Mutex
	process *process
	born    int
}

func (w *world) newEnvironment(name string) *environment {
	return &environment{world: w, name: name, dice: w.dice(w.id())}
}

// warm returns the environment's process: a new one if the last has died.
func (e *environment) warm() *process {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.process == nil || e.process.isDead() {
		e.born++
		e.process = e.world.newProcess(fmt.Sprintf("%s.%d", e.name, e.born), e.dice)
	}
	return e.process
}

// process is a process of a Lambda function that has all operations, with a store
// of its own and a clock of its own. It serves several invocations at once, as
// managed instances do.
type process struct {
	world *world
	name  string
	ahead time.Duration // of its clock
	// client is the way to DynamoDB, of the store and of the functions.
	client *dynamodb.Client
	serve  []function // the operations, guarded

	mu    sync.Mutex
	dead  bool
	thaws time.Time
}

// function is the guarded function.
type function func(context.Context, order) (receipt, error)

func (w *world) newProcess(name string, dice *rand.Rand) *process {
	apart := clockSkew
	if w.flaw.ClocksApart != 0 {
		apart = w.flaw.ClocksApart
	}
	p := &process{
		world: w,
		name:  name,
		ahead: pick(dice, -apart/2, apart/2, between(dice, -apart/2, apart/2).Truncate(time.Millisecond)),
		client: w.db.Client(func(o *dynamodb.Options) {
			o.HTTPClient = &http.Client{Transport: network{w}}
			o.Retryer = w.retryer(pick[uint](dice, 0, 0, 300, 495))
		}),
	}
	store := clocked{Store: p.store(), ahead: p.ahead}
	var guarded persistence.Store = store
	if dice.IntN(2) == 0 {
		store.Store = cached.New(store.Store, cached.Limits{})
		guarded = clockedCache{store}
	}
	for _, op := range w.operations {
		config := op.config
		config.OnlyEnlists = op.terms.way == atOnce || op.terms.way == oldAndNew && dice.IntN(2) == 0
		if w.flaw.Shared {
			config.TenantsShareRecords = true
		}
		config.Observe = func(ctx context.Context, e idempotent.Event) {
			i := invocationOf(ctx)
			i.event = e.Kind
			w.count(string(e.Kind))
			w.say(i.name, "%s", e.Kind)
		}
		guard, err := idempotent.New(guarded, config)
		if err != nil {
			panic(err) // scenarios have nothing that is refused
		}
		p.serve = append(p.serve, op.guarded.guard(guard, w.function()))
	}
	w.count(processes)
	w.say(name, "starts, its clock %v ahead", p.ahead)
	return p
}

// retryer is the SDK's own, as it ships, with its quota, of which other calls of the
// process have used that much already.
func (w *world) retryer(used uint) aws.Retryer {
	limit := &allowance{world: w, quota: ratelimit.NewTokenRateLimit(retry.DefaultRetryRateTokens)}
	_, _ = limit.quota.GetToken(context.Background(), used) // there is as much
	return retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = limit })
}

// allowance counts what the SDK's quota refuses.
type allowance struct {
	world *world
	quota *ratelimit.TokenRateLimit
}

// GetToken implements [retry.RateLimiter].
func (a *allowance) GetToken(ctx context.Context, cost uint) (release func() error, err error) {
	if release, err = a.quota.GetToken(ctx, cost); err != nil {
		a.world.count(quota)
	}
	return release, err
}

// AddTokens implements [retry.RateLimiter].
func (a *allowance) AddTokens(n uint) error { return a.quota.AddTokens(n) }

// store makes the process's store: the real one on the real client.
func (p *process) store() Store {
	w := p.world
	var api dynamostore.API = p.client
	if w.flaw.Requests != nil {
		api = w.flaw.Requests(api)
	}
	dynamo, err := dynamostore.New(api, dynamostore.Config{Table: tableName, RequestTimeout: w.requestTimeout})
	if err != nil {
		panic(err) // the config has nothing that is refused
	}
	if w.flaw.Store != nil {
		return w.flaw.Store(dynamo)
	}
	return dynamo
}

// function is the one that does the business.
func (w *world) function() function {
	if w.business == Transfers {
		return w.transfer
	}
	return w.fulfil
}

// guard guards the function.
func (a guarding) guard(g *idempotent.Guard, fn function) function {
	switch a {
	case byHandler:
		handler := g.Handler(fn)
		return func(ctx context.Context, o order) (got receipt, err error) {
			payload, err := json.Marshal(o)
			if err != nil {
				return got, err
			}
			response, err := handler.Invoke(ctx, payload)
			if err != nil {
				return got, err
			}
			return got, json.Unmarshal(response, &got)
		}
	case byFunc:
		return idempotent.Func(g, fn)
	default:
		return func(ctx context.Context, o order) (receipt, error) {
			return idempotent.Do(ctx, g, o.ID, func(ctx context.Context) (receipt, error) { return fn(ctx, o) })
		}
	}
}

// clock is the time by the process's clock.
func (p *process) clock() time.Time { return time.Now().Add(p.ahead) }

// freeze stops the process for a while.
func (p *process) freeze(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thaws = time.Now().Add(d)
}

// thaw waits until the process is not frozen.
func (p *process) thaw() {
	for {
		p.mu.Lock()
		frozen := time.Until(p.thaws)
		p.mu.Unlock()
		if frozen <= 0 {
			return
		}
		p.world.sleep(frozen)
	}
}

// die ends the process. Its goroutines find out at the next point where it can
// make a difference.
func (p *process) die(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead {
		p.dead = true
		p.world.count(deaths)
		p.world.say(p.name, "dies: %s", why)
	}
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}
