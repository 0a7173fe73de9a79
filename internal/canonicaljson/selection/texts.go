package selection

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// texts are the strings that are taken out of a document to be read themselves: a
// body with JSON in it is most of an event. What is selected from one shares its
// memory, so all are kept until the canonical form is written, and their memory is
// then used again.
//
// The alternatives of an expression tend to read the same string, each for itself:
// it is taken out once.
type texts struct {
	buffers []buffer
	taken   int    // buffers in use
	brief   []byte // the memory of unquoteBriefly
}

// buffer holds the text of one string.
type buffer struct {
	quoted *byte // where the string begins in its document
	text   []byte
}

// unquote returns the text of a JSON string, which is good until release. If that is
// not Unicode text, the error is canonicaljson.ErrText.
func (t *texts) unquote(quoted []byte) ([]byte, error) {
	if plain, ok := plainText(quoted); ok {
		return plain, nil
	}
	for _, b := range t.buffers[:t.taken] {
		if b.quoted == &quoted[0] {
			return b.text, nil
		}
	}
	if t.taken == len(t.buffers) {
		t.buffers = append(t.buffers, buffer{})
	}
	b := &t.buffers[t.taken]
	var err error
	if b.text, err = jsontext.AppendUnquote(b.text[:0], quoted); err != nil {
		return nil, canonicaljson.ErrText
	}
	b.quoted = &quoted[0]
	t.taken++
	return b.text, nil
}

// unquoteBriefly returns the text of a JSON string, which is good until the next call.
// If that is not Unicode text, it is repaired and the error is canonicaljson.ErrText.
func (t *texts) unquoteBriefly(quoted []byte) ([]byte, error) {
	if plain, ok := plainText(quoted); ok {
		return plain, nil
	}
	var err error
	if t.brief, err = jsontext.AppendUnquote(t.brief[:0], quoted); err != nil {
		return t.brief, canonicaljson.ErrText
	}
	return t.brief, nil
}

// A pool keeps no more than this of the memory of one selection. A Lambda event has
// 6 MB at most (its developer guide, "Lambda quotas"), but seldom more than one, and
// seldom more than a body with JSON in it. What is longer takes new memory each time.
const (
	maxBuffers = 4
	maxKept    = 2 << 20 // bytes, of all buffers, and of the brief one
)

func (t *texts) release() {
	kept, size := 0, 0
	for kept < min(len(t.buffers), maxBuffers) && size+cap(t.buffers[kept].text) <= maxKept {
		t.buffers[kept].quoted = nil // lets go of the document
		size += cap(t.buffers[kept].text)
		kept++
	}
	clear(t.buffers[kept:])
	t.buffers, t.taken = t.buffers[:kept], 0
	if cap(t.brief) > maxKept {
		t.brief = nil
	}
}

// plainText returns the text of a JSON string that stands there as it is.
func plainText(quoted []byte) ([]byte, bool) {
	inner := quoted[1 : len(quoted)-1]
	return inner, bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner)
}
