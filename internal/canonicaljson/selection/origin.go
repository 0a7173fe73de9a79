package selection

import (
	"slices"
)

// origin says what the value of a sub-expression can be made of. The zero origin
// is that of null.
type origin struct {
	places  []*place            // it is the payload's value at one of these places
	each    *origin             // it is a new list, each element of which is this
	lists   [][]origin          // it is the list of one of these multi-selects
	objects []map[string]origin // it is the object of one of these multi-selects
	other
}

// other is what a value is that is no part of the payload.
type other struct {
	computed bool // from parts of the payload
	answer   bool // true or false, or one of few words
	literal  bool // or made of literals
}

var (
	answer  = origin{other: other{answer: true}}
	literal = origin{other: other{literal: true}}
)

func (o other) or(p other) other {
	return other{computed: o.computed || p.computed, answer: o.answer || p.answer, literal: o.literal || p.literal}
}

// is reports whether the value can only be the one at p.
func (o origin) is(p *place) bool {
	return len(o.places) == 1 && o.places[0] == p && o.each == nil && o.lists == nil && o.objects == nil && o.other == other{}
}

// or is the origin of a value that has one of two origins.
func (o origin) or(p origin) origin {
	both := origin{
		places:  slices.Clone(o.places),
		each:    o.each,
		lists:   slices.Concat(o.lists, p.lists),
		objects: slices.Concat(o.objects, p.objects),
		other:   o.other.or(p.other),
	}
	for _, also := range p.places {
		if !slices.Contains(both.places, also) {
			both.places = append(both.places, also)
		}
	}
	if o.each == nil {
		both.each = p.each
	} else if p.each != nil {
		each := o.each.or(*p.each)
		both.each = &each
	}
	return both
}

func (o origin) field(name string) origin {
	field := origin{other: o.other}
	for _, object := range o.objects {
		field = field.or(object[name])
	}
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
	element.other = element.other.or(o.other)
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
	element.other = element.other.or(o.other)
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
	for _, object := range o.objects {
		for _, member := range object {
			add(member)
		}
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
	for _, object := range o.objects {
		for _, member := range object {
			member.visit(f)
		}
	}
}
