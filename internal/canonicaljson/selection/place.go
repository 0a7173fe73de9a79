package selection

import "slices"

// place is a place of the payload, or a set of places (all elements of an array,
// say), together with what an expression does to the value there. The places of an
// expression form a tree with the payload itself as its root; the rest of the
// payload is not read.
type place struct {
	parent   *place
	members  map[string]*place
	elements *place         // any element
	indexes  map[int]*place // one element

	// selected: the value becomes part of the selection, which the engine only
	// moves. inspected: the engine looks at it (an operand, an argument).
	// Without either only members or elements of it are of interest.
	selected, inspected bool
	uses                int // how many times it was marked as selected or inspected

	// required: the value must not be missing, for what is made of it would not
	// show that. A value whose parts are required must hold them.
	required        bool
	requiredMembers []string
	requiredLength  int

	// rest and lastIndex are set by settle. rest is how to read the members and
	// elements that have no place of their own; nil if they are not read.
	rest      *place
	lastIndex int // the last element that has a place, -1 if none
}

// A whole value is read alike at every depth.
var (
	wholeSelected  = &place{selected: true, lastIndex: -1}
	wholeInspected = func() *place {
		p := &place{selected: true, inspected: true, lastIndex: -1}
		p.rest = p
		return p
	}()
)

func (p *place) member(name string) *place {
	child, ok := p.members[name]
	if !ok {
		child = &place{parent: p}
		if p.members == nil {
			p.members = make(map[string]*place)
		}
		p.members[name] = child
	}
	return child
}

func (p *place) element() *place {
	if p.elements == nil {
		p.elements = &place{parent: p}
	}
	return p.elements
}

func (p *place) at(index int) *place {
	child, ok := p.indexes[index]
	if !ok {
		child = &place{parent: p}
		if p.indexes == nil {
			p.indexes = make(map[int]*place)
		}
		p.indexes[index] = child
	}
	return child
}

func (p *place) hasChildren() bool {
	return p.members != nil || p.elements != nil || p.indexes != nil
}

// isRead reports whether the expression reads anything here.
func (p *place) isRead() bool { return p.uses > 0 || p.hasChildren() }

// require makes the value here required, as long as what holds it is not an
// element: of no elements nothing is required.
func (p *place) require() {
	p.required = true
	for child, above := p, p.parent; above != nil; child, above = above, above.parent {
		for name, member := range above.members {
			if member == child && !slices.Contains(above.requiredMembers, name) {
				above.requiredMembers = append(above.requiredMembers, name)
			}
		}
		for index, element := range above.indexes {
			if element == child {
				above.requiredLength = max(above.requiredLength, index+1)
			}
		}
		if above.elements == child {
			return
		}
	}
}

// lacks reports whether a value read here, or a part of it, is required and
// missing.
func (p *place) lacks(value any) bool {
	if p.required && isEmpty(value) {
		return true
	}
	if len(p.requiredMembers) > 0 {
		object, _ := value.(map[string]any)
		for _, name := range p.requiredMembers {
			if _, ok := object[name]; !ok {
				return true
			}
		}
	}
	if p.requiredLength > 0 {
		array, _ := value.([]any)
		return len(array) < p.requiredLength
	}
	return false
}

// isRaw reports whether the value can stay in its text: nobody looks inside.
func (p *place) isRaw() bool { return p.selected && !p.inspected && !p.hasChildren() }

// settle prepares the tree for reading: what is done to a value is done to all
// its parts, and what is done to all elements is done to each one.
func (p *place) settle() {
	switch {
	case p.inspected:
		p.rest = wholeInspected
	case p.selected:
		p.rest = wholeSelected
	}
	p.lastIndex = -1
	for index, child := range p.indexes {
		p.lastIndex = max(p.lastIndex, index)
		if p.elements != nil {
			child.absorb(p.elements)
		}
		child.inherit(p)
	}
	for _, child := range p.members {
		child.inherit(p)
	}
	if p.elements != nil {
		p.elements.inherit(p)
	}
}

func (p *place) inherit(from *place) {
	p.selected = p.selected || from.selected
	p.inspected = p.inspected || from.inspected
	p.settle()
}

// absorb adds to p all that is done to the values of another place.
func (p *place) absorb(from *place) {
	p.selected = p.selected || from.selected
	p.inspected = p.inspected || from.inspected
	p.required = p.required || from.required
	p.requiredMembers = append(p.requiredMembers, from.requiredMembers...)
	p.requiredLength = max(p.requiredLength, from.requiredLength)
	for name, child := range from.members {
		p.member(name).absorb(child)
	}
	for index, child := range from.indexes {
		p.at(index).absorb(child)
	}
	if from.elements != nil {
		p.element().absorb(from.elements)
	}
}
