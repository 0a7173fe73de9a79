package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

func TestWhatIsWritten(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	wants := func(what string, want map[string]string) {
		t.Helper()
		got, err := l.client.HGetAll(ctx, recordKey).Result()
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %q, %v\nwant %q", what, got, err, want)
		}
	}
	expires := fmt.Sprint(today.Add(time.Hour).Unix())
	lease := l.acquires(claim("first"))
	fresh := map[string]string{
		"status": "PROCESSING", "owner": "first", "fingerprint": "12.50", "attempt": "1", "version": "1",
		"lease_until": fmt.Sprint(today.Add(time.Minute).UnixMilli()), "expire_at": expires,
	}
	wants("a new record", fresh)
	l.ok(l.Checkpoint(ctx, lease, "reserve", []byte("box 7")))
	fresh["step:reserve"] = "box 7"
	wants("a step", fresh)
	l.ok(l.Release(ctx, lease))
	partial := maps.Clone(fresh)
	partial["status"] = "PARTIAL_SUCCESS"
	delete(partial, "lease_until")
	wants("a record given up", partial)
	lease = l.acquires(claim("second"))
	fresh["owner"], fresh["attempt"] = "second", "2"
	wants("a record resumed", fresh)
	l.ok(l.Complete(ctx, lease, success(`{"paid":true}`)))
	done := maps.Clone(partial)
	done["owner"], done["attempt"], done["status"], done["result"] = "second", "2", "COMPLETED", `{"paid":true}`
	wants("a finished record", done)
	omitted := success("")
	omitted.ResultOmitted = true
	l.do("DEL", recordKey)
	l.ok(l.Complete(ctx, l.acquires(claim("third")), omitted))
	wants("one without a result", map[string]string{
		"status": "COMPLETED", "owner": "third", "fingerprint": "12.50", "attempt": "1", "version": "1",
		"expire_at": expires, "result_encoding": "omitted",
	})
}

func TestEachPathTakesTheRequestsThatTheDocumentationSays(t *testing.T) {
	l := newLab(t)
	log := new(sent)
	ctx := t.Context()
	l.acquires(claim("the first of a new server"))
	l.do("DEL", recordKey)
	l.client.AddHook(around(log.log))

	l.acquires(claim("first"))
	log.wants(t, "evalsha")
	l.meets(claim("second"), "first", persistence.StatusProcessing)
	log.wants(t, "evalsha")
	lease := l.acquires(at(claim("third"), today.Add(2*time.Minute)))
	log.wants(t, "evalsha", "evalsha")
	l.ok(l.Checkpoint(ctx, lease, "reserve", nil))
	log.wants(t, "evalsha", "eval") // new to the server
	l.ok(l.Checkpoint(ctx, lease, "charge", nil))
	log.wants(t, "evalsha")
	l.ok(l.Complete(ctx, lease, success("")))
	log.wants(t, "evalsha", "eval")
	l.meets(claim("fourth"), "third", persistence.StatusCompleted)
	log.wants(t, "evalsha")
	if _, found, err := l.Read(ctx, lease.Key); !found || err != nil {
		t.Error(found, err)
	}
	log.wants(t, "hgetall")
	lease = l.acquires(at(claim("fifth"), today.Add(2*time.Hour)))
	log.wants(t, "evalsha", "evalsha")
	l.ok(l.Release(ctx, lease))
	log.wants(t, "evalsha", "eval")
}

func TestTheScriptsAreSentAgainToAServerThatHasForgottenThem(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	flush := func() { l.do("SCRIPT", "FLUSH") }
	lease := l.acquires(claim("first"))
	flush()
	l.ok(l.Checkpoint(ctx, lease, "reserve", nil))
	flush()
	l.ok(l.Release(ctx, lease))
	flush()
	lease = l.acquires(claim("second"))
	flush()
	l.ok(l.Complete(ctx, lease, success("paid")))
	flush()
	l.meets(claim("third"), "second", persistence.StatusCompleted)
}

// What the server has on its disk is as good as before.
func TestRecordsOutliveARestart(t *testing.T) {
	l := newLab(t, "--appendonly", "yes", "--appendfsync", "always")
	ctx := t.Context()
	lease := l.acquires(claim("first"))
	l.ok(l.Checkpoint(ctx, lease, "reserve", []byte("box 7")))
	l.server.restart(t)
	if r := l.meets(claim("second"), "first", persistence.StatusProcessing); string(r.Steps["reserve"]) != "box 7" {
		t.Errorf("steps %q", r.Steps)
	}
	l.ok(l.Complete(ctx, lease, success("paid")))
	l.server.restart(t)
	if r := l.meets(claim("third"), "first", persistence.StatusCompleted); string(r.Result) != "paid" {
		t.Errorf("result %q", r.Result)
	}
}

