package lincheck

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// start is when every history begins: so far in the future that no process which
// removes expired records interferes.
var start = time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC)

// tick is what all times are multiples of, so that the edges of leases and
// records are met again and again. A turn takes up to two of them.
const tick = 250 * time.Millisecond

// round is one history in the making.
type round struct {
	history
	store   persistence.Store
	options Options
	keys    []string
	elapsed atomic.Int64 // of the shared clock, in ticks

	mu       sync.Mutex
	unwanted error // the first that the contract does not foresee
}

// play lets a crowd of clients loose and returns when all of them are done. A
// small crowd takes as many turns as a large one: some things only happen to
// those who are not disturbed.
func play(ctx context.Context, s persistence.Store, o Options, crowd int, seed uint64) (*round, error) {
	r := &round{store: s, options: o}
	nonce := rand.Text()[:12]
	for i := range o.Keys {
		r.keys = append(r.keys, fmt.Sprintf("lincheck/%s/%d", nonce, i))
	}
	var clients sync.WaitGroup
	for i := range crowd {
		c := newClient(r, i, seed)
		clients.Go(func() {
			for range o.Turns * o.Clients / crowd {
				c.turn(ctx)
			}
		})
	}
	clients.Wait()
	return r, r.unwanted
}

// client is one caller of the store, with a clock that is fast or slow.
type client struct {
	*round
	number int
	dice   *mathrand.Rand
	skew   time.Duration
	key    string // of the last turn: most owners go on with what they have begun
	claims int
	held   map[string]holding // by key
}

// holding is what a client knows of its last claim of a key.
type holding struct {
	lease persistence.Lease
	last  call // that was about the lease: every call may be repeated
	over  bool // as far as the client knows, there is nothing left to write
}

func newClient(r *round, number int, seed uint64) *client {
	c := &client{round: r, number: number, dice: mathrand.New(mathrand.NewPCG(seed, uint64(number))), held: make(map[string]holding)}
	if r.options.Clocks == Differing {
		c.skew = time.Duration(c.dice.IntN(5)-2) * time.Second
	}
	return c
}

// turn makes one call, chosen by the dice and by what the client knows.
func (c *client) turn(ctx context.Context) {
	if c.key == "" || c.dice.IntN(3) == 0 {
		c.key = c.keys[c.dice.IntN(len(c.keys))]
	}
	key := c.key
	c.during(ctx, c.number, func(ctx context.Context) (call, answer) {
		call := c.choose(key)
		shown, err := call.send(ctx, c.store)
		a, err := answerOf(shown, err)
		if err != nil {
			c.refuse(fmt.Errorf("%v: %w", call, err))
		}
		c.learn(key, call, a)
		return call, a
	})
}

// choose picks a call: mostly what its claim of the key entitles the client to,
// but also what an owner would do who does not know yet, or does not care, that
// the lease is lost.
func (c *client) choose(key string) call {
	h, claimed := c.held[key]
	_, reads := c.store.(persistence.Reader)
	_, checkpoints := c.store.(persistence.Checkpointer)
	switch {
	case c.repeatable(h.last) && c.dice.IntN(6) == 0:
		return h.last
	case !claimed, h.over && c.dice.IntN(2) == 0:
		return c.newClaim(key)
	}
	switch n := c.dice.IntN(16); {
	case reads && n < 2:
		return reading{key}
	case n < 4:
		return c.newClaim(key)
	case checkpoints && n < 8:
		step := []string{"reserve", "charge", "ship"}[c.dice.IntN(3)]
		return checkpoint{h.lease, step, fmt.Sprintf("%s by %s", step, h.lease.Owner)}
	case n < 12:
		return release{h.lease}
	default:
		return completion{h.lease, c.newOutcome(h.lease)}
	}
}

// repeatable tells whether a call can be made again. A claim carries its clock
// reading with it, which is a slow clock's by then.
func (c *client) repeatable(last call) bool {
	if _, claims := last.(claim); claims {
		return c.options.Clocks == Differing
	}
	return last != nil
}

func (c *client) newClaim(key string) claim {
	c.claims++
	now := c.now()
	lease := c.later(now, 2, 16)
	made := claim{persistence.Claim{
		Key:         key,
		Owner:       fmt.Sprintf("client %d, claim %d", c.number, c.claims),
		Fingerprint: []string{"", "A", "A", "A", "A", "B"}[c.dice.IntN(6)],
		Now:         now,
		LeaseUntil:  lease,
		ExpiresAt:   wholeSecond(c.later(lease, 0, 24)),
	}}
	if c.dice.IntN(6) == 0 {
		made.RefuseUnknown = true
	}
	return made
}

func (c *client) newOutcome(l persistence.Lease) persistence.Outcome {
	now := c.now()
	o := persistence.Outcome{
		Status:    persistence.StatusCompleted,
		Result:    fmt.Appendf(nil, "%s at %s", l.Owner, clock(now.UnixMilli())),
		ExpiresAt: wholeSecond(c.later(now, 4, 24)),
	}
	switch c.dice.IntN(6) {
	case 0:
		o.Status = persistence.StatusFailed
	case 1:
		o.ResultOmitted = true
	}
	return o
}

// now reads the client's clock. What is below a millisecond must not matter.
func (c *client) now() time.Time {
	elapsed := c.elapsed.Add(c.dice.Int64N(3))
	return start.Add(time.Duration(elapsed)*tick + c.skew + time.Duration(c.dice.IntN(1000))*time.Microsecond)
}

// later returns a time that is some ticks after another.
func (c *client) later(t time.Time, least, most int) time.Time {
	return t.Truncate(tick).Add(time.Duration(least+c.dice.IntN(most-least+1)) * tick)
}

func wholeSecond(t time.Time) time.Time { return t.Add(time.Second - 1).Truncate(time.Second) }

// learn draws the conclusions that a caller would draw from an answer.
func (c *client) learn(key string, made call, a answer) {
	h := c.held[key]
	answered := a.verdict != unanswered
	switch made := made.(type) {
	case reading:
		return
	case claim:
		owned := answered && a.shown.running() && a.shown.owner == made.Owner
		if made.Owner != h.lease.Owner {
			h = holding{}
		}
		h.over = answered && !owned
		h.lease = persistence.Lease{Key: key, Owner: made.Owner, Fingerprint: made.Fingerprint}
		if owned {
			h.lease = a.shown.lease()
		}
	case checkpoint:
		h.over = h.over || a.verdict == leaseLost || a.verdict == settled && a.shown.finished()
		if a.verdict == granted && c.dice.IntN(2) == 0 {
			steps := map[string][]byte{made.step: []byte(made.output)}
			maps.Copy(steps, h.lease.Steps)
			h.lease.Steps = steps
		}
	case completion:
		h.over = h.over || answered
	case release:
		h.over = h.over || answered
	}
	h.last = made
	c.held[key] = h
}

// refuse keeps the first error that the contract does not foresee.
func (r *round) refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unwanted == nil {
		r.unwanted = err
	}
}
