package powertools_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

func nested(levels int) string {
	return strings.Repeat("[", levels) + "1" + strings.Repeat("]", levels)
}

// storedResults are results that come back as the value they were.
var storedResults = [][]string{
	{
		`null`, `0`, `""`, `{"a":1.0,"b":[true]}`, `123456789.123456789123`, `9007199254740993`, `1e400`, `-0`, `"\ud800"`, `{"\ud800":1,"\ud801":2}`, `{"":1}`, `{"a":1,"a":2}`,
		nested(32), nested(300),
	},
	{
		`null`, `0`, `""`, `{}`, `[]`, `{"a":1.0,"b":[true]}`, `1e2`, `0.1`, `123456789.125`, `9007199254740991`, `-9007199254740991`, `1e-120`, `"\ud83d\ude00"`, `{"constructor":null}`, `{"constructor":{"name":"Object"}}`,
		nested(31),
	},
}

// omittedResults are results that would come back as others, or that DynamoDB or the
// peer refuses.
var omittedResults = [][]string{
	{nested(302), strings.Repeat("1", 4301)},
	{
		`123456789.123456789123`, `9007199254740992`, `9007199254740993`, `-1e20`, `1e-140`, `1e400`, `-0`, `-0.0`, `0.10000000000000000001`,
		`"\ud800"`, `{"\ud800":1,"\ud801":2}`, `["\udc00\ud800"]`, `{"":1}`, `[{"a":{"":[]}}]`, `{"` + strings.Repeat("a", 64<<10) + `":1}`, `{"a":1,"a":2}`,
		nested(32), nested(5000), strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32),
		`{"__proto__":1}`, `{"constructor":{"name":"Map"}}`, `{"constructor":"x"}`,
	},
}

// What a replay gives is what the first caller got, or the result is left out and the
// duplicate is told so; either way the function runs once.
func TestResultsAreReplayedOrLeftOut(t *testing.T) {
	for i, l := range languages {
		for wantOmitted, results := range map[bool][]string{false: storedResults[i], true: omittedResults[i]} {
			for _, result := range results {
				o := l.options
				o.EventKey, o.Table = "id", dynamostore.Config{Table: "idempotency"}
				peer, err := l.new(o)
				if err != nil {
					t.Fatal(err)
				}
				var events []idempotent.EventKind
				guard, err := idempotent.New(newTable(t, peer).store, peer.Config(idempotent.Config{
					Operation: "orders", Observe: func(_ context.Context, e idempotent.Event) { events = append(events, e.Kind) },
					Logger: slog.New(slog.DiscardHandler),
				}))
				if err != nil {
					t.Fatal(err)
				}
				runs := 0
				handler := guard.Handler(func(json.RawMessage) (json.RawMessage, error) { runs++; return json.RawMessage(result), nil })
				first, err := handler.Invoke(t.Context(), []byte(event("1")))
				if err != nil || string(first) != result {
					t.Errorf("%s, %.60s: the first caller got %.60s, %v", l.name, result, first, err)
				}
				replay, err := handler.Invoke(t.Context(), []byte(event("1")))
				switch {
				case runs != 1:
					t.Errorf("%s, %.60s: ran %d times", l.name, result, runs)
				case wantOmitted && (!errors.Is(err, idempotent.ErrResultNotStored) || !slices.Contains(events, idempotent.EventNotStored)):
					t.Errorf("%s, %.60s: the replay is %.60s, %v after %v; want it left out", l.name, result, replay, err, events)
				case !wantOmitted && (err != nil || l.name == "Python" && string(replay) != result || !sameValue(t, replay, first)):
					t.Errorf("%s, %.60s: the replay is %.60s, %v", l.name, result, replay, err)
				}
			}
		}
	}
}

// sameValue compares two JSON texts, but for the order of members and the spelling of
// numbers, which DynamoDB does not keep. What JavaScript reads as another is left out.
func sameValue(t *testing.T, a, b []byte) bool {
	t.Helper()
	normal := func(text []byte) string {
		v, err := value.Parse(string(text), value.JavaScript)
		if err != nil {
			t.Fatal(err)
		}
		normal, _, err := value.StringifySorted(v, value.NewBudget(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		return normal
	}
	return string(a) == string(b) || normal(a) == normal(b)
}

func TestWhatIsNotJSONIsNoResult(t *testing.T) {
	for _, l := range languages {
		peer, err := l.of(command{}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range []string{``, `not JSON`, "\"\xff\"", `1 2`, `NaN`, `[1,]`} {
			if v, err := peer.Table().Format.Encode([]byte(result)); err == nil {
				t.Errorf("%s: %q is stored as %v", l.name, result, v)
			}
		}
	}
}
