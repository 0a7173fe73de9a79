package dynamotest

import (
	"fmt"
	"testing"
	"time"
)

// Whatever the load, a hot item stays with what one partition bears, and partitions that are hot by many items are split.
func TestPartitionsAreSplitForHeatButNotForOneItem(t *testing.T) {
	keys := newCollection(keySchema{{name: "customer", kind: kindString}, {name: "number", kind: kindNumber, sort: true}}, nil)
	at := func(customer string, number int) place {
		n, err := parseNumber(fmt.Sprint(number))
		if err != nil {
			t.Fatal(err)
		}
		return keys.place(item{"customer": stringValue(customer), "number": numberValue(n)})
	}
	// Writes a second; one of them stands for ten units, to save time.
	const load, cost = 250, 20
	start := time.Unix(1_700_000_000, 0)
	for name, c := range map[string]struct {
		cut    int
		place  func(second, n int) place
		before int // writes accepted a second, at first and after load of several minutes
		after  int
	}{
		"one item":                           {0, func(int, int) place { return at("one", 1) }, 1000, 1000},
		"one customer":                       {0, func(_, n int) place { return at("one", n) }, 1000, load * cost},
		"one customer, with a local index":   {1, func(_, n int) place { return at("one", n) }, 1000, 1000},
		"an ever-growing number":             {0, func(second, n int) place { return at("one", second*load+n) }, 1000, 1000},
		"many customers":                     {0, func(_, n int) place { return at(fmt.Sprint("customer ", n%100), 1) }, 4000, load * cost},
		"many customers, with a local index": {1, func(_, n int) place { return at(fmt.Sprint("customer ", n%100), n) }, 4000, load * cost},
		"one item of many hot ones":          {0, func(_, n int) place { return at("one", n%4*n) }, 1000, 1000 + load*cost*3/4},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHeat(start, true, throughput{}, 1, c.cut)
			accepted := func(second int) int {
				accepted := 0
				for n := range load {
					now := start.Add(time.Duration(second)*time.Second + time.Second*time.Duration(n)/load)
					p := c.place(second, n)
					limit, ok := h.admit(now, p, writing, 0)
					if ok {
						h.take(p, Capacity{Write: cost})
						accepted += cost
					} else if limit != "KeyRangeThroughputExceeded" {
						t.Fatalf("refused for %s", limit)
					}
				}
				return accepted
			}
			about := func(got, want int) bool { return want*85/100 <= got && got <= want*115/100 }
			accepted(0) // with what was saved before
			if got := accepted(1); !about(got, c.before) {
				t.Errorf("at first: %d, want about %d", got, c.before)
			}
			for second := 2; second < 400; second++ {
				accepted(second)
			}
			if got := accepted(400); !about(got, c.after) {
				t.Errorf("after several minutes: %d, want about %d; %d partitions", got, c.after, len(h.partitions))
			}
		})
	}
}
