package recorded_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type item = map[string]types.AttributeValue

// wire returns items in DynamoDB's JSON.
func wire(items []item) []map[string]any {
	all := make([]map[string]any, 0, len(items))
	for _, i := range items {
		attributes := make(map[string]any)
		for name, value := range i {
			attributes[name] = wireValue(value)
		}
		all = append(all, attributes)
	}
	slices.SortFunc(all, func(a, b map[string]any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

func wireValue(value types.AttributeValue) any {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}
	case *types.AttributeValueMemberM:
		members := make(map[string]any)
		for name, member := range v.Value {
			members[name] = wireValue(member)
		}
		return map[string]any{"M": members}
	case *types.AttributeValueMemberL:
		var members []any
		for _, member := range v.Value {
			members = append(members, wireValue(member))
		}
		return map[string]any{"L": members}
	default:
		panic(fmt.Sprintf("no record holds a %T", value))
	}
}

// plain is a value as JSON has it after a round trip, so that what was recorded and
// what was just made compare.
func plain(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var result any
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// sinceThen are attributes that a build in testdata did not have yet. It ignores them.
var sinceThen = []string{"started_at", "function", "request_id", "event"}

// sameItems compares items. Owners are made at random, wherever they stand; what is opaque
// is compared by its type only; attributes that came later may be there or not.
func sameItems(t *testing.T, what string, got, want tables, opaque, since []string) {
	t.Helper()
	for _, name := range tableNames {
		if len(got[name]) != len(want[name]) {
			t.Errorf("%s: %d items in %s, recorded are %d:\n%v\n%v", what, len(got[name]), name, len(want[name]), got[name], want[name])
			continue
		}
		sameTable(t, what, got[name], want[name], opaque, since)
	}
}

func sameTable(t *testing.T, what string, got, want []map[string]any, opaque, since []string) {
	t.Helper()
	for i := range want {
		g, w := plain(t, got[i]).(map[string]any), plain(t, want[i]).(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(merged(g, w))) {
			if slices.Contains(since, name) {
				continue
			}
			a, b := spelled(g[name], g, slices.Contains(opaque, name)), spelled(w[name], w, slices.Contains(opaque, name))
			if a != b {
				t.Errorf("%s: %s is\n%s, recorded is\n%s", what, name, a, b)
			}
		}
	}
}

func merged(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// spelled is the text of an attribute's value, with the item's owner made the same.
func spelled(value any, of map[string]any, opaque bool) string {
	if opaque {
		return typesOf(value)
	}
	text, _ := json.Marshal(value) // of what came from JSON
	for _, name := range []string{"owner", "ikkai_owner", "settled_by", "ikkai_settled_by"} {
		if owner, is := of[name].(map[string]any); is {
			text = []byte(strings.ReplaceAll(string(text), owner["S"].(string), "OWNER"))
		}
	}
	return string(text)
}

func typesOf(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var members []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			members = append(members, name+":"+typesOf(v[name]))
		}
		return fmt.Sprint(members)
	default:
		return fmt.Sprintf("%T", value)
	}
}
