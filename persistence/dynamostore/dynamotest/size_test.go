package dynamotest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestSizesFollowThePublishedRules(t *testing.T) {
	for _, c := range []struct {
		name string
		v    types.AttributeValue
		want int
	}{
		{"text counts UTF-8 bytes", S("aé😀"), 7},
		{"binary counts raw bytes", B("\x00\x01\x02"), 3},
		{"null", Null, 1},
		{"bool", True, 1},
		{"zero", N("0"), 1},
		{"one digit", N("7"), 2},
		{"two digits", N("12"), 2},
		{"three digits", N("123"), 3},
		{"trailing zeros are free", N("1200"), 2},
		{"digits pair up around the decimal point", N("1.2"), 3},
		{"leading zeros are free", N("0.0012"), 2},
		{"negative costs one more", N("-12"), 3},
		{"38 digits", N("12345678901234567890123456789012345678"), 20},
		{"empty list", L(), 3},
		{"list", L(S("ab"), N("1")), 3 + (1 + 2) + (1 + 2)},
		{"empty map", M(attrs{}), 3},
		{"map", M(attrs{"key": S("ab")}), 3 + 1 + 3 + 2},
		{"string set has no overhead", SS("a", "bcd"), 4},
		{"number set", NS("1", "123"), 5},
		{"binary set", BS("ab", "c"), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := wireValueOf(c.v).value()
			if err != nil {
				t.Fatal(err)
			}
			if got := v.size(); got != c.want {
				t.Errorf("got %d bytes, want %d", got, c.want)
			}
			if got := (item{"name": v}).size(); got != c.want+4 {
				t.Errorf("as an item: got %d bytes, want %d", got, c.want+4)
			}
		})
	}
}

func TestReservedWordsAreAllThere(t *testing.T) {
	if len(reserved) != 573 {
		t.Errorf("%d words, want 573", len(reserved))
	}
	for word, want := range map[string]bool{"status": true, "Ttl": true, "OWNER": true, "flattern": true, "id": false, "version": false} {
		if isReserved(word) != want {
			t.Errorf("%s: reserved is %v", word, !want)
		}
	}
}
