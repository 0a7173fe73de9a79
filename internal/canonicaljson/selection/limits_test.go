package selection

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// allocated returns how many bytes f allocates.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// No expression takes more than a few megabytes to compile, however short it says a lot.
func TestCompilingIsBounded(t *testing.T) {
	var both []string
	for n := range 24 {
		both = append(both, "a"+strings.Repeat("[*]", n)+"[0]")
	}
	for name, expression := range map[string]string{
		"[*] and [0] at every level":     "[" + strings.Join(both, ",") + "]",
		"[*] and [0] of decoded":         strings.ReplaceAll("["+strings.Join(both[:18], ",")+"]", "a[", "powertools_json(b)["),
		"all elements and many":          "[" + strings.Repeat("a[*].b[*].c[*].d[*],", 50) + "a[0].b[1].c[2].d[3]]",
		"many indexes":                   "[a[*].b," + strings.Repeat("a[1][2][3],", 300) + "c]",
		"doubled in lists":               strings.Repeat("[@,@]|", 40) + "[@,@]",
		"doubled in hashes":              strings.Repeat("{a:@,b:@}|", 40) + "@",
		"doubled in alternatives":        strings.Repeat("(@||[@])|", 190) + "@",
		"doubled in flattened lists":     strings.Repeat("[@,@][]|", 190) + "@",
		"each member of many":            "[" + strings.Repeat("a,b,c,d,", 60) + "e].[*].f[*].g",
		"many members of many":           strings.Repeat("[a,b,c,d,e,f,g,h,i,j]|[*].", 40) + "k",
		"many alternatives":              strings.Repeat("a.b||", 190) + "c",
		"many calls":                     "[" + strings.Repeat("powertools_json(a).b,", 190) + "c]",
		"calls in calls":                 strings.Repeat("powertools_json(", 180) + "a" + strings.Repeat(")", 180),
		"alternatives of calls in calls": strings.Repeat("powertools_json(a||", 180) + "a" + strings.Repeat(")", 180),
		"not_null of not_null":           strings.Repeat("not_null(@,", 180) + "a" + strings.Repeat(")", 180),
		"to_array of everything":         strings.Repeat("to_array([@,@])|", 190) + "@",
		"merged":                         strings.Repeat("merge(@,{a:@})|", 190) + "@",
	} {
		var err error
		if bytes := allocated(func() { _, err = Compile(expression) }); bytes > 24<<20 {
			t.Errorf("%s: %d bytes of expression take %d to compile (%v)", name, len(expression), bytes, err)
		}
	}
}

// What an expression makes of a payload is bounded too.
func TestEvaluationIsBounded(t *testing.T) {
	items := `{"items":[` + strings.Repeat(`{"id":1},`, 10_000) + `{"id":2}],"id":"` + strings.Repeat("x", 100_000) + `"}`
	for name, expression := range map[string]string{
		"flattened":                 "items | " + strings.Repeat("[@, @][] | ", 20) + "[0].id",
		"flattened and projected":   "items | " + strings.Repeat("[@, @][*] | [] | ", 20) + "length(@)",
		"lists of lists":            "items | " + strings.Repeat("[@, @] | ", 8) + "@",
		"text of lists of lists":    "items | " + strings.Repeat("[@, @] | ", 8) + "to_string(@)",
		"compared lists of lists":   "items | " + strings.Repeat("[@, @] | ", 8) + "[(@ == @), @[0][0][0][0][0][0][0][0]]",
		"joined":                    "id | " + strings.Repeat("join(@, [@, @]) | ", 20) + "@",
		"joined with a long glue":   "join(id, items[*].to_string(id))",
		"text again and again":      "[id, " + strings.Repeat("to_string(items),", 180) + "id] | to_string(@)",
		"mapped":                    "items | " + strings.Repeat("[@, @][] | map(&@, @) | ", 20) + "[0].id",
		"sorted":                    "items | " + strings.Repeat("[@, @][] | sort_by(@, &id) | ", 14) + "[0].id",
		"sliced":                    "items | " + strings.Repeat("[@, @][] | [::-1] | ", 20) + "[0].id",
		"reversed":                  "items | " + strings.Repeat("[@, @][] | reverse(@) | ", 20) + "[0].id",
		"in hashes":                 "items | " + strings.Repeat("[@, @][] | [*].{a: @} | ", 20) + "[0].id",
		"doubled in each element":   "items[*].[@, @][] | " + strings.Repeat("[*].[@, @][] | ", 20) + "[0]",
		"filtered while it doubles": "items | " + strings.Repeat("[@, @][] | [?id] | ", 20) + "[0].id",
	} {
		s, err := Compile(expression)
		if err != nil {
			if !errors.Is(err, errTooLarge) {
				t.Errorf("%s: Compile(%s): %v", name, expression, err)
			}
			continue
		}
		const little = 8 << 20
		bytes := allocated(func() {
			var value any
			if value, err = s.evaluate([]byte(items), &memory{left: little}); err == nil {
				err = checkSize(value)
			}
		})
		if !errors.Is(err, errMemory) && !errors.Is(err, errText) {
			t.Errorf("%s: %v", name, err)
		}
		if bytes > 8*little {
			t.Errorf("%s: %d MiB", name, bytes>>20)
		}
	}
}

// A payload takes memory in proportion, whatever is in it and whatever
// is asked of it; what would take more is refused.
func TestMemoryIsInProportionToThePayload(t *testing.T) {
	const size = 256 << 10
	distinct := strings.Builder{}
	for i := 0; distinct.Len() < size; i++ {
		fmt.Fprintf(&distinct, `,"%x":1`, i*7919%1000003)
	}
	payloads := map[string]string{
		"one empty name":     `{` + strings.Repeat(`"":1,`, size/5) + `"":1}`,
		"two names":          `{` + strings.Repeat(`"a":1,"b":1,`, size/12) + `"":1}`,
		"distinct names":     `{` + distinct.String()[1:] + `}`,
		"names in two cases": `{` + strings.ReplaceAll(distinct.String()[1:], "a", "A") + `}`,
		"numbers":            `[` + strings.Repeat(`1,`, size/2) + `1]`,
		"long numbers":       `[` + strings.Repeat(`1e20,`, size/5) + `1]`,
		"small objects":      `[` + strings.Repeat(`{"a":1},`, size/8) + `{}]`,
		"unsorted objects":   `[` + strings.Repeat(`{"b":1,"a":1},`, size/14) + `{}]`,
		"empty objects":      `[` + strings.Repeat(`{},`, size/3) + `{}]`,
		"nested objects":     strings.Repeat(`{"b":1,"a":`, 9_000) + "1" + strings.Repeat(`}`, 9_000),
		"escapes":            `["` + strings.Repeat(`\u0041`, size/6) + `"]`,
	}
	for name, payload := range payloads {
		for _, expression := range []string{"@", "a", "@[0]", "[*]", "[*].a", "[?a].a", "length(@)", "to_string(@)", "sum(@)", "[@, a]"} {
			s, err := Compile(expression)
			if err != nil {
				t.Fatal(err)
			}
			bytes := allocated(func() { _, _ = s.AppendCanonical(nil, []byte(payload)) })
			times := 140                                // with the race detector
			if expression == "@" || expression == "a" { // written or stepped over, not decoded
				times = 25
			}
			if most := 4<<20 + times*len(payload); bytes > most {
				t.Errorf("%s: %s of %d KiB allocates %d KiB", name, expression, len(payload)>>10, bytes>>10)
			}
		}
	}
}
