package redisstore_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

// What other clients need besides: one of another database, and one of a cluster.
func TestThePermissionsOfOtherClients(t *testing.T) {
	needed := []any{
		"+evalsha", "+eval", "+exists", "+hgetall", "+hmget", "+hset", "+hsetnx", "+hdel", "+hkeys", "+del", "+pexpireat", "+persist",
	}
	allow := func(t *testing.T, s *server, more ...any) {
		t.Helper()
		args := append([]any{"ACL", "SETUSER", "ikkai", "reset", "on", ">secret", "~idempotency:*"}, needed...)
		if err := s.client(t).Do(t.Context(), append(args, more...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	works := func(t *testing.T, client redisstore.Client) error {
		_, err := newStore(t, client, redisstore.Config{}).Acquire(t.Context(), claim("first"))
		return err
	}
	t.Run("another database", func(t *testing.T) {
		s := startServer(t)
		connect := func() redisstore.Client {
			return s.client(t, func(o *redis.Options) { o.Username, o.Password, o.DB = "ikkai", "secret", 1 })
		}
		if allow(t, s); works(t, connect()) == nil {
			t.Error("SELECT needs no permission")
		}
		allow(t, s, "+select")
		if err := works(t, connect()); err != nil {
			t.Error(err)
		}
	})
	t.Run("a cluster", func(t *testing.T) {
		s := startServer(t, "--cluster-enabled", "yes")
		_ = s.cluster(t) // which has the slots then
		connect := func() redisstore.Client {
			return redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: []string{s.address()}, Username: "ikkai", Password: "secret", ContextTimeoutEnabled: true,
			})
		}
		if allow(t, s); works(t, connect()) == nil {
			t.Error("CLUSTER SLOTS needs no permission")
		}
		allow(t, s, "+cluster|slots", "+command")
		if err := works(t, connect()); err != nil {
			t.Error(err)
		}
	})
}
