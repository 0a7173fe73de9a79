package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

// flaky is a client whose first tries of each call fail; it then says that all is done.
type flaky struct {
	answering
	failures int
	sent     *int
}

func (f flaky) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	if *f.sent++; *f.sent <= f.failures {
		return f.answering.EvalSha(ctx, "", nil)
	}
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(int64(1))
	return cmd
}

func (f flaky) Eval(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return f.EvalSha(ctx, "", nil)
}

var ownersCalls = map[string]func(context.Context, *redisstore.Store, persistence.Lease) error{
	"complete": func(ctx context.Context, s *redisstore.Store, l persistence.Lease) error {
		return s.Complete(ctx, l, success("paid"))
	},
	"checkpoint": func(ctx context.Context, s *redisstore.Store, l persistence.Lease) error {
		return s.Checkpoint(ctx, l, "reserve", nil)
	},
	"renew": func(ctx context.Context, s *redisstore.Store, l persistence.Lease) error {
		l.Until = today.Add(time.Hour)
		return s.Renew(ctx, l)
	},
	"release": func(ctx context.Context, s *redisstore.Store, l persistence.Lease) error { return s.Release(ctx, l) },
}

// A fail-over takes longer than the client's own tries: scripts are sent again while the
// call has time, and not after a refusal.
func TestScriptsAreSentAgainUntilTheTimeIsOver(t *testing.T) {
	for message, passes := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":                            true,
		"READONLY You can't write against a read only replica. script: 1f, on @":    true,
		"CLUSTERDOWN Hash slot not served":                                          true,
		"OOM command not allowed when used memory > 'maxmemory'.":                   true,
		"connection reset by peer":                                                  true,
		"NOPERM this user has no permissions to run the 'evalsha' command":          false,
		"WRONGTYPE Operation against a key holding the wrong kind of value":         false,
		"ERR unknown command 'EVALSHA'":                                             false,
		"NOAUTH Authentication required.":                                           false,
		"redis: client is closed, which is the word of the client and not of Redis": false,
	} {
		var failure error = answer(message)
		switch message {
		case "connection reset by peer":
			failure = errors.New(message)
		case "redis: client is closed, which is the word of the client and not of Redis":
			failure = redis.ErrClosed
		}
		for name, call := range ownersCalls {
			t.Run(name+" "+message, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sent := 0
					client := flaky{answering{failure}, 9, &sent}
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					err := call(ctx, newStore(t, client, redisstore.Config{}), claim("me").Fresh().Lease())
					switch {
					case passes && (err != nil || sent != 10):
						t.Errorf("got %v after %d tries, want it done by the tenth", err, sent)
					case !passes && (err == nil || sent != 1):
						t.Errorf("got %v after %d tries, want one", err, sent)
					}
				})
			})
		}
	}
	t.Run("for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			store := newStore(t, flaky{answering{errors.New("no route")}, 1 << 20, &sent}, redisstore.Config{})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			began := time.Now()
			fails(t, store.Complete(ctx, claim("me").Fresh().Lease(), success("paid")), true)
			if took := time.Since(began); took >= 5*time.Second || took < 4500*time.Millisecond || sent > 60 {
				t.Errorf("%d tries in %v", sent, took)
			}
		})
	})
}

// A primary that was demoted, and is reached by connections that are older than that, has
// old records. It gives no verdict on them, whatever the verdict would be.
func TestADemotedPrimaryGivesNoVerdict(t *testing.T) {
	stale := at(claim("second"), today.Add(2*time.Minute))
	stranger := persistence.Lease{Key: claim("").Key, Owner: "stranger"}
	acquired := func(_ lab, _ persistence.Lease) {}
	for name, before := range map[string]func(lab, persistence.Lease){
		"running":  acquired,
		"absent":   func(l lab, mine persistence.Lease) { l.ok(l.Release(l.t.Context(), mine)) },
		"finished": func(l lab, mine persistence.Lease) { l.ok(l.Complete(l.t.Context(), mine, success("paid"))) },
		"given up": func(l lab, mine persistence.Lease) {
			l.ok(l.Checkpoint(l.t.Context(), mine, "reserve", nil))
			l.ok(l.Release(l.t.Context(), mine))
		},
		"taken over": func(l lab, _ persistence.Lease) { l.acquires(stale) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			mine := l.acquires(claim("me"))
			before(l, mine)
			l.do("REPLICAOF", "127.0.0.1", l.server.port)
			for call, do := range ownersCalls {
				for owner, lease := range map[string]persistence.Lease{"its owner": mine, "a stranger": stranger} {
					if err := do(t.Context(), l.Store, lease); err == nil || errors.Is(err, persistence.ErrLeaseLost) {
						t.Errorf("%s by %s: %v, want a fault", call, owner, err)
					} else {
						fails(t, err, true)
					}
				}
			}
			for _, c := range []persistence.Claim{claim("me"), claim("other"), stale} {
				_, err := l.Acquire(t.Context(), c)
				fails(t, err, true)
			}
		})
	}
}

// With time left, the call waits until there is a primary again.
func TestACallOutlastsAFailOver(t *testing.T) {
	l := newLab(t)
	mine := l.acquires(claim("me"))
	l.do("REPLICAOF", "127.0.0.1", l.server.port)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- l.Complete(ctx, mine, success("paid")) }()
	l.do("REPLICAOF", "NO", "ONE")
	l.ok(<-done)
	l.meets(claim("other"), "me", persistence.StatusCompleted)
}
