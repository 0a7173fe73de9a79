package canonicaljson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	// ErrDuplicateName reports an object with two members of one name.
	ErrDuplicateName = errors.New("duplicate member name")
	// ErrText reports a string with invalid UTF-8 or a lone surrogate.
	ErrText = errors.New("string that is not Unicode text")
	// ErrNoValue reports a document without a value.
	ErrNoValue = errors.New("no JSON value")
	// ErrDepth reports a value that is nested too deep.
	ErrDepth = errors.New("JSON nested too deep")
	// ErrSeveralValues reports a document that goes on behind its value.
	ErrSeveralValues = errors.New("more than one JSON value")
)

// SyntaxFault is the error of a document that breaks the syntax at that byte. It
// does not quote the document, which may be secret.
func SyntaxFault(at int) error { return fmt.Errorf("not valid JSON at byte %d", at) }

// syntaxError returns what can be said of a tokenizer's error without quoting the
// document.
func syntaxError(err error) error {
	var syntax *jsontext.SyntacticError
	if err == io.EOF {
		return ErrNoValue
	}
	if !errors.As(err, &syntax) {
		return err
	}
	switch reason := syntax.Err.Error(); {
	case strings.Contains(reason, "depth"):
		return ErrDepth
	case strings.Contains(reason, "surrogate"), strings.Contains(reason, "UTF-8"):
		return ErrText
	}
	return SyntaxFault(int(syntax.ByteOffset))
}

// Append appends the canonical form of raw, which must be exactly one JSON value
// with optional white space around it. It does not keep or change raw. After an
// error the bytes appended to dst are of no use.
func Append(dst, raw []byte) ([]byte, error) {
	w := writers.Get().(*writer)
	defer w.release()
	w.input = *bytes.NewBuffer(raw)                           // the decoder reads a bytes.Buffer without copying it
	w.dec.Reset(&w.input, jsontext.AllowDuplicateNames(true)) // duplicates are found after sorting
	start := len(dst)
	dst, err := w.appendValue(slices.Grow(dst, len(raw))) // which is seldom shorter
	if err != nil {
		return dst, syntaxError(err)
	}
	return w.sortObjects(dst, start), checkEnd(w.dec)
}

// checkEnd returns an error if the decoder has more to read.
func checkEnd(dec *jsontext.Decoder) error {
	switch _, err := dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return ErrSeveralValues
	default:
		return syntaxError(err)
	}
}

var writers = sync.Pool{New: func() any { return &writer{dec: new(jsontext.Decoder)} }}

// writer turns the tokens of one JSON text into canonical form. It writes all members
// in the order of the input, and then moves those of the unsorted objects, all at
// once: to sort every object when it ends would copy what is nested deep again and
// again.
type writer struct {
	input    bytes.Buffer
	dec      *jsontext.Decoder
	members  []member      // of the objects being written, innermost last
	named    []namedMember // of the object being checked
	unsorted []object
	sorted   []member // of the unsorted objects
	scratch  []byte
}

// member is where one object member stands in the output: "name":value.
type member struct{ start, nameEnd, end int }

// namedMember is a member with its name unquoted, once for all comparisons.
type namedMember struct {
	name []byte
	member
}

// object is where an object stands in the output whose members are not in order.
type object struct {
	start, end         int // of { and behind }
	firstMember, count int // in writer.sorted
}

func (w *writer) release() {
	w.input = bytes.Buffer{}
	w.dec.Reset(&w.input) // lets go of the caller's bytes
	w.members, w.unsorted, w.sorted = w.members[:0], w.unsorted[:0], w.sorted[:0]
	if cap(w.scratch) > maxKept {
		w.unsorted, w.sorted, w.scratch = nil, nil, nil
	}
	if cap(w.named) > maxNamed {
		w.members, w.named = nil, nil
	}
	clear(w.named[:cap(w.named)]) // lets go of the caller's bytes
	writers.Put(w)
}

// A writer keeps no more memory than this for the next value.
const (
	maxKept  = 1 << 20 // bytes
	maxNamed = 1 << 12 // members of one object
)

