package selection

import (
	"maps"
	"slices"
)

// origin says what the value of a sub-expression can be made of. The zero origin
// is that of null.
type origin struct {
	places  []*place          // it is the payload's value at one of these places
	each    *origin           // it is a new list, each element of which is this
	lists   [][]origin        // it is the list of one of these multi-selects
	members map[string]origin // it is the object of a multi-select
	other   bool              // it is a literal, or computed
	part    bool              // it is a part of a multi-select and must not be missing
	text    bool              // it is made by to_string: "null" if missing
}

// somethingElse is the origin of a literal or computed value.
var somethingElse = origin{other: true}

// isOfPayload reports whether the value can only be one of the payload's.
func (o origin) isOfPayload() bool {
	return len(o.places) > 0 && o.each == nil && o.lists == nil && o.members == nil && !o.other
}

// isOnePlace reports whether the value can only be the payload's at one place.
func (o origin) isOnePlace() bool { return o.isOfPayload() && len(o.places) == 1 }

// is reports whether the value can only be the one at p.
func (o origin) is(p *place) bool { return o.isOnePlace() && o.places[0] == p }

// or is the origin of a value that has one of two origins.
func (o origin) or(p origin) origin {
	both := origin{
		places:  slices.Clone(o.places),
		each:    o.each,
		lists:   slices.Concat(o.lists, p.lists),
		members: o.members,
		other:   o.other || p.other,
		part:    o.part || p.part,
		text:    o.text || p.text,
	}
	for _, other := range p.places {
		if !slices.Contains(both.places, other) {
			both.places = append(both.places, other)
		}
	}
	if o.each == nil {
		both.each = p.each
	} else if p.each != nil {
		each := o.each.or(*p.each)
		both.each = &each
	}
	if o.members == nil {
		both.members = p.members
	} else if p.members != nil {
		both.members = maps.Clone(o.members)
		for name, member := range p.members {
			both.members[name] = member.or(both.members[name])
		}
	}
	return both
}

func (o origin) field(name string) origin {
	field := o.members[name]
	field.other = field.other || o.other
	for _, p := range o.places {
		field = field.or(origin{places: []*place{p.member(name)}})
	}
	return field
}

func (o origin) element() origin {
	var element origin
	if o.each != nil {
		element = *o.each
	}
	element.other = element.other || o.other
	for _, list := range o.lists {
		for _, part := range list {
			element = element.or(part)
		}
	}
	for _, p := range o.places {
		element = element.or(origin{places: []*place{p.element()}})
	}
	return element
}

func (o origin) index(i int) origin {
	var element origin
	if o.each != nil {
		element = *o.each
	}
	element.other = element.other || o.other
	for _, list := range o.lists {
		at := i
		if i < 0 {
			at += len(list)
		}
		if 0 <= at && at < len(list) {
			element = element.or(list[at])
		}
	}
	for _, p := range o.places {
		if i < 0 { // which element that is depends on the payload
			element = element.or(origin{places: []*place{p.element()}})
		} else {
			element = element.or(origin{places: []*place{p.at(i)}})
		}
	}
	return element
}

// size counts the origins within o, but no further than limit.
func (o origin) size(limit int) int {
	n := 1 + len(o.places)
	add := func(p origin) {
		if n < limit {
			n += p.size(limit - n)
		}
	}
	if o.each != nil {
		add(*o.each)
	}
	for _, list := range o.lists {
		for _, part := range list {
			add(part)
		}
	}
	for _, member := range o.members {
		add(member)
	}
	return n
}

// require makes the value required where the payload alone decides whether it is
// missing.
func (o origin) require() {
	if o.isOnePlace() {
		o.places[0].require()
	}
	o.requireParts()
}

// requireParts requires all parts of multi-selects that the value is made of.
func (o origin) requireParts() {
	if o.each != nil {
		o.each.requireParts()
	}
	for _, list := range o.lists {
		for _, part := range list {
			part.require()
		}
	}
	for _, member := range o.members {
		member.require()
	}
}

// visit calls f with every place that the value can hold.
func (o origin) visit(f func(*place)) {
	for _, p := range o.places {
		f(p)
	}
	if o.each != nil {
		o.each.visit(f)
	}
	for _, list := range o.lists {
		for _, part := range list {
			part.visit(f)
		}
	}
	for _, member := range o.members {
		member.visit(f)
	}
}
