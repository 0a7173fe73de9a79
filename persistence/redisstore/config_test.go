package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence/redisstore"
)

var (
	_ redisstore.Client = (*redis.Client)(nil)
	_ redisstore.Client = (*redis.ClusterClient)(nil)
	_ redisstore.Client = redis.UniversalClient(nil)
)

func TestUnfitClientsAndConfigsAreRefused(t *testing.T) {
	heeds := redis.NewClient(&redis.Options{ContextTimeoutEnabled: true})
	for name, test := range map[string]struct {
		client redisstore.Client
		config redisstore.Config
		faults []string
	}{
		"no client":                     {faults: []string{"no client"}},
		"a client without deadlines":    {client: redis.NewClient(&redis.Options{}), faults: []string{"ContextTimeoutEnabled"}},
		"a cluster without deadlines":   {client: redis.NewClusterClient(&redis.ClusterOptions{}), faults: []string{"ContextTimeoutEnabled"}},
		"a ring":                        {client: redis.NewRing(&redis.RingOptions{ContextTimeoutEnabled: true}), faults: []string{"Ring"}},
		"a negative grace, and a limit": {client: heeds, config: redisstore.Config{Grace: -time.Second, MaxValue: -1}, faults: []string{"Grace is -1s", "MaxValue is -1"}},
		"more than Redis takes":         {client: heeds, config: redisstore.Config{MaxValue: 512<<20 + 1}, faults: []string{"MaxValue"}},
		"all of it":                     {config: redisstore.Config{Grace: -1}, faults: []string{"no client", "Grace"}},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := redisstore.New(test.client, test.config)
			if store != nil || !errors.Is(err, redisstore.ErrConfig) {
				t.Fatalf("got %v, %v", store, err)
			}
			for _, fault := range test.faults {
				if !strings.Contains(err.Error(), fault) {
					t.Errorf("want %q in %q", fault, err)
				}
			}
		})
	}
	if _, err := redisstore.New(heeds, redisstore.Config{Grace: time.Hour, MaxValue: 512 << 20}); err != nil {
		t.Error(err)
	}
}
