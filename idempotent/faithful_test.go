package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

type hiding struct {
	Shown  string
	hidden string
}

type (
	secret string
	left   struct{ ID string }
	right  struct{ ID string }
	twins  struct {
		A string `json:"id"`
		B string `json:"ID"`
	}
	keyed struct{ text string }
)

func (k keyed) MarshalText() ([]byte, error) { return []byte(k.text), nil }

// pickyResult is an amount that reads back only what it wrote in another form.
type pickyResult struct{ text string }

func (p pickyResult) MarshalJSON() ([]byte, error) { return json.Marshal(p.text) }
func (p *pickyResult) UnmarshalJSON(text []byte) error {
	return errors.New("can't read " + string(text))
}

// Types with methods of their own that write something else than they have, as those do whose
// values must not get into a log; with the methods that read it back, or without.
type (
	masked     string
	maskedText string
	maskedBack string
	rounded    struct{ Cents int }
	dated      struct {
		time.Time
		Zone string
	}
	optional struct {
		N   int
		Set bool
	}
	chain struct{ Next *chain }
)

func (masked) MarshalJSON() ([]byte, error)        { return []byte(`"***"`), nil }
func (maskedText) MarshalText() ([]byte, error)    { return []byte("***"), nil }
func (maskedBack) MarshalJSON() ([]byte, error)    { return []byte(`"***"`), nil }
func (m *maskedBack) UnmarshalText(b []byte) error { *m = maskedBack(b); return nil }
func (r *rounded) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int{"euros": r.Cents / 100})
}
func (o optional) IsZero() bool { return !o.Set }

func chainOf(length int) (c *chain) {
	for range length {
		c = &chain{c}
	}
	return c
}

// A duplicate gets what the first caller got, or nothing and is told so: what JSON would
// lose is found at the first call.
func TestAReplayGivesWhatTheFirstCallerGot(t *testing.T) {
	check := func(name string, kept bool, twice func(*idempotent.Guard) (first, second any, err error)) {
		t.Run(name, func(t *testing.T) {
			var seen lab.EventLog
			guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Observe: seen.Observe})
			first, second, err := twice(guard)
			switch {
			case kept && (err != nil || !reflect.DeepEqual(first, second)):
				t.Errorf("first %#v, then %#v, %v", first, second, err)
			case !kept && !errors.Is(err, idempotent.ErrResultNotStored):
				t.Errorf("first %#v, then %#v, %v", first, second, err)
			}
			if kinds := seen.Kinds(); (kinds[0] == idempotent.EventNotStored) == kept {
				t.Errorf("events %v", kinds)
			}
		})
	}
	check("exported fields", true, twiceOf(order{"a", 1}))
	check("a hidden field without a value", true, twiceOf(hiding{Shown: "a"}))
	check("a hidden field", false, twiceOf(hiding{Shown: "a", hidden: "b"}))
	check("a hidden field behind a pointer", false, twiceOf([]*hiding{{hidden: "b"}}))
	check("a field that is left out", false, twiceOf(struct {
		Left string `json:"-"`
	}{"b"}))
	check("time", true, twiceOf(struct{ At time.Time }{time.Unix(1_700_000_000, 5).UTC()}))
	check("text that is not UTF-8", false, twiceOf("a\xffb"))
	check("the replacement character", true, twiceOf("a\uFFFDb"))
	check("an escape in a raw message", true, twiceOf(struct{ Raw json.RawMessage }{json.RawMessage(`"\ufffd"`)}))
	check("not a number", false, twiceOf(math.NaN()))
	check("an interface with a number", true, twiceOf[any](map[string]any{"n": 5, "list": []int{1, 2}}))
	check("an interface with a struct", true, twiceOf(struct{ V any }{order{"a", 1}}))
	check("a value that can't be read back", false, twiceOf(pickyResult{"secret"}))
	check("nothing", true, twiceOf[any](nil))
	check("an embedded text that is not exported", false, twiceOf(struct {
		secret
		N int
	}{"s", 1}))
	check("two embedded fields of one name", false, twiceOf(struct {
		left
		right
	}{left{"l"}, right{"r"}}))
	check("two fields whose names differ in case", true, twiceOf(twins{"a", "b"}))
	check("a shadowed field", false, twiceOf(struct {
		ID string
		left
	}{"a", left{"b"}}))
	check("an embedded pointer that is not exported", false, twiceOf(struct{ *left }{&left{"l"}}))
	check("a key that can't be read back", false, twiceOf(map[keyed]int{{"a"}: 1}))
	check("no raw message", true, twiceOf[json.RawMessage](nil))
	check("a raw message in a field", true, twiceOf(struct{ Raw json.RawMessage }{json.RawMessage("{ \"a\" : 1 }")}))
	check("a text that writes another", false, twiceOf(masked("a")))
	check("a text that writes another, in a field", false, twiceOf(struct{ Card maskedText }{"a"}))
	check("a text that reads back what it writes", false, twiceOf([]maskedBack{"a"}))
	check("a text that writes what it has", true, twiceOf(masked("***")))
	check("a struct that writes another", false, twiceOf([]rounded{{5}}))
	check("what is beside an embedded time", false, twiceOf(dated{Zone: "Europe/Zurich"}))
	check("an embedded time", true, twiceOf(dated{Time: time.Unix(1_700_000_000, 5).UTC()}))
	check("a value that says that it is zero", false, twiceOf(struct {
		O optional `json:",omitzero"`
	}{optional{N: 5}}))
	check("a number that is no digits", false, twiceOf(json.Number("")))
	check("a number as a text", true, twiceOf(json.Number("1.50")))
	check("a chain", true, twiceOf(chainOf(100)))
	check("a chain that is longer than JSON is deep", false, twiceOf(chainOf(10_001)))
	check("no list, and an empty one", true, twiceOf(struct{ A, B []int }{B: []int{}}))
}

