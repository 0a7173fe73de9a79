package dynamotest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// checkEnum finds a value outside an enumeration; absent is fine.
func checkEnum(faults *constraints, v, member string, allowed ...string) {
	faults.addIf(v != "" && !slices.Contains(allowed, v), quoted(v), member,
		"Member must satisfy enum value set: ["+strings.Join(allowed, ", ")+"]")
}

var tableNamePattern = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

// checkTableName finds faults in the name of a table; prefix is where it stands in the request.
func checkTableName(faults *constraints, name *string, prefix string) {
	member := prefix + "tableName"
	if name == nil {
		faults.addIf(true, "null", member, "Member must not be null")
		return
	}
	faults.addIf(*name != "" && !tableNamePattern.MatchString(*name), quoted(*name), member,
		"Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	faults.addIf(*name == "", quoted(*name), member, "Member must have length greater than or equal to 1")
	faults.addIf(*name != "" && len(*name) < 3, quoted(*name), member, "Member must have length greater than or equal to 3")
	faults.addIf(len(*name) > 255, quoted(*name), member, "Member must have length less than or equal to 255")
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
