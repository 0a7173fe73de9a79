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
		store.Store = persistence.NewCached(store.Store, persistence.CacheLimits{})
		guarded = clockedCache{store}
	}
	for _, op := range w.operations {
		config := op.config
		config.OnlyEnlists = op.terms.way == atOnce || op.terms.way == oldAndNew && dice.IntN(2) == 0
		if w.flaw.Shared {
			config.Tenants = idempotent.ShareRecords
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

// clocked is the store as a process with a clock of its own uses it. The engine
// reads the one clock that a simulation has; all times that it hands to the store
// and gets from it are shifted. (It is not comparable, so that the engine does not
// remember it for ever.)
type clocked struct {
	Store
	ahead time.Duration
	_     [0]func()
}

// clockedCache is a clocked store that has a cache in front of it.
type clockedCache struct{ clocked }

// Refresh implements [persistence.Refresher].
func (s clockedCache) Refresh(ctx context.Context, key string) (persistence.Record, bool, error) {
	r, found, err := s.Store.(persistence.Refresher).Refresh(ctx, key)
	return s.seen(ctx, r), found, err
}

// Acquire implements [persistence.Store].
func (s clocked) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	i := invocationOf(ctx)
	i.owner, i.leased = c.Owner, true
	r, err := s.Store.Acquire(ctx, s.shifted(c))
	r = s.seen(ctx, r)
	if err == nil && r.Owner == c.Owner {
		i.holds(r.LeaseUntil)
	}
	return r, err
}

// Renew implements [persistence.Renewer]. It is asked for beside the function. Several
// may be due at the same instant, so each lets a moment of its own pass.
func (s clocked) Renew(ctx context.Context, l persistence.Lease) error {
	i := invocationOf(ctx)
	i.world.sleep(time.Duration(i.id) * time.Nanosecond)
	i.renewal.owner = i.owner
	err := s.Store.Renew(context.WithValue(ctx, invocationKey{}, i.renewal), s.longer(l))
	if err == nil {
		i.world.count(renewed)
		i.holds(l.Until)
	}
	return err
}

// Checkpoint implements [persistence.Checkpointer].
func (s clocked) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	err := s.Store.Checkpoint(ctx, s.longer(l), step, output)
	if err == nil {
		invocationOf(ctx).holds(l.Until)
	}
	return err
}

// CheckpointWith implements [persistence.Transactor].
func (s clocked) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []persistence.Write) error {
	err := s.Store.CheckpointWith(ctx, s.longer(l), step, output, writes)
	if err == nil {
		invocationOf(ctx).holds(l.Until)
	}
	return err
}

// longer is a lease by the process's clock.
func (s clocked) longer(l persistence.Lease) persistence.Lease {
	if !l.Until.IsZero() {
		l.Until = l.Until.Add(s.ahead)
	}
	if !l.ExpiresAt.IsZero() {
		l.ExpiresAt = s.expiry(l.ExpiresAt)
	}
	return l
}

func (s clocked) shifted(c persistence.Claim) persistence.Claim {
	c.Now = c.Now.Add(s.ahead)
	c.LeaseUntil = c.LeaseUntil.Add(s.ahead)
	c.ExpiresAt = s.expiry(c.ExpiresAt)
	return c
}

// Complete implements [persistence.Store].
func (s clocked) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	o.ExpiresAt = s.expiry(o.ExpiresAt)
	return s.Store.Complete(ctx, l, o)
}

// CompleteWith implements [persistence.Transactor].
func (s clocked) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []persistence.Write) error {
	o.ExpiresAt = s.expiry(o.ExpiresAt)
	return s.Store.CompleteWith(ctx, l, o, writes)
}

// CompleteAtOnce implements [persistence.Transactor].
func (s clocked) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []persistence.Write) (persistence.Record, error) {
	invocationOf(ctx).owner = c.Owner
	o.ExpiresAt = s.expiry(o.ExpiresAt)
	r, err := s.Store.CompleteAtOnce(ctx, s.shifted(c), o, writes)
	return s.seen(ctx, r), err
}

// Read implements [persistence.Reader].
func (s clocked) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	r, found, err := s.Store.Read(ctx, key)
	return s.seen(ctx, r), found, err
}

// expiry is in whole seconds by the process's clock.
func (s clocked) expiry(t time.Time) time.Time {
	return t.Add(s.ahead + time.Second - time.Nanosecond).Truncate(time.Second)
}

func (s clocked) seen(ctx context.Context, r persistence.Record) persistence.Record {
	invocationOf(ctx).met = r.Owner
	if !r.LeaseUntil.IsZero() {
		r.LeaseUntil = r.LeaseUntil.Add(-s.ahead)
	}
	if !r.ExpiresAt.IsZero() {
		r.ExpiresAt = r.ExpiresAt.Add(-s.ahead)
	}
	return r
}
