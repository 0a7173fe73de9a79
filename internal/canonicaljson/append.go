package canonicaljson

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	// ErrDuplicateName reports an object with two members of one name.
	ErrDuplicateName = errors.New("duplicate member name")
	// ErrTwinName reports a member whose name differs only in case from another's, or
	// from the one that is read: encoding/json takes the two for one.
	ErrTwinName = errors.New("member name that differs only in case")
	// ErrText reports a string with invalid UTF-8 or a lone surrogate.
	ErrText = errors.New("string that is not Unicode text")
	// ErrNoValue reports a document without a value.
	ErrNoValue = errors.New("no JSON value")
	// ErrDepth reports a value that is nested too deep.
	ErrDepth = errors.New("JSON nested too deep")
	// ErrSeveralValues reports a document that goes on behind its value.
	ErrSeveralValues = errors.New("more than one JSON value")
	// ErrTooLong reports a document of more than 256 MiB.
	ErrTooLong = errors.New("JSON document longer than 256 MiB")
)

// SyntaxFault is the error of a document that breaks the syntax at that byte. It
// does not quote the document, which may be secret.
func SyntaxFault(at int) error { return fmt.Errorf("not valid JSON at byte %d", at) }

// Append appends the canonical form of raw, which must be exactly one JSON value
// with optional white space around it. It does not keep or change raw. After an
// error the bytes appended to dst are of no use.
//
// An object with names that differ only in case is an error: encoding/json takes the
// last of them, whichever that is, and the canonical form has lost their order.
func Append(dst, raw []byte) ([]byte, error) { return appendDocument(dst, raw, refuseTwins) }

// AppendWithTwins is Append for JSON of which no reader makes one member out of two
// that differ only in case, such as what Go itself has encoded.
func AppendWithTwins(dst, raw []byte) ([]byte, error) { return appendDocument(dst, raw, keepTwins) }

// twins says what becomes of names that differ only in case.
type twins int

const (
	refuseTwins twins = iota
	keepTwins
)

// maxDocument keeps positions in the output, which is at most eight times as long,
// within 32 bits.
const maxDocument = 256 << 20

