package dynamotest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kind is a data type of DynamoDB, spelled as its descriptor on the wire.
type kind string

const (
	kindString    kind = "S"
	kindNumber    kind = "N"
	kindBinary    kind = "B"
	kindStringSet kind = "SS"
	kindNumberSet kind = "NS"
	kindBinarySet kind = "BS"
	kindMap       kind = "M"
	kindList      kind = "L"
	kindNull      kind = "NULL"
	kindBool      kind = "BOOL"
)

// isSet reports whether values of the kind are sets.
func (k kind) isSet() bool { return k == kindStringSet || k == kindNumberSet || k == kindBinarySet }

// isOrdered reports whether < and > are defined between two values of the kind.
func (k kind) isOrdered() bool { return k == kindString || k == kindNumber || k == kindBinary }

// operandName is the kind as DynamoDB spells it in complaints about the operands of ADD and DELETE.
func (k kind) operandName() string {
	switch k {
	case kindString:
		return "STRING"
	case kindNumber:
		return "NUMBER"
	case kindBinary:
		return "Binary"
	case kindMap:
		return "MAP"
	case kindList:
		return "LIST"
	default:
		return string(k)
	}
}

// value is an attribute value. A value is never changed once made: updates build new ones around the
// unchanged parts, so values are shared freely between items, requests and replies.
type value struct {
	kind   kind
	text   string           // S: the text; B: the bytes
	number number           // N
	truth  bool             // BOOL
	list   []value          // L: in order; SS, NS, BS: ascending, without duplicates
	fields map[string]value // M
}

// item is a row: its attributes by name. nil is "no such item". Never changed once stored.
type item map[string]value

func stringValue(s string) value { return value{kind: kindString, text: s} }

func numberValue(n number) value { return value{kind: kindNumber, number: n} }

// equal reports whether a and b have the same type and content, by DynamoDB's rules: numbers by value,
// sets without order, everything else exactly.
func (a value) equal(b value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case kindMap:
		return maps.EqualFunc(a.fields, b.fields, value.equal)
	case kindList, kindStringSet, kindNumberSet, kindBinarySet:
		return slices.EqualFunc(a.list, b.list, value.equal)
	default:
		return a.text == b.text && a.number == b.number && a.truth == b.truth
	}
}

// compare orders two values of one ordered kind: numbers by value, text and bytes by their bytes.
func (a value) compare(b value) int {
	if a.kind == kindNumber {
		return a.number.compare(b.number)
	}
	return strings.Compare(a.text, b.text)
}

// has reports whether the set or list a holds an element equal to v.
func (a value) has(v value) bool {
	return slices.ContainsFunc(a.list, v.equal)
}

// String is the value as DynamoDB prints it inside error messages, e.g. {S:abc}.
func (a value) String() string {
	switch a.kind {
	case kindString:
		return "{S:" + a.text + "}"
	case kindNumber:
		return "{N:" + a.number.String() + "}"
	case kindBinary:
		return "{B:" + base64.StdEncoding.EncodeToString([]byte(a.text)) + "}"
	default:
		return "{" + string(a.kind) + "}"
	}
}

// plain is the value for human readers: text and numbers bare, the rest in the manner of JSON.
func (a value) plain() string {
	switch a.kind {
	case kindString:
		return a.text
	case kindNumber:
		return a.number.String()
	case kindBinary:
		return base64.StdEncoding.EncodeToString([]byte(a.text))
	case kindNull:
		return "null"
	case kindBool:
		return strconv.FormatBool(a.truth)
	case kindMap:
		members := make([]string, 0, len(a.fields))
		for _, name := range slices.Sorted(maps.Keys(a.fields)) {
			members = append(members, name+": "+a.fields[name].plain())
		}
		return "{" + strings.Join(members, ", ") + "}"
	default:
		elements := make([]string, len(a.list))
		for i, v := range a.list {
			elements[i] = v.plain()
		}
		return "[" + strings.Join(elements, ", ") + "]"
	}
}
