package canonicaljson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// Every character, beside each of those that are the same without case.
func TestFoldedIsWhatEncodingJSONFolds(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if other := unicode.SimpleFold(r); other != r {
			a, b := "x"+string(r), "X"+string(other)
			if canonicaljson.Folded(a) != canonicaljson.Folded(b) {
				t.Errorf("%q and %q have the folded forms %q and %q", a, b, canonicaljson.Folded(a), canonicaljson.Folded(b))
			}
			if !canonicaljson.HasCase([]byte(a)) && !canonicaljson.HasCase([]byte(b)) {
				t.Errorf("neither %q nor %q has a case", a, b)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		a, b := spelled(r), spelled(r)
		if got, want := canonicaljson.Folded(a) == canonicaljson.Folded(b), strings.EqualFold(a, b); got != want {
			t.Fatalf("%q and %q: folded forms equal is %t, want %t", a, b, got, want)
		}
	}
}

// spelled returns a short name of characters whose cases are odd: one byte and three,
// three of a kind, escapes.
func spelled(r *rand.Rand) string {
	letters := []rune("kK\u212AkK\u212AsS\u017Fß\u1E9EǅǆἀἈ\\\"\n\x01-_@`[{i\u0130ıI")
	name := make([]rune, 1+r.IntN(2))
	for i := range name {
		name[i] = letters[r.IntN(len(letters))]
	}
	return string(name)
}

// An object has a canonical form if and only if encoding/json takes no two of its
// members for one, however many there are.
func TestTwinsAreRefusedAtAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	refused := 0
	for n := range 3_000 {
		var names []string
		for range 1 + r.IntN([]int{12, 90}[n%2]) {
			name := spelled(r)
			if n%2 == 1 { // of many, few are alike
				name = fmt.Sprintf("%s%d", name, r.IntN(40))
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		twins := false
		var members []string
		for i, name := range names {
			twins = twins || slices.ContainsFunc(names[:i], func(other string) bool { return strings.EqualFold(name, other) })
			quoted, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, string(quoted)+":1")
		}
		object := []byte(`[{"x":{` + strings.Join(members, ",") + `}}]`)
		_, err := canonicaljson.Append(nil, object)
		if errors.Is(err, canonicaljson.ErrTwinName) != twins || err != nil && !twins {
			t.Fatalf("%s: %v; two members that are one to encoding/json: %t", object, err, twins)
		}
		kept, err := canonicaljson.AppendWithTwins(nil, object)
		if err != nil || !json.Valid(kept) || len(kept) > len(object) {
			t.Fatalf("with twins: %s, %v", kept, err)
		}
		if canonicaljson.HaveTwins(slices.Values(names)) != twins {
			t.Fatalf("HaveTwins of %q is %t", names, !twins)
		}
		if twins {
			refused++
		}
	}
	if refused < 500 || refused > 2_500 {
		t.Errorf("%d of 3000 objects had twins", refused)
	}
}

// BenchmarkTwins looks for twins among names with a long common beginning, beside writing
// the same object and folding its text once: it must take a small multiple of that.
func BenchmarkTwins(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	alphabet := []rune("kK\u212A")
	object := []byte{'{'}
	for i := range 2_000 {
		if i > 0 {
			object = append(object, ',')
		}
		object = append(object, '"')
		for range 1_000 {
			object = utf8.AppendRune(object, alphabet[r.IntN(len(alphabet))])
		}
		object = fmt.Appendf(object, "%06d\":1", i)
	}
	object = append(object, '}')
	for name, form := range map[string]func(dst, raw []byte) ([]byte, error){
		"looked for": canonicaljson.Append,
		"folded once": func(dst, raw []byte) ([]byte, error) {
			canonicaljson.AppendFolded(nil, raw)
			return canonicaljson.AppendWithTwins(dst, raw)
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := form(nil, object); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
