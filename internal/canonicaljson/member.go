package canonicaljson

import (
	"bytes"
	"fmt"
	"slices"
)

// position is where the output ends.
func (w *writer) position(dst []byte) uint32 { return uint32(len(dst) - w.start) }

// addMember adds a member. The last ones of a long object get no more room than they
// need.
func (w *writer) addMember(m member) {
	const few = 1 << 12
	if n := len(w.members); n == cap(w.members) && n >= few {
		most := 1 + bytes.Count(w.raw[w.dec.InputOffset():], []byte{','})
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

// sortObjects moves the members of the unsorted objects in the output.
func (w *writer) sortObjects(dst []byte) []byte {
	if len(w.unsorted) == 0 {
		return dst
	}
	slices.SortFunc(w.unsorted, func(a, b object) int { return int(a.start) - int(b.start) })
	w.scratch = slices.Grow(w.scratch[:0], len(dst)-w.start)
	w.copySorted(dst[w.start:], 0, w.position(dst))
	return append(dst[:w.start], w.scratch...)
}

// copySorted copies text[from:to] to scratch, its objects sorted.
func (w *writer) copySorted(text []byte, from, to uint32) {
	for {
		next, _ := slices.BinarySearchFunc(w.unsorted, from, func(o object, from uint32) int { return int(o.start) - int(from) })
		if next == len(w.unsorted) || w.unsorted[next].start >= to {
			break
		}
		o := w.unsorted[next]
		w.scratch = append(w.scratch, text[from:o.start+1]...)
		for i, m := range w.sorted[o.firstMember : o.firstMember+o.count] {
			if i > 0 {
				w.scratch = append(w.scratch, ',')
			}
			w.copySorted(text, m.start, m.end)
		}
		from = o.end - 1
	}
	w.scratch = append(w.scratch, text[from:to]...)
}
