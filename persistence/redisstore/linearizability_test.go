package redisstore_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/internal/proof/lincheck"
	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

// linearizable runs lincheck on a server behind a hook. Where a busy machine keeps an answer for
// long, the client must not repeat the request by itself: lincheck has to know of each one that may
// have been carried out twice.
func linearizable(t *testing.T, hooks ...around) lincheck.Report {
	t.Helper()
	client := startServer(t).client(t, func(o *redis.Options) { o.ReadTimeout = time.Minute })
	for _, hook := range hooks {
		client.AddHook(hook)
	}
	return lincheck.Run(t, newStore(t, client, redisstore.Config{}), lincheck.Options{Histories: 3})
}

func TestTheStoreIsLinearizable(t *testing.T) { linearizable(t) }

func TestTheStoreIsLinearizableOnTheExternalServer(t *testing.T) {
	client, prefix, set := external(t)
	if !set {
		t.Skip(urlEnv + " is not set")
	}
	lincheck.Run(t, newStore(t, client, redisstore.Config{Prefix: prefix}), lincheck.Options{Histories: 3, Reads: lincheck.FormerOutcome})
}

// everyFifth loses every fifth request, or its reply, by turns; then does what a
// client does about it.
func everyFifth(then func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error) around {
	var requests atomic.Int64
	return func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		n := requests.Add(1)
		if n%5 != 0 {
			return send(ctx, cmd)
		}
		lincheck.Unanswered(ctx)
		if n%10 == 0 {
			_ = send(ctx, cmd)
		}
		return then(ctx, cmd, send)
	}
}

// A caller who gets no answer must reckon with both: that its write was applied,
// and that it was not.
func TestTheStoreIsLinearizableForCallersWhoGetNoAnswer(t *testing.T) {
	report := linearizable(t, everyFifth(func(_ context.Context, cmd redis.Cmder, _ redis.ProcessHook) error {
		cmd.SetErr(io.EOF)
		return io.EOF
	}))
	if report.Unanswered == 0 {
		t.Error("every call was answered")
	}
}

// The client repeats what was not answered: the caller gets its answer, and a write
// may have been applied twice.
func TestTheStoreIsLinearizableForCallersWhoseRequestsAreRepeated(t *testing.T) {
	report := linearizable(t, everyFifth(func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		return send(ctx, cmd)
	}))
	if report.Unanswered == 0 {
		t.Error("no request was lost")
	}
}
