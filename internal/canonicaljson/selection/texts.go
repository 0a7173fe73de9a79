package selection

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// texts are the strings that are taken out of a document to be read themselves: a
// body with JSON in it is most of an event. What is selected from one shares its
// memory, so all are kept until the canonical form is written, and their memory is
// then used again.
type texts struct {
	buffers [][]byte
	taken   int // buffers in use
}

func newTexts() *texts { return textsPool.Get().(*texts) }

var textsPool = sync.Pool{New: func() any { return new(texts) }}

// unquote returns the text of a JSON string, which is good until release. If that is
// not Unicode text, the error is canonicaljson.ErrText.
func (t *texts) unquote(quoted []byte) ([]byte, error) {
	if plain, ok := plainText(quoted); ok {
		return plain, nil
	}
	if t.taken == len(t.buffers) {
		t.buffers = append(t.buffers, nil)
	}
	buffer := &t.buffers[t.taken]
	t.taken++
	var err error
	if *buffer, err = jsontext.AppendUnquote((*buffer)[:0], quoted); err != nil {
		return nil, canonicaljson.ErrText
	}
	return *buffer, nil
}

func (t *texts) release() {
	for _, buffer := range t.buffers[:t.taken] {
		if cap(buffer) > maxKept {
			t.buffers = nil
		}
	}
	t.taken = 0
	textsPool.Put(t)
}

// maxKept is the most bytes of a buffer that is kept. A Lambda event has 6 MB at
// most (its developer guide, "Lambda quotas"), but seldom more than one.
const maxKept = 2 << 20
