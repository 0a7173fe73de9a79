package dynamotest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
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

// legacyParameters are those that expressions replaced in 2014. They are refused, never ignored.
type legacyParameters struct {
	AttributesToGet     json.RawMessage
	AttributeUpdates    json.RawMessage
	ConditionalOperator json.RawMessage
	Expected            json.RawMessage
	KeyConditions       json.RawMessage
	QueryFilter         json.RawMessage
	ScanFilter          json.RawMessage
}

// refuseLegacy is the check that no legacy parameter is there, beside the request's expressions or without them.
func (l legacyParameters) refuseLegacy(expressions ...expressionParameter) func() error {
	return func() error {
		legacy := l.present()
		if len(legacy) == 0 {
			return nil
		}
		var present []string
		for _, x := range expressions {
			if x.text != nil {
				present = append(present, x.name)
			}
		}
		if len(present) > 0 {
			return invalid("Can not use both expression and non-expression parameters in the same request: "+
				"Non-expression parameters: {%s} Expression parameters: {%s}", strings.Join(legacy, ", "), strings.Join(present, ", "))
		}
		return invalidParameter("dynamotest does not serve the legacy parameters {%s}; use expressions", strings.Join(legacy, ", "))
	}
}

func (l legacyParameters) present() []string {
	var names []string
	for _, p := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"AttributesToGet", l.AttributesToGet},
		{"AttributeUpdates", l.AttributeUpdates},
		{"ConditionalOperator", l.ConditionalOperator},
		{"Expected", l.Expected},
		{"KeyConditions", l.KeyConditions},
		{"QueryFilter", l.QueryFilter},
		{"ScanFilter", l.ScanFilter},
	} {
		if p.raw != nil && string(p.raw) != "null" {
			names = append(names, p.name)
		}
	}
	return names
}
