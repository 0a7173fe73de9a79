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
)

// SyntaxError returns what can be said of a tokenizer's error without quoting the
// document, which may be secret.
func SyntaxError(err error) error {
	var syntax *jsontext.SyntacticError
	if err == io.EOF {
		return errors.New("no JSON value")
	}
	if !errors.As(err, &syntax) {
		return err
	}
	switch reason := syntax.Err.Error(); {
	case strings.Contains(reason, "depth"):
		return errors.New("JSON nested too deep")
	case strings.Contains(reason, "surrogate"), strings.Contains(reason, "UTF-8"):
		return ErrText
	}
	return fmt.Errorf("not valid JSON at byte %d", syntax.ByteOffset)
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
		return dst, SyntaxError(err)
	}
	return w.sortObjects(dst, start), CheckEnd(w.dec)
}

// CheckEnd returns an error if the decoder has more to read.
func CheckEnd(dec *jsontext.Decoder) error {
	switch _, err := dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("more than one JSON value")
	default:
		return SyntaxError(err)
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
	members  []member // of the objects being written, innermost last
	unsorted []object
	sorted   []member // of the unsorted objects
	scratch  []byte
}

// member is where one object member stands in the output: "name":value.
type member struct{ start, nameEnd, end int }

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
	writers.Put(w)
}

// maxKept bounds the memory that a writer keeps for the next value.
const maxKept = 1 << 20

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
	byName := func(a, b member) int { return compareNames(dst[a.start:a.nameEnd], dst[b.start:b.nameEnd]) }
	inOrder := true
	for i := 1; i < len(members) && inOrder; i++ {
		inOrder = byName(members[i-1], members[i]) < 0
	}
	if inOrder {
		return nil
	}
	first := len(w.sorted)
	w.sorted = append(w.sorted, members...)
	sorted := w.sorted[first:]
	slices.SortFunc(sorted, byName)
	for i := 1; i < len(sorted); i++ {
		if byName(sorted[i-1], sorted[i]) == 0 {
			return ErrDuplicateName
		}
	}
	w.unsorted = append(w.unsorted, object{start: start, end: len(dst), firstMember: first, count: len(sorted)})
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

// compareNames orders two names, given as canonical string texts, by their code
// points. Only an escape stands for a character that sorts elsewhere.
func compareNames(a, b []byte) int {
	if bytes.IndexByte(a, '\\') >= 0 || bytes.IndexByte(b, '\\') >= 0 {
		a, _ = jsontext.AppendUnquote(nil, a) // canonical text is valid
		b, _ = jsontext.AppendUnquote(nil, b)
		return bytes.Compare(a, b)
	}
	return bytes.Compare(a[1:len(a)-1], b[1:len(b)-1])
}
