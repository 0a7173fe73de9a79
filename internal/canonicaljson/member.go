package canonicaljson

import (
	"bytes"
	"fmt"
	"slices"
)

// member is where one object member stands in the output: "name":value. It is kept
// small: an object of six megabytes has a million of them.
type member struct {
	start, nameEnd, end uint32
	inside              uint32 // the first of writer.objects that can be in the value
}

// name returns the name of a member in canonical text, with its quotes.
func (m member) name(text []byte) []byte { return text[m.start:m.nameEnd] }

// object is where an object stands in the output whose members are not in order, or
// which has one in it.
type object struct {
	start, end  uint32 // of { and behind }
	first, last uint32 // its members in writer.sorted, up to last; none if they are in order
	behind      uint32 // the first of writer.objects that is not in it
}

// position is where the output ends.
func (w *writer) position(dst []byte) uint32 { return uint32(len(dst) - w.start) }

// addMember adds a member whose name ends at a position of the document. The last ones
// of a long object get no more room than they need.
func (w *writer) addMember(m member, at int) {
	const few = 1 << 12
	if n := len(w.members); n == cap(w.members) && n >= few {
		most := 1 + bytes.Count(w.document[at:], []byte{','})
		w.members = slices.Grow(w.members, min(n, most))
	}
	w.members = append(w.members, m)
}

// checkMembers sorts the members of an object by their names, unless they are, and
// returns an error if two of them have one name for some reader.
func (w *writer) checkMembers(text []byte, members []member, inOrder, cased bool) error {
	if !inOrder {
		slices.SortFunc(members, func(a, b member) int { return compareNames(a.name(text), b.name(text)) })
		for i, m := range members[1:] {
			if bytes.Equal(members[i].name(text), m.name(text)) {
				return ErrDuplicateName
			}
		}
	}
	if cased && w.twins == refuseTwins && w.haveTwins(text, members) {
		return fmt.Errorf("%w from another", ErrTwinName)
	}
	return nil
}

// endObject notes where an object ends, with its members, sorted. One in order with nothing
// in it to be sorted is forgotten.
func (w *writer) endObject(index int, end uint32, members []member, inOrder bool) {
	if inOrder && index == len(w.objects)-1 {
		w.objects = w.objects[:index]
		return
	}
	o := &w.objects[index]
	o.end, o.behind, o.first = end, uint32(len(w.objects)), uint32(len(w.sorted))
	if !inOrder {
		w.sorted = append(w.sorted, members...)
	}
	o.last = uint32(len(w.sorted))
}

// sortObjects moves the members of the unsorted objects in the output.
func (w *writer) sortObjects(dst []byte) []byte {
	if len(w.objects) == 0 {
		return dst
	}
	w.scratch = slices.Grow(w.scratch[:0], len(dst)-w.start)
	w.copySorted(dst[w.start:], 0, w.position(dst), 0)
	return append(dst[:w.start], w.scratch...)
}

// copySorted copies text[from:to] to scratch, its objects sorted, of which next is the first.
func (w *writer) copySorted(text []byte, from, to, next uint32) {
	for int(next) < len(w.objects) && w.objects[next].start < to {
		o := w.objects[next]
		if o.first == o.last {
			next++
			continue
		}
		w.scratch = append(w.scratch, text[from:o.start+1]...)
		for i, m := range w.sorted[o.first:o.last] {
			if i > 0 {
				w.scratch = append(w.scratch, ',')
			}
			w.copySorted(text, m.start, m.end, m.inside)
		}
		from, next = o.end-1, o.behind
	}
	w.scratch = append(w.scratch, text[from:to]...)
}