// A fail-over may lose what was acknowledged. Then a second caller runs, and the
// first is told that it was not alone.
func TestWhoseRecordIsLostInAFailOverIsTold(t *testing.T) {
	primary, replica := newLab(t, "--repl-diskless-sync-delay", "0"), newLab(t)
	replica.do("REPLICAOF", "127.0.0.1", primary.server.port)
	lease := primary.acquires(claim("earlier"))
	if n := primary.do("WAIT", 1, 0); n != int64(1) {
		t.Fatalf("%v replicas", n)
	}
	replica.do("REPLICAOF", "NO", "ONE") // the primary does not know it yet
	primary.ok(primary.Release(t.Context(), lease))
	first := primary.acquires(claim("first"))

	replica.meets(claim("second"), "earlier", persistence.StatusProcessing)
	second := replica.acquires(at(claim("second"), today.Add(2*time.Minute)))
	if err := replica.Complete(t.Context(), first, success("by the first")); !errors.Is(err, persistence.ErrLeaseLost) {
		t.Errorf("the first completes with %v", err)
	}
	replica.ok(replica.Complete(t.Context(), second, success("by the second")))
}

// The server removes what has expired, a grace later: never what a caller whose
// clock is slow might still ask for.
func TestWhenTheServerMayRemoveARecord(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	l.Store = newStore(t, l.client, redisstore.Config{Grace: 10 * time.Minute})
	left := func(what string, want time.Duration) {
		t.Helper()
		got := l.client.PTTL(ctx, recordKey).Val()
		if off := time.Now().Add(got).Sub(today.Add(want)); off.Abs() > 500*time.Millisecond {
			t.Errorf("%s: removed in %v, want it at %v after the claim", what, got, want)
		}
	}
	const lastSecond, grace = time.Second, 10 * time.Minute
	l.acquires(claim("first"))
	left("a new record", time.Hour+lastSecond+grace)
	second := l.acquires(at(claim("second"), today.Add(30*time.Minute)))
	left("one taken over", 90*time.Minute+lastSecond+grace)
	l.ok(l.Complete(ctx, second, success("paid")))
	left("a finished one", time.Hour+lastSecond+grace)

	l.do("DEL", recordKey)
	lease := l.acquires(claim("third"))
	never := success("paid")
	never.ExpiresAt = time.Time{}
	l.ok(l.Complete(ctx, lease, never))
	if ttl := l.client.PTTL(ctx, recordKey).Val(); ttl != -1 {
		t.Errorf("one that never expires is removed in %v", ttl)
	}
	l.meets(at(claim("fourth"), today.AddDate(50, 0, 0)), "third", persistence.StatusCompleted)
}

func TestAnExpiryIsRoundedUp(t *testing.T) {
	l := newLab(t)
	c := claim("first")
	c.LeaseUntil, c.ExpiresAt = c.LeaseUntil.Add(time.Microsecond), c.ExpiresAt.Add(time.Millisecond)
	r, err := l.Acquire(t.Context(), c)
	if err != nil || !r.LeaseUntil.Equal(today.Add(time.Minute+time.Millisecond)) || !r.ExpiresAt.Equal(today.Add(time.Hour+time.Second)) {
		t.Errorf("got %+v, %v", r, err)
	}
}

// By the server's clock such a record is long over, so it can't be kept, and the
// operation must not run without it.
func TestAClaimFromThePastIsRefused(t *testing.T) {
	l := newLab(t)
	_, err := l.Acquire(t.Context(), at(claim("first"), today.AddDate(-1, 0, 0)))
	fails(t, err, false)
	if !strings.Contains(err.Error(), "clock") {
		t.Error(err)
	}
}

// afterTheFirst sends a command after the first request of the store.
func (l lab) afterTheFirst(command ...any) {
	sent := false
	l.client.AddHook(around(func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		err := send(ctx, cmd)
		if !sent {
			sent = true
			l.do(command...)
		}
		return err
	}))
}

// The record that was seen may have changed before the write arrives. The claim is
// then decided by what is there.
func TestARecordThatChangesBeforeItIsTakenIsJudgedAnew(t *testing.T) {
	for name, test := range map[string]struct {
		change  []any
		owner   string
		attempt int
	}{
		"completed":           {[]any{"HSET", recordKey, "status", "COMPLETED", "result", "late"}, "first", 1},
		"taken over":          {[]any{"HSET", recordKey, "owner", "somebody", "attempt", 2}, "second", 3},
		"its lease is longer": {[]any{"HSET", recordKey, "lease_until", today.Add(time.Hour).UnixMilli()}, "first", 1},
		"its lease is open":   {[]any{"HDEL", recordKey, "lease_until"}, "first", 1},
		"its end has come":    {[]any{"HSET", recordKey, "expire_at", today.Unix()}, "second", 1},
		"another payload":     {[]any{"HSET", recordKey, "fingerprint", "13.50"}, "first", 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.acquires(claim("first"))
			l.afterTheFirst(test.change...)
			r, err := l.Acquire(t.Context(), at(claim("second"), today.Add(2*time.Minute)))
			if err != nil || r.Owner != test.owner || r.Attempt != test.attempt {
				t.Errorf("got %+v, %v", r, err)
			}
			if owner := l.client.HGet(t.Context(), recordKey, "owner").Val(); owner != test.owner {
				t.Errorf("the record is %s's", owner)
			}
		})
	}
}

