package dynamotest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// What a table and its indexes hold after many writes is what a plain list of the items says, found by any span.
func TestCollectionsHoldWhatWasWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	keys := keySchema{{name: "customer", kind: kindString}, {name: "at", kind: kindNumber, sort: true}}
	byShop := &index{name: "shops", collection: newCollection(keySchema{{name: "shop", kind: kindString}, {name: "total", kind: kindNumber, sort: true}}, keys),
		projection: indexProjection{Type: "KEYS_ONLY"}}
	local := &index{name: "notes", collection: newCollection(keySchema{{name: "customer", kind: kindString}, {name: "note", kind: kindString, sort: true}}, keys),
		projection: indexProjection{Type: "INCLUDE", Includes: []string{"total"}}}
	tab := &table{keys: keys, items: newCollection(keys, nil), indexes: []*index{byShop, local}}
	plain := make(map[string]item)
	small := func(n int) value {
		number, err := parseNumber(strconv.Itoa(random.IntN(n) - n/2))
		if err != nil {
			t.Fatal(err)
		}
		return numberValue(number)
	}
	for range 4000 {
		key := item{"customer": stringValue(fmt.Sprint("c", random.IntN(9))), "at": small(40)}
		i := item{"customer": key["customer"], "at": key["at"], "total": small(5)}
		if random.IntN(3) > 0 {
			i["shop"] = stringValue(fmt.Sprint("s", random.IntN(4)))
		}
		if random.IntN(3) > 0 {
			i["note"] = stringValue(fmt.Sprint("n", random.IntN(12)))
		}
		if random.IntN(4) == 0 {
			i = nil
			delete(plain, key.String())
		} else {
			plain[key.String()] = i
		}
		tab.put(key, i)
	}
	holders := map[string]*collection{"table": &tab.items, "global index": &byShop.collection, "local index": &local.collection}
	for name, held := range holders {
		entry := func(i item) item { return i }
		switch held {
		case &byShop.collection:
			entry = byShop.entry
		case &local.collection:
			entry = local.entry
		}
		var want []row
		bytes := 0
		for _, i := range plain {
			if e := entry(i); e != nil {
				want = append(want, row{place: held.place(e), item: e})
				bytes += e.size()
			}
		}
		slices.SortFunc(want, func(a, b row) int { return a.place.compare(b.place) })
		if held.rows.Len() != len(want) || held.bytes != bytes {
			t.Errorf("%s: %d rows of %d bytes, want %d of %d", name, held.rows.Len(), held.bytes, len(want), bytes)
		}
		spans := []span{everywhere}
		for number := range 7 {
			spans = append(spans, segment(number, 7))
		}
		for _, r := range want {
			partition := partitionUnder(r.place.keys[0])
			spans = append(spans, partition)
			for _, operator := range []string{"=", "<", "<=", ">", ">="} {
				term := keyTerm{operator: operator, operands: []operand{constant(r.place.keys[1])}}
				spans = append(spans, term.of(partition))
			}
		}
		for _, s := range spans {
			var expected []string
			for _, r := range want {
				if s.has(r.place) {
					expected = append(expected, r.item.String())
				}
			}
			for _, backwards := range []bool{false, true} {
				var got []string
				for r := range held.within(s, backwards) {
					got = append(got, r.item.String())
				}
				if backwards {
					slices.Reverse(got)
				}
				if !slices.Equal(got, expected) {
					t.Fatalf("%s, %v to %v, backwards %t: %v, want %v", name, s.low, s.high, backwards, got, expected)
				}
			}
		}
	}
}

// What a condition on a sort key selects is what it says, whatever the bytes.
func TestASortKeyConditionSelectsWhatItSays(t *testing.T) {
	texts := []string{"a", "a\x00", "a\xfe", "a\xff", "a\xff\xff", "a\xff\xffb", "aa", "b", "b\xff", "\xff", "\xff\xff", "\xffa"}
	hash := stringValue("h")
	partition := partitionUnder(hash)
	for _, given := range texts {
		for _, other := range texts {
			for operator, holds := range map[string]bool{
				"=": other == given, "<": other < given, "<=": other <= given, ">": other > given, ">=": other >= given,
				"begins_with": len(other) >= len(given) && other[:len(given)] == given,
			} {
				term := keyTerm{operator: operator, operands: []operand{constant(stringValue(given))}}
				at := place{partition: partition.low.partition, keys: []value{hash, stringValue(other)}}
				if got := term.of(partition).has(at); got != holds {
					t.Errorf("%q %s %q: %t", other, operator, given, got)
				}
			}
			low, high := min(given, other), max(given, other)
			term := keyTerm{operator: "BETWEEN", operands: []operand{constant(stringValue(low)), constant(stringValue(high))}}
			for _, third := range texts {
				at := place{partition: partition.low.partition, keys: []value{hash, stringValue(third)}}
				if got, want := term.of(partition).has(at), cmp.Compare(low, third) <= 0 && third <= high; got != want {
					t.Errorf("%q BETWEEN %q AND %q: %t", third, low, high, got)
				}
			}
		}
	}
}

// All segments together are everything, and none shares a partition with another.
func TestSegmentsAreSharesOfEverything(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, total := range []int{1, 2, 3, 1000, 1_000_000} {
		for range 100 {
			at := place{partition: random.Uint64(), keys: []value{stringValue("a")}}
			found := 0
			for number := range min(total, 1000) {
				if segment(number, total).has(at) {
					found++
				}
			}
			if total <= 1000 && found != 1 {
				t.Errorf("%d of %d segments have one place", found, total)
			}
		}
		for _, at := range []uint64{0, 1<<64 - 1} {
			number := 0
			if at > 0 {
				number = total - 1
			}
			if !segment(number, total).has(place{partition: at, keys: []value{stringValue("a")}}) {
				t.Errorf("partition %d is in no segment of %d", at, total)
			}
		}
	}
}

// partitionUnder is all of a partition whose key is one value.
func partitionUnder(hash value) span {
	return under(partitionOf([]value{hash}), []value{hash})
}
