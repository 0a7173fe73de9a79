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
	w.twins, w.start = t, len(dst)
	w.input = *bytes.NewBuffer(raw)                           // the decoder reads a bytes.Buffer without copying it
	w.dec.Reset(&w.input, jsontext.AllowDuplicateNames(true)) // duplicates are found after sorting
	w.raw = raw
	dst, err := w.appendValue(slices.Grow(dst, len(raw))) // which is seldom shorter
	if err != nil {
		return dst, syntaxError(err)
	}
	return w.sortObjects(dst), checkEnd(w.dec)
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
	raw      []byte
	input    bytes.Buffer
	dec      *jsontext.Decoder
	twins    twins
	start    int      // of the output in dst; positions count from there
	members  []member // of the objects being written, innermost last
	unsorted []object
	sorted   []member // of the unsorted objects
	folded   []member // of the object being checked
	scratch  []byte
}

// object is where an object stands in the output whose members are not in order.
type object struct {
	start, end         uint32 // of { and behind }
	firstMember, count uint32 // in writer.sorted
}

func (w *writer) release() {
	w.raw, w.input = nil, bytes.Buffer{}
	w.dec.Reset(&w.input) // lets go of the caller's bytes
	w.members, w.unsorted, w.sorted, w.folded = w.members[:0], w.unsorted[:0], w.sorted[:0], w.folded[:0]
	if cap(w.scratch) > maxKept {
		w.scratch = nil
	}
	if cap(w.members)+cap(w.sorted)+cap(w.folded)+cap(w.unsorted) > maxMembers {
		w.members, w.unsorted, w.sorted, w.folded = nil, nil, nil, nil
	}
	writers.Put(w)
}

// A writer keeps no more memory than this for the next value.
const (
	maxKept    = 1 << 20 // bytes
	maxMembers = 1 << 16 // members and objects
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
	inOrder, cased := true, false
	dst = append(dst, '{')
	for w.dec.PeekKind() != '}' {
		if len(w.members) > outer {
			dst = append(dst, ',')
		}
		m := member{start: w.position(dst)}
		var err error
		if dst, err = w.appendString(dst); err != nil {
			return dst, err
		}
		m.nameEnd = w.position(dst)
		text := dst[w.start:]
		if len(w.members) > outer {
			order := compareNames(w.members[len(w.members)-1].name(text), m.name(text))
			if order == 0 {
				return dst, ErrDuplicateName
			}
			inOrder = inOrder && order < 0
		}
		cased = cased || HasCase(m.name(text))
		at := len(w.members)
		w.addMember(m)
		dst = append(dst, ':')
		if dst, err = w.appendValue(dst); err != nil {
			return dst, err
		}
		w.members[at].end = w.position(dst)
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '}')
	err := w.checkMembers(dst[w.start:], w.members[outer:], inOrder, cased)
	if !inOrder {
		o := object{start: uint32(start - w.start), end: w.position(dst), firstMember: uint32(len(w.sorted)), count: uint32(len(w.members) - outer)}
		w.unsorted = append(w.unsorted, o)
		w.sorted = append(w.sorted, w.members[outer:]...)
	}
	w.members = w.members[:outer]
	return dst, err
}
