package selection

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// However much stands around it, one field takes no more memory, also within JSON in
// a string.
func TestMemoryDoesNotGrowWithThePayload(t *testing.T) {
	for _, c := range []struct {
		expression string
		payload    func(filling string) string
	}{
		{"id", func(filling string) string { return `{"filling":"` + filling + `","id":1}` }},
		{"powertools_json(body).id", func(filling string) string {
			return `{"body":"{\"filling\":\"` + filling + `\",\"id\":1}"}`
		}},
	} {
		s, err := Compile(c.expression)
		if err != nil {
			t.Fatal(err)
		}
		const size = 256 << 10
		payload := []byte(c.payload(strings.Repeat("a", size)))
		// The least of some runs: now and then a pool is emptied, by the race detector
		// also on purpose.
		least := uint64(math.MaxUint64)
		for range 20 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := s.AppendCanonical(nil, payload); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		if least > size/16 {
			t.Errorf("%s of %d bytes allocates %d", c.expression, len(payload), least)
		}
	}
}

// Texts whose memory is used again do not run into each other: neither within a
// selection nor between those that are made at once.
func TestTextsKeepApart(t *testing.T) {
	s, err := Compile("[powertools_json(a).x, powertools_json(b).x, powertools_json(powertools_json(c).x).y]")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for n := range 200 {
				id := fmt.Sprintf("%d-%s", worker, strings.Repeat("é", n))
				payload := fmt.Sprintf(`{"a":"{\"x\":\"a%[1]s\"}","b":"{\"x\":\"b%[1]s\"}","c":"{\"x\":\"{\\\"y\\\":\\\"c%[1]s\\\"}\"}"}`, id)
				got, err := s.AppendCanonical(nil, []byte(payload))
				if want := fmt.Sprintf(`["a%[1]s","b%[1]s","c%[1]s"]`, id); err != nil || string(got) != want {
					t.Errorf("selected %s, %v; want %s", got, err, want)
					return
				}
			}
		})
	}
	running.Wait()
}
