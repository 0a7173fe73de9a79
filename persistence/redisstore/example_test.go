package redisstore_test

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

// Nothing is sent before the first call.
func ExampleNew() {
	client := redis.NewClient(&redis.Options{
		Addr:                  "cache.internal:6379",
		ContextTimeoutEnabled: true,        // a call ends with its context
		ReadTimeout:           time.Second, // a reply that late will not come
	})
	store, err := redisstore.New(client, redisstore.Config{Prefix: "shop:idempotency:"})
	if err != nil {
		panic(err)
	}
	_, err = idempotent.New(store, idempotent.Config{Operation: "payment"})
	fmt.Println(err)
	// Output: <nil>
}

// A cluster is used in the same way.
func ExampleNew_cluster() {
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                 []string{"cluster.internal:6379"},
		ContextTimeoutEnabled: true,
		ReadTimeout:           time.Second,
	})
	_, err := redisstore.New(client, redisstore.Config{})
	fmt.Println(err)
	// Output: <nil>
}

// What is wrong with the client and the config is said before anything is sent.
func ExampleConfig() {
	client := redis.NewClient(&redis.Options{Addr: "cache.internal:6379"})
	_, err := redisstore.New(client, redisstore.Config{Grace: -time.Minute})
	fmt.Println(err)
	// Output:
	// redisstore: invalid configuration: the client ignores the deadlines of contexts: set ContextTimeoutEnabled in its options
	// redisstore: invalid configuration: Grace is -1m0s
}
