package dynamotest

import (
	"fmt"
	"slices"
)

// wireValue is an attribute value as JSON carries it: exactly one member is set.
type wireValue struct {
	S    *string               `json:"S,omitempty"`
	N    *string               `json:"N,omitempty"`
	B    *[]byte               `json:"B,omitempty"`
	SS   *[]string             `json:"SS,omitempty"`
	NS   *[]string             `json:"NS,omitempty"`
	BS   *[][]byte             `json:"BS,omitempty"`
	M    *map[string]wireValue `json:"M,omitempty"`
	L    *[]wireValue          `json:"L,omitempty"`
	Null *bool                 `json:"NULL,omitempty"`
	Bool *bool                 `json:"BOOL,omitempty"`
}

// wireItem is an item or key as JSON carries it.
type wireItem map[string]wireValue

// item checks a whole item's values and brings them into the form they are stored in.
func (w wireItem) item() (item, error) {
	decoded := make(item, len(w))
	for name, wired := range w {
		if name == "" {
			return nil, errEmptyName
		}
		v, err := wired.value()
		if err != nil {
			return nil, err
		}
		if 1+v.nesting() > maxNesting {
			return nil, errTooNested
		}
		decoded[name] = v
	}
	return decoded, nil
}

var errEmptyName = invalid("Empty attribute name")

var errTooNested = invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")

// value checks one value by the rules of the data model and brings it into normal form.
func (w wireValue) value() (value, error) {
	if err := w.exactlyOneType(); err != nil {
		return value{}, err
	}
	switch {
	case w.S != nil:
		return stringValue(*w.S), nil
	case w.N != nil:
		return decodeNumber(*w.N)
	case w.B != nil:
		return value{kind: kindBinary, text: string(*w.B)}, nil
	case w.Bool != nil:
		return value{kind: kindBool, truth: *w.Bool}, nil
	case w.Null != nil:
		if !*w.Null {
			return value{}, invalidParameter("Null attribute value types must have the value of true")
		}
		return value{kind: kindNull}, nil
	case w.SS != nil:
		return decodeSet(kindStringSet, *w.SS, func(s string) (value, error) { return stringValue(s), nil })
	case w.NS != nil:
		return decodeSet(kindNumberSet, *w.NS, decodeNumber)
	case w.BS != nil:
		return decodeSet(kindBinarySet, *w.BS, func(b []byte) (value, error) {
			return value{kind: kindBinary, text: string(b)}, nil
		})
	case w.L != nil:
		return decodeList(*w.L)
	default:
		return decodeMap(*w.M)
	}
}

func (w wireValue) exactlyOneType() error {
	count := 0
	for _, set := range []bool{
		w.S != nil, w.N != nil, w.B != nil, w.SS != nil, w.NS != nil, w.BS != nil,
		w.M != nil, w.L != nil, w.Null != nil, w.Bool != nil,
	} {
		if set {
			count++
		}
	}
	switch count {
	case 0:
		return invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case 1:
		return nil
	default:
		return invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
}

func decodeNumber(text string) (value, error) {
	n, err := parseNumber(text)
	if err != nil {
		return value{}, invalid("%v", err)
	}
	return numberValue(n), nil
}

// emptySet holds DynamoDB's own wording, oddities included.
var emptySet = map[kind]string{
	kindStringSet: "An string set  may not be empty",
	kindNumberSet: "An number set  may not be empty",
	kindBinarySet: "Binary sets should not be empty",
}

func decodeSet[E any](k kind, elements []E, decode func(E) (value, error)) (value, error) {
	if len(elements) == 0 {
		return value{}, invalidParameter("%s", emptySet[k])
	}
	set := value{kind: k, list: make([]value, 0, len(elements))}
	for _, element := range elements {
		v, err := decode(element)
		if err != nil {
			return value{}, err
		}
		set.list = append(set.list, v)
	}
	given := set.list
	set.list = slices.SortedFunc(slices.Values(given), value.compare)
	if len(slices.CompactFunc(slices.Clone(set.list), value.equal)) < len(given) {
		return value{}, duplicateElements(k, given)
	}
	return set, nil
}

func duplicateElements(k kind, given []value) error {
	if k == kindNumberSet {
		return invalid("Input collection contains duplicates")
	}
	list := names(given, value.plain)
	if k == kindBinarySet {
		return invalidParameter("Input collection %sof type BS contains duplicates.", list)
	}
	return invalidParameter("Input collection %s contains duplicates.", list)
}

func decodeList(elements []wireValue) (value, error) {
	list := value{kind: kindList, list: make([]value, 0, len(elements))}
	for _, element := range elements {
		v, err := element.value()
		if err != nil {
			return value{}, err
		}
		list.list = append(list.list, v)
	}
	return list, nil
}

func decodeMap(members map[string]wireValue) (value, error) {
	decoded := value{kind: kindMap, fields: make(map[string]value, len(members))}
	for name, member := range members {
		if name == "" {
			return value{}, errEmptyName
		}
		v, err := member.value()
		if err != nil {
			return value{}, err
		}
		decoded.fields[name] = v
	}
	return decoded, nil
}

// wire is the item as a reply carries it; nil for no item, so that the reply leaves the member out.
func (i item) wire() wireItem {
	if i == nil {
		return nil
	}
	wired := make(wireItem, len(i))
	for name, v := range i {
		wired[name] = v.wire()
	}
	return wired
}

func (a value) wire() wireValue {
	switch a.kind {
	case kindString:
		return wireValue{S: &a.text}
	case kindNumber:
		return wireValue{N: new(a.number.String())}
	case kindBinary:
		return wireValue{B: new([]byte(a.text))}
	case kindBool:
		return wireValue{Bool: &a.truth}
	case kindNull:
		return wireValue{Null: new(true)}
	case kindStringSet:
		return wireValue{SS: encodeEach(a.list, func(v value) string { return v.text })}
	case kindNumberSet:
		return wireValue{NS: encodeEach(a.list, func(v value) string { return v.number.String() })}
	case kindBinarySet:
		return wireValue{BS: encodeEach(a.list, func(v value) []byte { return []byte(v.text) })}
	case kindList:
		return wireValue{L: encodeEach(a.list, value.wire)}
	case kindMap:
		return wireValue{M: new(map[string]wireValue(item(a.fields).wire()))}
	}
	panic(fmt.Sprintf("value of unknown kind %q", a.kind))
}

func encodeEach[E any](list []value, encode func(value) E) *[]E {
	encoded := make([]E, len(list))
	for i, v := range list {
		encoded[i] = encode(v)
	}
	return &encoded
}
