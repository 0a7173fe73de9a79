package dynamotest

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What the SDK can say in a request is either served or refused, never passed over. A member that a later SDK adds shows up
// here.
func TestEveryMemberTheSDKKnowsIsServedOrRefused(t *testing.T) {
	client := reflect.TypeFor[*dynamodb.Client]()
	for operation, newInput := range operations {
		method, ok := client.MethodByName(operation)
		if !ok {
			t.Errorf("the SDK has no %s", operation)
			continue
		}
		theirs := method.Type.In(2).Elem()
		for _, missing := range unknownMembers(theirs, reflect.TypeOf(newInput()).Elem(), operation) {
			t.Errorf("%s is passed over", missing)
		}
	}
}

// unknownMembers are the members of their structure, and of those in it, that ours lacks.
func unknownMembers(theirs, ours reflect.Type, at string) []string {
	theirs, ours = elementOf(theirs), elementOf(ours)
	if theirs.Kind() != reflect.Struct || ours == reflect.TypeFor[notServed]() || ours == reflect.TypeFor[wireValue]() {
		return nil
	}
	if ours.Kind() != reflect.Struct {
		return []string{at}
	}
	known := membersOf(ours)
	var missing []string
	for field := range theirs.Fields() {
		if !field.IsExported() || field.Type == reflect.TypeFor[types.AttributeValue]() {
			continue
		}
		path := at + "." + field.Name
		if member, ok := known[field.Name]; ok {
			missing = append(missing, unknownMembers(field.Type, member, path)...)
		} else {
			missing = append(missing, path)
		}
	}
	return missing
}

func elementOf(t reflect.Type) reflect.Type {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, t.Kind()) {
		t = t.Elem()
	}
	return t
}

// membersOf are the members of a structure on the wire.
func membersOf(structure reflect.Type) map[string]reflect.Type {
	members := make(map[string]reflect.Type)
	for field := range structure.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			maps.Copy(members, membersOf(field.Type))
		case !field.IsExported():
		case name != "":
			members[name] = field.Type
		default:
			members[field.Name] = field.Type
		}
	}
	return members
}
