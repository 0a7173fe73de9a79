package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

// today is when all claims are made: the server removes what has expired by its own
// clock.
var today = time.Now().Truncate(time.Second)

func claim(owner string) persistence.Claim {
	return persistence.Claim{
		Key: "payment#1", Owner: owner, Fingerprint: "12.50",
		Now: today, LeaseUntil: today.Add(time.Minute), ExpiresAt: today.Add(time.Hour),
	}
}

// at is the claim at another time.
func at(c persistence.Claim, now time.Time) persistence.Claim {
	c.LeaseUntil = c.LeaseUntil.Add(now.Sub(c.Now))
	c.ExpiresAt = c.ExpiresAt.Add(now.Sub(c.Now))
	c.Now = now
	return c
}

func success(result string) persistence.Outcome {
	return persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: today.Add(time.Hour)}
}

// lab is a store on a server of its own, and clients: of the store, and to look
// behind it.
type lab struct {
	*redisstore.Store
	server *server
	client *redis.Client
	behind *redis.Client
	t      *testing.T
}

func newLab(t *testing.T, options ...string) lab {
	t.Helper()
	s := startServer(t, options...)
	client := s.client(t, impatient)
	return lab{newStore(t, client, redisstore.Config{}), s, client, s.client(t), t}
}

const recordKey = "idempotency:payment#1"

// acquires demands that a claim gets the record.
func (l lab) acquires(c persistence.Claim) persistence.Lease {
	l.t.Helper()
	r, err := l.Acquire(l.t.Context(), c)
	if err != nil || r.Owner != c.Owner || r.Status != persistence.StatusProcessing {
		l.t.Fatalf("%s got %+v, %v", c.Owner, r, err)
	}
	return r.Lease()
}

// meets demands that a claim meets somebody's record, and returns it.
func (l lab) meets(c persistence.Claim, owner string, status persistence.Status) persistence.Record {
	l.t.Helper()
	r, err := l.Acquire(l.t.Context(), c)
	if err != nil || r.Owner != owner || r.Status != status {
		l.t.Fatalf("%s got %+v, %v", c.Owner, r, err)
	}
	return r
}

func (l lab) ok(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// do sends a command past the store.
func (l lab) do(args ...any) any {
	l.t.Helper()
	answer, err := l.behind.Do(l.t.Context(), args...).Result()
	if err != nil {
		l.t.Fatal(args, err)
	}
	return answer
}

// fails demands a Fault.
func fails(t *testing.T, err error, retryable bool) {
	t.Helper()
	if fault, ok := errors.AsType[*persistence.Fault](err); !ok || fault.Retryable != retryable {
		t.Errorf("want a Fault, retryable %t, got %#v", retryable, err)
	}
}

// around is a hook that does something around every command of a client.
type around func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error

func (a around) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a around) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a around) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return a(ctx, cmd, next) }
}

// sent is a log of the commands that a client has sent.
type sent struct {
	mu       sync.Mutex
	commands []string
}

func (s *sent) log(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
	s.mu.Lock()
	s.commands = append(s.commands, cmd.Name())
	s.mu.Unlock()
	return send(ctx, cmd)
}

// wants demands what was sent since it was last asked.
func (s *sent) wants(t *testing.T, commands ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.commands, commands) {
		t.Errorf("sent %s, want %s", strings.Join(s.commands, ", "), strings.Join(commands, ", "))
	}
	s.commands = nil
}
