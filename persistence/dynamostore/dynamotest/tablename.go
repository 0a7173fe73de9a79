package dynamotest

import (
	"regexp"
	"strings"
)

const (
	account          = "000000000000"
	arnPrefix        = "arn:aws:dynamodb:" + Region + ":" + account + ":table/"
	minTableNameSize = 3
)

var (
	tableNamePattern = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)
	tableARNPattern  = regexp.MustCompile(`^arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/([a-zA-Z0-9_.-]+)$`)
)

// plainTableName is the name of the table that a request names, by its name or its ARN.
func plainTableName(given string) string {
	if !strings.HasPrefix(given, "arn:") {
		return given
	}
	if arn := tableARNPattern.FindStringSubmatch(given); arn != nil {
		return arn[1]
	}
	return given
}

// arn is the table's Amazon Resource Name.
func (t *table) arn() string { return arnPrefix + t.name }

// lookUp finds the table of that name or ARN. There are no tables of other accounts or regions.
func (db *DB) lookUp(given string) (*table, bool) {
	t, ok := db.tables[plainTableName(given)]
	if !ok || strings.HasPrefix(given, "arn:") && given != t.arn() {
		return nil, false
	}
	return t, true
}

// table is the table of that name or ARN.
func (c *call) table(given string) (*table, error) {
	t, ok := c.lookUp(given)
	if !ok {
		return nil, failure("ResourceNotFoundException", "Requested resource not found")
	}
	c.consumed.of(t.name).shown = given
	return t, nil
}

// checkTableName finds faults in the name of a table; prefix is where it stands in the request.
func checkTableName(faults *constraints, name *string, prefix string) {
	member := prefix + "tableName"
	if name == nil {
		faults.addIf(true, "null", member, "Member must not be null")
		return
	}
	checkTableNameAs(faults, *name, member)
}

func checkTableNameAs(faults *constraints, given, member string) {
	name := plainTableName(given)
	faults.addIf(name != "" && !tableNamePattern.MatchString(name), quoted(given), member,
		"Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	faults.addIf(name == "", quoted(given), member, "Member must have length greater than or equal to 1")
	faults.addIf(name != "" && len(name) < minTableNameSize, quoted(given), member, "Member must have length greater than or equal to 3")
	faults.addIf(len(name) > maxNameSize, quoted(given), member, "Member must have length less than or equal to 255")
}