func twiceOf[Out any](out Out) func(*idempotent.Guard) (first, second any, err error) {
	return func(g *idempotent.Guard) (any, any, error) {
		run := func(context.Context) (Out, error) { return out, nil }
		first, err := idempotent.Do(context.Background(), g, "k", run)
		if err != nil {
			return first, nil, err
		}
		second, err := idempotent.Do(context.Background(), g, "k", run)
		return first, second, err
	}
}

// What no value of a type can be kept of is refused before anything runs.
func TestATypeThatJSONLosesIsRefused(t *testing.T) {
	guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{})
	for name, construct := range map[string]func(){
		"a channel":             func() { refuse[struct{ C chan int }](guard) },
		"a function in a slice": func() { refuse[[]struct{ F func() }](guard) },
		"an error in a field":   func() { refuse[struct{ Err error }](guard) },
		"a complex number":      func() { refuse[map[string]complex128](guard) },
		"one that is nested":    func() { refuse[struct{ In struct{ Err *error } }](guard) },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "can't be stored and replayed") {
					t.Errorf("%s: %q", name, text)
				}
			}()
			construct()
		}()
	}
	refuse[struct {
		Err error `json:"-"`
	}](guard) // is not stored, and not lost where it is nil
}

func refuse[Out any](g *idempotent.Guard) {
	_ = idempotent.Func(g, func(context.Context, order) (Out, error) { return *new(Out), nil })
}

// A stored value that does not fit is not quoted, wherever the error is printed.
func TestAStoredValueIsNotQuoted(t *testing.T) {
	memory := persistence.NewMemory()
	first := lab.NewKeylessGuard(t, memory, idempotent.Config{})
	for _, secret := range []string{`"4111 1111 1111 1111"`, `4111111111111111.5`, `{"card":"4111"}`} {
		key := secret
		if _, err := idempotent.Do(t.Context(), first, key, func(context.Context) (json.RawMessage, error) { return json.RawMessage(secret), nil }); err != nil {
			t.Fatal(err)
		}
		_, err := idempotent.Do(t.Context(), first, key, func(context.Context) (int8, error) { return 0, nil })
		if !errors.Is(err, idempotent.ErrReplay) || strings.Contains(err.Error(), "4111") {
			t.Errorf("got %v", err)
		}
		_, err = idempotent.Do(t.Context(), first, key, func(context.Context) (pickyResult, error) { return pickyResult{}, nil })
		if !errors.Is(err, idempotent.ErrReplay) || strings.Contains(err.Error(), "4111") {
			t.Errorf("got %v", err)
		}
	}
}
