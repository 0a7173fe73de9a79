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
		{"id", func(filling string) string { return `{"\u5546` + filling + `":0,"id":1}` }},
		{"id", func(filling string) string {
			return `{` + strings.Repeat(`"\u5546\u54c1":0,`, len(filling)/16) + `"id":1}`
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

// Alternatives that read one body hold it once, however many there are and whether it
// is the event's or in another body, and hardly any of it is kept for the next event.
func TestAlternativesShareABody(t *testing.T) {
	body := `{\"filling\":\"` + strings.Repeat(`é`, 32<<10) + `\",\"last\":1}`
	quotedTwice := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(body)
	for call, payload := range map[string]string{
		"powertools_json(body)":                        `{"body":"` + body + `"}`,
		"powertools_json(powertools_json(outer).body)": `{"outer":"{\"body\":\"` + quotedTwice + `\"}"}`,
	} {
		var alternatives []string
		for n := range 60 {
			alternatives = append(alternatives, fmt.Sprintf("%s.field%d", call, n))
		}
		s, err := Compile(strings.Join(append(alternatives, call+".last"), " || "))
		if err != nil {
			t.Fatal(err)
		}
		taken := &memory{left: maxMemory}
		value, err := s.evaluate([]byte(payload), taken)
		if err != nil || fmt.Sprintf("%s", value) != "{1}" {
			t.Fatalf("%s: selected %s, %v", call, value, err)
		}
		if held, most := taken.held(), 3*len(payload); held > most {
			t.Errorf("%s: a payload of %d bytes holds %d, want at most %d", call, len(payload), held, most)
		}
	}
}

// What is kept for the next selection is bounded in number and bytes, and lets go of
// the document.
func TestTextsKeepLittle(t *testing.T) {
	quoted := func(size int) []byte { return []byte(`"\n` + strings.Repeat("a", size) + `"`) }
	for name, test := range map[string]struct{ size, strings, kept int }{
		"few":                  {size: 100, strings: 2, kept: 2},
		"many":                 {size: 100, strings: 60, kept: maxBuffers},
		"large":                {size: maxKept / 2, strings: 3, kept: 1},
		"an all too large one": {size: maxKept + 1, strings: 1, kept: 0},
	} {
		t.Run(name, func(t *testing.T) {
			taken := new(memory)
			for range test.strings {
				if _, err := taken.unquote(quoted(test.size)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := taken.unquoteBriefly(quoted(test.size)); err != nil {
				t.Fatal(err)
			}
			taken.release()
			if len(taken.buffers) != test.kept {
				t.Errorf("%d buffers kept, want %d", len(taken.buffers), test.kept)
			}
			if held := taken.held(); held > 2*maxKept {
				t.Errorf("%d bytes kept, want at most %d", held, 2*maxKept)
			}
			for _, b := range taken.buffers[:cap(taken.buffers)] {
				if b.quoted != nil {
					t.Error("a document is kept")
				}
			}
		})
	}
}

// held is the memory of all texts.
func (t *texts) held() int {
	held := cap(t.brief)
	for _, b := range t.buffers[:cap(t.buffers)] {
		held += cap(b.text)
	}
	return held
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