func TestARecordThatVanishesBeforeItIsTakenIsMadeAnew(t *testing.T) {
	for name, after := range map[string]time.Duration{"stale": 2 * time.Minute, "expired": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.acquires(claim("first"))
			l.afterTheFirst("DEL", recordKey)
			r, err := l.Acquire(t.Context(), at(claim("second"), today.Add(after)))
			if err != nil || r.Owner != "second" || r.Attempt != 1 {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

// disturb lets somebody else take the record before each of the first so many
// requests of the store.
func (l lab) disturb(most int) (rounds *int) {
	rounds = new(int)
	l.client.AddHook(around(func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		if *rounds++; *rounds <= most {
			l.do("HSET", recordKey, "owner", fmt.Sprint("somebody ", *rounds))
		}
		return send(ctx, cmd)
	}))
	return rounds
}

func TestAnAcquireThatNeverWinsGivesUp(t *testing.T) {
	l := newLab(t)
	l.acquires(claim("first"))
	rounds := l.disturb(100)
	_, err := l.Acquire(t.Context(), at(claim("second"), today.Add(2*time.Minute)))
	fails(t, err, true)
	if *rounds != 8 {
		t.Errorf("%d rounds", *rounds)
	}
}

func TestAnAcquireThatWinsAtLastHasWon(t *testing.T) {
	l := newLab(t)
	l.acquires(claim("first"))
	rounds := l.disturb(7)
	l.acquires(at(claim("second"), today.Add(2*time.Minute)))
	if *rounds != 8 {
		t.Errorf("%d rounds", *rounds)
	}
}

func TestValuesOverTheLimitAreRefused(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	l.Store = newStore(t, l.client, redisstore.Config{MaxValue: 10})
	lease := l.acquires(claim("first"))
	for what, err := range map[string]error{
		"result": l.Complete(ctx, lease, success("12345678901")),
		"step":   l.Checkpoint(ctx, lease, "step", []byte("1234567")),
	} {
		if !errors.Is(err, persistence.ErrTooLarge) {
			t.Errorf("%s: %v", what, err)
		}
	}
	l.ok(l.Checkpoint(ctx, lease, "step", []byte("123456")))
	l.ok(l.Complete(ctx, lease, success("1234567890")))

	l.do("DEL", recordKey)
	omitted := success("12345678901")
	omitted.ResultOmitted = true
	l.ok(l.Complete(ctx, l.acquires(claim("second")), omitted))
}

func TestAStepNeedsAName(t *testing.T) {
	l := newLab(t)
	if err := l.Checkpoint(t.Context(), l.acquires(claim("first")), "", nil); !errors.Is(err, persistence.ErrInvalid) {
		t.Error(err)
	}
}

// What can't be understood is neither replaced nor run, not even when it seems to
// have expired.
func TestUnreadableRecordsAreRefused(t *testing.T) {
	l := newLab(t)
	for name, plant := range map[string][]any{
		"no hash":              {"SET", recordKey, `{"status":"COMPLETED"}`},
		"a foreign hash":       {"HSET", recordKey, "name", "somebody"},
		"no version":           {"HSET", recordKey, "status", "PROCESSING", "owner", "first"},
		"a newer version":      {"HSET", recordKey, "status", "PROCESSING", "owner", "first", "version", "2"},
		"no status":            {"HSET", recordKey, "version", "1", "owner", "first"},
		"an unknown status":    {"HSET", recordKey, "version", "1", "status", "DONE", "expire_at", "1"},
		"one with a result":    {"HSET", recordKey, "version", "1", "status", "DONE", "result", "paid"},
		"a lease of no number": {"HSET", recordKey, "version", "1", "status", "PROCESSING", "lease_until", "soon"},
		"an expiry of none":    {"HSET", recordKey, "version", "1", "status", "PROCESSING", "expire_at", "1e9"},
		"an attempt of none":   {"HSET", recordKey, "version", "1", "status", "PROCESSING", "attempt", "one"},
		"an unknown encoding":  {"HSET", recordKey, "version", "1", "status", "COMPLETED", "result", "x", "result_encoding", "zstd"},
		"no result":            {"HSET", recordKey, "version", "1", "status", "FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			l.do("DEL", recordKey)
			l.do(plant...)
			before := l.do("DUMP", recordKey)
			_, err := l.Acquire(t.Context(), claim("first"))
			fails(t, err, false)
			_, found, reading := l.Read(t.Context(), "payment#1")
			fails(t, reading, false)
			if !errors.Is(err, persistence.ErrUnreadable) || !errors.Is(reading, persistence.ErrUnreadable) || found {
				t.Errorf("acquire: %v\nread: %t %v", err, found, reading)
			}
			if l.do("DUMP", recordKey) != before {
				t.Error("the record has changed")
			}
		})
	}
}

func TestPrefixesKeepApplicationsApart(t *testing.T) {
	l := newLab(t)
	l.acquires(claim("first"))
	l.Store = newStore(t, l.client, redisstore.Config{Prefix: "{shop}:"})
	l.acquires(claim("second"))
	if n := l.do("EXISTS", recordKey, "{shop}:payment#1"); n != int64(2) {
		t.Errorf("%v records", n)
	}
}
