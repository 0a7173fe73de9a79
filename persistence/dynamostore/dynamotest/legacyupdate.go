package dynamotest

import (
	"errors"
	"slices"
)

// legacySelection is the projection that AttributesToGet names: whole attributes.
func legacySelection(attributes []string) (projection, error) {
	if attributes == nil {
		return nil, nil
	}
	if len(attributes) == 0 {
		var faults constraints
		faults.addIf(true, "'[]'", "attributesToGet", "Member must have length greater than or equal to 1")
		return nil, faults.err()
	}
	var paths projection
	for i, name := range attributes {
		if name == "" {
			return nil, errEmptyName
		}
		if slices.Contains(attributes[:i], name) {
			return nil, invalidParameter("Duplicate value in attribute name: %s", name)
		}
		paths = append(paths, path{nameStep(name)})
	}
	return paths, nil
}

func checkAttributeUpdates(faults *constraints, updates map[string]attributeUpdate) {
	for _, name := range sortedKeys(updates) {
		checkEnum(faults, updates[name].Action, "attributeUpdates."+name+".member.action", "ADD", "PUT", "DELETE")
	}
}

// legacyChanges is the update that AttributeUpdates describe; nil for none.
func legacyChanges(updates map[string]attributeUpdate) (update, error) {
	var actions update
	for _, name := range sortedKeys(updates) {
		a, err := updates[name].of(name)
		if err != nil {
			return nil, err
		}
		actions = append(actions, a)
	}
	return actions, nil
}

// of is the update of one attribute as an action of an update expression.
func (u attributeUpdate) of(attribute string) (action, error) {
	if attribute == "" {
		return action{}, errEmptyName
	}
	a := action{clause: "SET", target: path{nameStep(attribute)}}
	if u.Value == nil {
		if u.Action != "DELETE" {
			return a, invalidParameter("Only DELETE action is allowed when no attribute value is specified")
		}
		a.clause = "REMOVE"
		return a, nil
	}
	v, err := u.Value.value()
	if err != nil {
		return a, err
	}
	switch u.Action {
	case "ADD":
		if v.kind != kindNumber && !v.kind.isSet() {
			return a, invalidParameter("ADD action is not supported for the type %s", v.kind)
		}
		a.clause = "ADD"
	case "DELETE":
		if !v.kind.isSet() {
			return a, invalidParameter("DELETE action with value is not supported for the type %s", v.kind)
		}
		a.clause = "DELETE"
	}
	a.source = constant(v)
	return a, nil
}

// applyLegacy is apply for what AttributeUpdates asked for: it has its own words for a type that does not fit, and where
// there is no item deletions make none.
func (u update) applyLegacy(old, key item) (item, error) {
	if old == nil && !slices.ContainsFunc(u, func(a action) bool { return a.clause == "SET" || a.clause == "ADD" }) {
		return nil, nil
	}
	after, err := u.apply(old, key)
	if errors.Is(err, errOperandType) {
		return nil, invalid("Type mismatch for attribute to update")
	}
	return after, err
}
