package dynamotest

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkEnum finds a value outside an enumeration; absent is fine.
func checkEnum(faults *constraints, v, member string, allowed ...string) {
	faults.addIf(v != "" && !slices.Contains(allowed, v), quoted(v), member,
		"Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

func names[E any](elements []E, name func(E) string) string {
	texts := make([]string, len(elements))
	for i, e := range elements {
		texts[i] = name(e)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// newID is a random identifier in the usual 8-4-4-4-12 form.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// sortedKeys are the names in a map, in order, so that of several faults always the same one is told.
func sortedKeys[V any](members map[string]V) []string { return slices.Sorted(maps.Keys(members)) }
