package selection

import (
	"errors"
	"maps"
	"slices"
)

// telling is how much a value says of the event that it is selected from. A literal
// says nothing, and the answer to a condition hardly anything: it is the same for many
// events. What is selected must have a part of the payload in it whichever of the
// alternatives, arguments and defaults it comes from; else all events that lack that
// part would share a key. So
//
//   - id || 'anonymous', not_null(id, 'x'), [id || 'x'], to_string(id || 'x') and
//     merge({id: 'x'}, detail).id are refused: 'x' can stand for the only part;
//   - id && 'x' and [id, 'x'] | [1] are refused: they are 'x' for all events with an id;
//   - ['v1', id] and [id, kind || 'none'] are not: the key always holds the id.
//
// Conditions may hold what they like: they only decide what is selected. An answer
// alone, such as contains(tags, 'x'), is let pass, since it says what it is.
type telling int

const (
	tellsNothing telling = iota
	tellsLittle
	tellsWhich
)

var (
	errReadsNothing = errors.New("it reads nothing of the payload, so that all events would be one request")
	errTellsNothing = errors.New("what it selects can be a literal alone, so that all events with that would be one request; select a part of the payload too")
	errStandIn      = errors.New("a literal or the answer to a condition can stand for what an event lacks, so that all events without that would be one request; " +
		"write alternatives of the payload, or put it beside a part that all events have")
)

// tells returns how much a value with this origin tells at least and at most. It is
// tellsWhich at least and tellsNothing at most if the value can only be null.
func (o origin) tells() (least, most telling) {
	least, most = tellsWhich, tellsNothing
	can := func(l, m telling) { least, most = min(least, l), max(most, m) }
	if len(o.places) > 0 || o.computed {
		can(tellsWhich, tellsWhich)
	}
	if o.answer {
		can(tellsLittle, tellsLittle)
	}
	if o.literal {
		can(tellsNothing, tellsNothing)
	}
	if o.each != nil {
		can(o.each.tells())
	}
	for _, list := range o.lists {
		can(together(list))
	}
	for _, object := range o.objects {
		can(together(slices.Collect(maps.Values(object))))
	}
	return least, most
}

// together is how much values tell that come one with another.
func together(parts []origin) (least, most telling) {
	for _, part := range parts {
		l, m := part.tells()
		least, most = max(least, l), max(most, m)
	}
	return least, most
}

// madeOf is the origin of what is computed of all the values.
func madeOf(values []origin) origin {
	least, most := together(values)
	return origin{other: other{
		computed: most == tellsWhich,
		answer:   least == tellsLittle || most == tellsLittle,
		literal:  least == tellsNothing,
	}}
}

// checkTelling returns an error unless the value always says which event it is of.
func (o origin) checkTelling() error {
	switch least, most := o.tells(); {
	case most == tellsWhich && least < tellsWhich:
		return errStandIn
	case least == tellsNothing:
		return errTellsNothing
	}
	return nil
}
