package selection

// place is a place of the payload, or a set of places (all elements of an array,
// say), together with what an expression does to the value there. The places of an
// expression form a tree with the payload itself as its root; the rest of the
// payload is not read.
type place struct {
	count    *int   // of the places of the tree
	name     string // of the member that it is, if it is one
	members  map[string]*place
	elements *place         // any element
	indexes  map[int]*place // one element

	// selected: the value becomes part of the selection, which the engine only
	// moves. inspected: the engine looks at it (an operand, an argument).
	// Without either only members or elements of it are of interest.
	selected, inspected bool

	// rest and lastIndex are set by settle. rest is how to read the members and
	// elements that have no place of their own; nil if they are not read.
	rest      *place
	lastIndex int // the last element that has a place, -1 if none

	spelling *spelling // of the members; set by guardNames, nil if there are none
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

// maxPlaces bounds the places of a tree: [*] and [0] at every level double them.
const maxPlaces = 2000

// newTree returns the root of a tree of places.
func newTree() *place { return &place{count: new(int)} }

// child returns a place for what stands in p.
func (p *place) child() *place {
	*p.count++
	return &place{count: p.count}
}

// isTooLarge reports whether the tree has too many places.
func (p *place) isTooLarge() bool { return *p.count > maxPlaces }

func (p *place) member(name string) *place {
	child, ok := p.members[name]
	if !ok {
		child = p.child()
		child.name = name
		if p.members == nil {
			p.members = make(map[string]*place)
		}
		p.members[name] = child
	}
	return child
}

func (p *place) element() *place {
	if p.elements == nil {
		p.elements = p.child()
	}
	return p.elements
}

func (p *place) at(index int) *place {
	child, ok := p.indexes[index]
	if !ok {
		child = p.child()
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
func (p *place) isRead() bool { return p.selected || p.inspected || p.hasChildren() }

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
	if p.isTooLarge() {
		return
	}
	p.selected = p.selected || from.selected
	p.inspected = p.inspected || from.inspected
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