func appendDocument(dst, raw []byte, t twins) ([]byte, error) {
	if len(raw) > maxDocument {
		return dst, ErrTooLong
	}
	w := writers.Get().(*writer)
	defer w.release()
	w.document, w.twins, w.start = raw, t, len(dst)
	dst, at := w.appendValue(slices.Grow(dst, len(raw)), w.document.Space(0), 0) // which is seldom shorter
	switch {
	case w.refused != nil:
		return dst, w.refused
	case at < 0:
		return dst, w.document.Fault(at)
	}
	return w.sortObjects(dst), w.document.End(at)
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// writer turns one JSON document into canonical form. It writes all members
// in the order of the input, and then moves those of the unsorted objects, all at
// once: to sort every object when it ends would copy what is nested deep again and
// again.
//
// Its methods step on as those of Document do, and append to dst what they step over.
type writer struct {
	document Document
	refused  error // of a position that stands for no fault of the syntax
	twins    twins
	start    int          // of the output in dst; positions in it count from there
	members  []member     // of the objects being written, innermost last
	objects  []object     // in the order in which they begin
	sorted   []member     // of those that are not in order
	folded   []foldedName // of the object being checked
	scratch  []byte
}

func (w *writer) release() {
	w.document, w.refused = nil, nil // lets go of the caller's bytes
	w.members, w.objects, w.sorted, w.folded = w.members[:0], w.objects[:0], w.sorted[:0], w.folded[:0]
	if cap(w.scratch) > maxKept {
		w.scratch = nil
	}
	if cap(w.members)+cap(w.objects)+cap(w.sorted)+cap(w.folded) > maxMembers {
		w.members, w.objects, w.sorted, w.folded = nil, nil, nil, nil
	}
	writers.Put(w)
}

// A writer keeps no more memory than this for the next value: that is enough for most values of
// one megabyte.
const (
	maxKept    = 2 << 20 // bytes
	maxMembers = 1 << 17 // members and objects
)

// refuse returns the position of a value that has no canonical form.
func (w *writer) refuse(at int, err error) int {
	w.refused = err
	return faultAt(at)
}

func (w *writer) appendValue(dst []byte, at, level int) ([]byte, int) {
	switch w.document.Kind(at) {
	case '{':
		return w.appendObject(dst, at, level)
	case '[':
		return w.appendArray(dst, at, level)
	case '"':
		return w.appendString(dst, at)
	case 't', 'f', 'n':
		end := w.document.Value(at, level)
		if end < 0 {
			return dst, end
		}
		return append(dst, w.document[at:end]...), end
	}
	end := w.document.number(at)
	if end < 0 {
		return dst, end
	}
	dst, err := AppendNumber(dst, w.document[at:end])
	if err != nil {
		return dst, w.refuse(at, err)
	}
	return dst, end
}

func (w *writer) appendString(dst []byte, at int) ([]byte, int) {
	end, plain := w.document.plainText(at)
	if plain {
		return append(dst, w.document[at:end]...), end
	}
	if end = w.document.Text(at); end < 0 {
		return dst, end
	}
	text := w.document[at:end]
	if isShortest(text) && utf8.Valid(text) {
		return append(dst, text...), end
	}
	var err error
	if w.scratch, err = jsontext.AppendUnquote(w.scratch[:0], text); err != nil {
		return dst, w.refuse(at, ErrText)
	}
	if dst, err = jsontext.AppendQuote(dst, w.scratch); err != nil {
		return dst, w.refuse(at, err)
	}
	return dst, end
}

// isShortest reports whether a valid JSON string is written without needless
// escapes. For the rare \u it does not say so.
func isShortest(text []byte) bool {
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return true
		}
		if escaped := text[at+1]; escaped == 'u' || escaped == '/' {
			return false
		}
		text = text[at+2:]
	}
}

func (w *writer) appendArray(dst []byte, at, level int) ([]byte, int) {
	dst = append(dst, '[')
	at, more := w.document.Open(at, ']', level)
	for more {
		dst, at = w.appendValue(dst, at, level+1)
		if at, more = w.document.Next(at, ']'); more {
			dst = append(dst, ',')
		}
	}
	return append(dst, ']'), at
}

func (w *writer) appendObject(dst []byte, at, level int) ([]byte, int) {
	o, outer := len(w.objects), len(w.members)
	w.objects = append(w.objects, object{start: w.position(dst)})
	inOrder, cased := true, false
	dst = append(dst, '{')
	at, more := w.document.Open(at, '}', level)
	for more {
		m, name := member{start: w.position(dst), inside: uint32(len(w.objects))}, at
		if dst, at = w.appendString(dst, at); at < 0 {
			return dst, at
		}
		m.nameEnd = w.position(dst)
		text := dst[w.start:]
		if last := len(w.members) - 1; last >= outer {
			order := compareNames(w.members[last].name(text), m.name(text))
			if order == 0 {
				return dst, w.refuse(name, ErrDuplicateName)
			}
			inOrder = inOrder && order < 0
		}
		cased = cased || HasCase(m.name(text))
		w.addMember(m, at)
		index := len(w.members) - 1
		dst, at = w.appendValue(append(dst, ':'), w.document.Colon(at), level+1)
		w.members[index].end = w.position(dst)
		if at, more = w.document.Next(at, '}'); more {
			dst = append(dst, ',')
		}
	}
	if at < 0 {
		return dst, at
	}
	dst = append(dst, '}')
	members := w.members[outer:]
	if err := w.checkMembers(dst[w.start:], members, inOrder, cased); err != nil {
		return dst, w.refuse(at, err)
	}
	w.endObject(o, w.position(dst), members, inOrder)
	w.members = w.members[:outer]
	return dst, at
}
