package redisstore_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

// answer is an error that Redis answers with.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

// answering is a client that gets the same answer to everything.
type answering struct{ err error }

func (a answering) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(a.err)
	return cmd
}

func (a answering) Eval(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	return a.EvalSha(ctx, "", nil)
}

func (a answering) HGetAll(ctx context.Context, _ string) *redis.MapStringStringCmd {
	cmd := redis.NewMapStringStringCmd(ctx)
	cmd.SetErr(a.err)
	return cmd
}

// The words are those of Redis 6 and 7.
func TestWhichFailuresMayPass(t *testing.T) {
	for message, retryable := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":                                                                                      true,
		"READONLY You can't write against a read only replica. script: 1f, on @":                                                              true,
		"ERR Error running script (call to f_1f): @user_script:22: @user_script: 22: -READONLY You can't write against a read only replica. ": true,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":                                                    true,
		"CLUSTERDOWN Hash slot not served":                                                                                                    true,
		"MOVED 3999 127.0.0.1:6381":                                                                                                           true,
		"ASK 3999 127.0.0.1:6381":                                                                                                             true,
		"TRYAGAIN Multiple keys request during rehashing of slot":                                                                             true,
		"OOM command not allowed when used memory > 'maxmemory'.":                                                                             true,
		"ERR Error running script (call to f_1f): @user_script:29: @user_script: 29: -OOM command not allowed when used memory > 'maxmemory'.": true,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.":                                     true,
		"NOREPLICAS Not enough good replicas to write.":                                                                                        true,
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":                                               true,
		"ERR max number of clients reached":                                                                                                    true,
		"NOAUTH Authentication required.":                                                                                                      false,
		"WRONGPASS invalid username-password pair or user is disabled.":                                                                        false,
		"NOPERM this user has no permissions to run the 'evalsha' command":                                                                     false,
		"ERR unknown command 'EVALSHA'":                                                                                                        false,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                                                                    false,
		"ERR Error running script (call to f_1f): @user_script:14: WRONGTYPE Operation again":                                                  false,
	} {
		store := newStore(t, answering{answer(message)}, redisstore.Config{})
		_, acquiring := store.Acquire(t.Context(), claim("first"))
		_, _, reading := store.Read(t.Context(), "payment#1")
		l := claim("first").Fresh().Lease()
		for _, err := range []error{
			acquiring, reading,
			store.Complete(t.Context(), l, success("")), store.Release(t.Context(), l), store.Checkpoint(t.Context(), l, "step", nil),
		} {
			fails(t, err, retryable)
			if err != nil && errors.Is(err, persistence.ErrUnreadable) != strings.Contains(message, "WRONGTYPE") {
				t.Error(err)
			}
		}
	}
	store := newStore(t, answering{errors.New("connection reset by peer")}, redisstore.Config{})
	_, err := store.Acquire(t.Context(), claim("first"))
	fails(t, err, true)
}

// A server without memory starts nothing new, and records what has happened.
func TestAServerWithoutMemoryStillRecordsWhatHasHappened(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	lease := l.acquires(claim("first"))
	with := claim("second")
	with.Key = "payment#2"
	stepped := l.acquires(with)
	l.ok(l.Checkpoint(ctx, stepped, "reserve", nil))
	l.do("CONFIG", "SET", "maxmemory", 1)

	other := claim("third")
	other.Key = "payment#3"
	_, err := l.Acquire(ctx, other)
	fails(t, err, true)
	fails(t, l.Checkpoint(ctx, lease, "reserve", nil), true)
	l.ok(l.Complete(ctx, lease, success("paid")))
	l.ok(l.Release(ctx, stepped))
	if r := l.meets(claim("fourth"), "first", persistence.StatusCompleted); string(r.Result) != "paid" {
		t.Errorf("result %q", r.Result)
	}
	if n := l.do("EXISTS", "idempotency:payment#3"); n != int64(0) {
		t.Error("the refused record is there")
	}
}

