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
}

// somethingElse is the origin of a literal or computed value.
var somethingElse = origin{other: true}

// is reports whether the value can only be the one at p.
func (o origin) is(p *place) bool {
	return len(o.places) == 1 && o.places[0] == p && o.each == nil && o.lists == nil && o.members == nil && !o.other
}

// or is the origin of a value that has one of two origins.
func (o origin) or(p origin) origin {
	both := origin{
		places:  slices.Clone(o.places),
		each:    o.each,
		lists:   slices.Concat(o.lists, p.lists),
		members: o.members,
		other:   o.other || p.other,
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