func (w *writer) appendValue(dst []byte) ([]byte, error) {
	switch w.dec.PeekKind() {
	case '{':
		return w.appendObject(dst)
	case '[':
		return w.appendArray(dst)
	case '"':
		return w.appendString(dst)
	case '0':
		text, err := w.dec.ReadValue()
		if err != nil {
			return dst, err
		}
		return AppendNumber(dst, text)
	default: // null, true, false, or the error that PeekKind keeps for this call
		text, err := w.dec.ReadValue()
		return append(dst, text...), err
	}
}

func (w *writer) appendString(dst []byte) ([]byte, error) {
	text, err := w.dec.ReadValue()
	if err != nil {
		return dst, err
	}
	if isShortest(text) {
		return append(dst, text...), nil
	}
	if w.scratch, err = jsontext.AppendUnquote(w.scratch[:0], text); err != nil {
		return dst, ErrText
	}
	return jsontext.AppendQuote(dst, w.scratch)
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

func (w *writer) appendArray(dst []byte) ([]byte, error) {
	if _, err := w.dec.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	for first := true; w.dec.PeekKind() != ']'; first = false {
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = w.appendValue(dst); err != nil {
			return dst, err
		}
	}
	_, err := w.dec.ReadToken()
	return append(dst, ']'), err
}

func (w *writer) appendObject(dst []byte) ([]byte, error) {
	if _, err := w.dec.ReadToken(); err != nil {
		return dst, err
	}
	start, outer := len(dst), len(w.members)
	dst = append(dst, '{')
	for w.dec.PeekKind() != '}' {
		if len(w.members) > outer {
			dst = append(dst, ',')
		}
		m := member{start: len(dst)}
		var err error
		if dst, err = w.appendString(dst); err != nil {
			return dst, err
		}
		m.nameEnd = len(dst)
		dst = append(dst, ':')
		if dst, err = w.appendValue(dst); err != nil {
			return dst, err
		}
		m.end = len(dst)
		w.members = append(w.members, m)
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '}')
	err := w.checkOrder(dst, start, w.members[outer:])
	w.members = w.members[:outer]
	return dst, err
}

// checkOrder looks at the names of the object that is written from start on, and
// notes the object if its members have to be sorted.
func (w *writer) checkOrder(dst []byte, start int, members []member) error {
	w.named = w.named[:0]
	inOrder := true
	for i, m := range members {
		w.named = append(w.named, namedMember{unquotedName(dst[m.start:m.nameEnd]), m})
		inOrder = inOrder && (i == 0 || compareNames(w.named[i-1], w.named[i]) < 0)
	}
	if inOrder {
		return nil
	}
	slices.SortFunc(w.named, compareNames)
	first := len(w.sorted)
	for i, n := range w.named {
		if i > 0 && compareNames(w.named[i-1], n) == 0 {
			return ErrDuplicateName
		}
		w.sorted = append(w.sorted, n.member)
	}
	w.unsorted = append(w.unsorted, object{start: start, end: len(dst), firstMember: first, count: len(w.named)})
	return nil
}

// sortObjects moves the members of the unsorted objects in dst[start:].
func (w *writer) sortObjects(dst []byte, start int) []byte {
	if len(w.unsorted) == 0 {
		return dst
	}
	slices.SortFunc(w.unsorted, func(a, b object) int { return a.start - b.start })
	w.scratch = slices.Grow(w.scratch[:0], len(dst)-start)
	w.copySorted(dst, start, len(dst))
	return append(dst[:start], w.scratch...)
}

// copySorted copies text[from:to] to scratch, its objects sorted.
func (w *writer) copySorted(text []byte, from, to int) {
	for {
		next, _ := slices.BinarySearchFunc(w.unsorted, from, func(o object, from int) int { return o.start - from })
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

// unquotedName returns the name that a canonical string text stands for.
func unquotedName(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	name, _ := jsontext.AppendUnquote(nil, text) // canonical text is valid
	return name
}

// compareNames orders two members by the code points of their names.
func compareNames(a, b namedMember) int { return bytes.Compare(a.name, b.name) }