func TestAReplicaAndAPrimaryWithoutReplicasRefuse(t *testing.T) {
	l := newLab(t)
	l.do("CONFIG", "SET", "min-replicas-to-write", 1)
	_, err := l.Acquire(t.Context(), claim("first"))
	fails(t, err, true)
	l.do("CONFIG", "SET", "min-replicas-to-write", 0)
	l.acquires(claim("second"))
	l.do("REPLICAOF", "127.0.0.1", l.server.port)
	fails(t, l.Complete(t.Context(), claim("second").Fresh().Lease(), success("paid")), true)
	l.do("REPLICAOF", "NO", "ONE")
	l.ok(l.Complete(t.Context(), claim("second").Fresh().Lease(), success("paid")))
}

func TestAServerThatIsGone(t *testing.T) {
	l := newLab(t)
	lease := l.acquires(claim("first"))
	l.server.kill()
	fails(t, l.Complete(t.Context(), lease, success("paid")), true)
}

// Without one of them, something does not work; with them, everything does.
func TestThePermissionsThatTheDocumentationAsksFor(t *testing.T) {
	l := newLab(t)
	needed := []string{
		"+evalsha", "+eval", "+exists", "+hgetall", "+hmget", "+hset", "+hsetnx", "+hdel", "+hkeys", "+del", "+pexpireat", "+persist",
	}
	everything := func(t *testing.T, permissions []string) error {
		l.do("FLUSHALL")
		l.do("SCRIPT", "FLUSH")
		setUser := []any{"ACL", "SETUSER", "ikkai", "reset", "on", ">secret", "~idempotency:*"}
		for _, p := range permissions {
			setUser = append(setUser, p)
		}
		l.do(setUser...)
		client := l.server.client(t, func(o *redis.Options) { o.Username, o.Password = "ikkai", "secret" })
		store := newStore(t, client, redisstore.Config{})
		ctx := t.Context()
		var errs []error
		acquire := func(c persistence.Claim) persistence.Lease {
			r, err := store.Acquire(ctx, c)
			errs = append(errs, err)
			return r.Lease()
		}
		lease := acquire(claim("first"))
		if errs[0] != nil {
			return errs[0]
		}
		_, _, reading := store.Read(ctx, lease.Key)
		errs = append(errs, reading, store.Checkpoint(ctx, lease, "reserve", nil), store.Release(ctx, lease))
		lease = acquire(claim("second"))
		errs = append(errs, store.Complete(ctx, lease, success("")))
		acquire(claim("third"))
		lease = acquire(at(claim("fourth"), today.Add(2*time.Hour)))
		errs = append(errs, store.Release(ctx, lease))
		lease = acquire(claim("fifth"))
		errs = append(errs, store.Complete(ctx, lease, persistence.Outcome{Status: persistence.StatusFailed}))
		return errors.Join(errs...)
	}
	if err := everything(t, needed); err != nil {
		t.Error(err)
	}
	for i, permission := range needed {
		t.Run("without "+permission, func(t *testing.T) {
			err := everything(t, slices.Delete(slices.Clone(needed), i, i+1))
			if err == nil {
				t.Fatal("it is not needed")
			}
			if fault, ok := errors.AsType[*persistence.Fault](err); !ok || fault.Retryable {
				t.Errorf("want a Fault that does not pass, got %v", err)
			}
		})
	}
}

func TestAWrongPasswordIsNoPassingFailure(t *testing.T) {
	l := newLab(t)
	l.do("CONFIG", "SET", "requirepass", "secret")
	for what, password := range map[string]string{"none": "", "a wrong one": "wrong"} {
		store := newStore(t, l.server.client(t, func(o *redis.Options) { o.Password = password }), redisstore.Config{})
		_, err := store.Acquire(t.Context(), claim("first"))
		t.Log(what, err)
		fails(t, err, false)
	}
}

// A server that does not answer costs no more time than the context has.
func TestDeadlinesAreHeeded(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := redis.NewClient(&redis.Options{Addr: silent.Addr().String(), ContextTimeoutEnabled: true})
	defer client.Close()
	store := newStore(t, client, redisstore.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = store.Acquire(ctx, claim("first"))
	fails(t, err, true)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.Canceled) {
		t.Error(err)
	}
}
