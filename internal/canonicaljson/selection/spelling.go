package selection

import (
	"fmt"
	"maps"
	"strings"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// spelling guards the names of the members that an expression reads in one place.
//
// A Go function finds a member for a field in any case of its name, and takes the last
// one. An expression finds one spelling. Where a payload has another, what is selected
// and what the function works on could be two requests, or one that seems to be
// missing: such a payload is unusable, unless the expression names that spelling too,
// and the payload has one of them.
//
// The rule is that of encoding/json: Unicode simple folding (bytes.EqualFold). Names
// that differ in "_" or "-" are different members, as they are for encoding/json/v2 too
// unless it is told otherwise (case:ignore).
type spelling struct {
	read    map[string]string // the name that is read, by its folded form
	named   map[string]bool   // names that other parts of the expression read here
	several bool              // some of the names read and named differ only in case
	lengths uint64            // of the names, modulo 64
	longest int               // of the names, in another case
}

// spellings are the names that an object has and that are read, or could have been.
type spellings []string

func newSpelling(members map[string]*place) *spelling {
	if len(members) == 0 {
		return nil
	}
	s := &spelling{read: make(map[string]string, len(members))}
	for name := range members {
		folded := canonicaljson.Folded(name)
		_, twin := s.read[folded]
		s.several = s.several || twin
		s.read[folded] = name
		s.lengths |= 1 << (len(name) % 64)
		s.longest = max(s.longest, 3*len(name)) // one byte can become three: k is the Kelvin sign too
		if !canonicaljson.IsASCII([]byte(name)) {
			s.lengths = ^uint64(0)
		}
	}
	return s
}

// name notes a name that other parts of the expression read.
func (s *spelling) name(other string) {
	read, known := s.read[canonicaljson.Folded(other)]
	if !known || read == other {
		return
	}
	if s.named == nil {
		s.named = make(map[string]bool)
	}
	s.named[other], s.several = true, true
}

// check returns an error if a member has the name of one that is read in another case.
func (s *spelling) check(name []byte, isRead bool, seen *spellings) error {
	if !isRead {
		if len(name) > s.longest || s.lengths>>(len(name)%64)&1 == 0 && canonicaljson.IsASCII(name) {
			return nil
		}
		var folded [64]byte
		read, twin := s.read[string(canonicaljson.AppendFolded(folded[:0], name))]
		if !twin {
			return nil
		}
		if !s.named[string(name)] {
			return fmt.Errorf("%w from %q", canonicaljson.ErrTwinName, read)
		}
	}
	if !s.several {
		return nil
	}
	for _, other := range *seen {
		if other == string(name) {
			return nil
		}
		if strings.EqualFold(other, string(name)) {
			return fmt.Errorf("%w from another", canonicaljson.ErrTwinName)
		}
	}
	*seen = append(*seen, string(name))
	return nil
}

// guardNames makes sure that what the selection reads is what a function gets.
func (s *Selection) guardNames() {
	trees := make(map[string][]*place)
	s.collectTrees(trees)
	for _, same := range trees {
		for _, tree := range same {
			tree.guardNames()
		}
		shareNames(same)
	}
}

// collectTrees adds what the selection reads of the payload, whose name here is empty,
// and of what its calls return.
func (s *Selection) collectTrees(trees map[string][]*place) {
	for _, a := range s.alternatives {
		trees[""] = append(trees[""], a.reads)
		for _, call := range a.calls {
			trees[call.written] = append(trees[call.written], call.result)
			call.argument.collectTrees(trees)
		}
	}
}

func (p *place) guardNames() {
	p.spelling = newSpelling(p.members)
	for _, child := range p.members {
		child.guardNames()
	}
	for _, child := range p.indexes {
		child.guardNames()
	}
	if p.elements != nil {
		p.elements.guardNames()
	}
}

// shareNames tells each of several trees of places about the names that the others read
// in the same place.
func shareNames(trees []*place) {
	if len(trees) < 2 {
		return
	}
	all := newTree()
	for _, tree := range trees {
		all.absorbNames(tree)
	}
	for _, tree := range trees {
		tree.nameAll(all)
	}
}

// absorbNames adds the names that are read in the places of another tree.
func (p *place) absorbNames(from *place) {
	for name, child := range from.members {
		p.member(name).absorbNames(child)
	}
	for index, child := range from.indexes {
		p.at(index).absorbNames(child)
	}
	if from.elements != nil {
		p.element().absorbNames(from.elements)
	}
}

// nameAll notes the names that are read in the places of another tree.
func (p *place) nameAll(others *place) {
	if p.spelling != nil {
		for name := range maps.Keys(others.members) {
			p.spelling.name(name)
		}
	}
	for name, child := range p.members {
		child.nameAll(others.members[name])
	}
	for index, child := range p.indexes {
		child.nameAll(others.indexes[index])
	}
	if p.elements != nil {
		p.elements.nameAll(others.elements)
	}
}
