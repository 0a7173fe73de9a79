package scale

import (
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// The ways to guard that are compared.
var (
	defaults   = Guard{Name: "defaults"}
	lookFirst  = Guard{Name: "ReadFirst", Config: idempotent.Config{ReadFirst: true}}
	fromMemory = Guard{Name: "Cached", Cached: true}
	waiting    = Guard{Name: "Wait", Config: idempotent.Config{Wait: 2 * time.Second}}
)

func one(key string) func(int) string { return func(int) string { return key } }

func each(prefix string) func(int) string {
	return func(n int) string { return fmt.Sprintf("%s %d", prefix, n) }
}

// storm is so many duplicates a second of one key, for ten seconds, beside 500 requests a second that have nothing to do with it.
func storm(name string, g Guard, rate, share float64) Scenario {
	s := Scenario{
		Name: name, Seed: 1, Share: share, Environments: 1000, Length: 20 * time.Second, Guard: g,
		Streams: []Stream{{Name: "others", Rate: 500, Keys: each("other")}},
	}
	if rate > 0 {
		s.Streams = append(s.Streams, Stream{Name: "storm", Rate: rate, From: 5 * time.Second, To: 15 * time.Second, Keys: one("hot")})
	}
	return s
}

// launch is 50,000 new keys a second for ten seconds.
func launch(name string, environments, writes int, share float64) Scenario {
	return Scenario{
		Name: name, Seed: 1, Share: share, Environments: environments, Writes: writes, Length: 20 * time.Second, Guard: defaults,
		Streams: []Stream{
			{Name: "usual", Rate: 500, Keys: each("usual")},
			{Name: "new", Rate: 50_000, From: 5 * time.Second, To: 15 * time.Second, Keys: each("new")},
		},
	}
}

// short is a table that bears less than it is asked for, for twenty seconds.
func short(name string, share float64) Scenario {
	return Scenario{
		Name: name, Seed: 1, Share: share, Environments: 1000, Writes: 1000, Length: 60 * time.Second, Guard: defaults,
		Streams: []Stream{
			{Name: "usual", Rate: 300, Keys: each("usual")},
			{Name: "more", Rate: 500, From: 5 * time.Second, To: 25 * time.Second, Keys: each("more")},
		},
	}
}

// scenarios are those of docs/scale.md, in its order.
func scenarios() []Scenario {
	return []Scenario{
		storm("no storm", defaults, 0, 0.1),
		storm("storm", defaults, 5000, 0.1),
		storm("storm, at full size", defaults, 5000, 1),
		storm("storm, ReadFirst", lookFirst, 5000, 0.1),
		storm("storm, Cached", fromMemory, 5000, 0.1),
		storm("storm, Wait", waiting, 5000, 0.1),
		storm("storm of 20,000", defaults, 20_000, 0.1),
		storm("storm of 20,000, Cached", fromMemory, 20_000, 0.1),
		launch("launch, new on-demand table", 1000, 0, 0.05),
		launch("launch, 120,000 write units ready", 4000, 120_000, 0.05),
		short("throttled table", 0.2),
	}
}
