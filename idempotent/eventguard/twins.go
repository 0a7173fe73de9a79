package eventguard

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// target is where a value is decoded to, as far as the case of names goes. The names of a
// struct's fields are found in any case; those in a map are keys, each its own.
type target struct {
	t     reflect.Type // a struct, map, slice or array; nil for all else
	folds bool         // names that differ only in case may be one
}

// targetOf returns the target of a type. What reads JSON by itself, also later as a
// json.RawMessage does, may fold at any depth.
func targetOf(t reflect.Type) target {
	for {
		if own := reflect.TypeFor[json.Unmarshaler](); t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return target{folds: true}
		}
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		return target{t: t, folds: true}
	case reflect.Map, reflect.Slice, reflect.Array:
		return target{t: t}
	default:
		return target{}
	}
}

// member returns the target of a member by its folded name, or of an element.
func (to target) member(folded string) target {
	switch {
	case to.t == nil:
		return to
	case to.t.Kind() == reflect.Struct:
		return fieldsOf(to.t)[folded]
	default:
		return targetOf(to.t.Elem())
	}
}

var (
	knownFields sync.Map // of each struct, map[string]target
	tagged      = regexp.MustCompile(`:"([^",]+)`)
)

// fieldsOf returns the targets of a struct's fields by their folded names. A decoder may go
// by a field's own name or by any of its tags. Where several fields have a name, it
// is not known which one is decoded.
func fieldsOf(t reflect.Type) map[string]target {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]target)
	}
	fields := make(map[string]target)
	for _, f := range reflect.VisibleFields(t) {
		names := map[string]bool{canonicaljson.Folded(f.Name): true}
		for _, tag := range tagged.FindAllStringSubmatch(string(f.Tag), -1) {
			names[canonicaljson.Folded(tag[1])] = true
		}
		for name := range names {
			if other, several := fields[name]; several && other != targetOf(f.Type) {
				fields[name] = target{folds: true}
			} else if !several {
				fields[name] = targetOf(f.Type)
			}
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// ambiguousItem is ambiguous for an item of a table.
func ambiguousItem(item map[string]events.DynamoDBAttributeValue, to target) bool {
	if to.folds && canonicaljson.HaveTwins(maps.Keys(item)) {
		return true
	}
	for name, value := range item {
		if ambiguousAttribute(value, to.member(canonicaljson.Folded(name))) {
			return true
		}
	}
	return false
}

func ambiguousAttribute(value events.DynamoDBAttributeValue, to target) bool {
	switch value.DataType() {
	case events.DataTypeMap:
		return ambiguousItem(value.Map(), to)
	case events.DataTypeList:
		for _, element := range value.List() {
			if ambiguousAttribute(element, to.member("")) {
				return true
			}
		}
	}
	return false
}
