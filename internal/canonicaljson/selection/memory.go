package selection

import (
	"errors"
	"sync"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// memory is what one selection takes: the strings that are read themselves, and how
// many more bytes of values it may make. A payload of a few megabytes can have a
// million values, and a few pipes can double them again and again.
type memory struct {
	texts
	left int
}

const (
	// maxMemory bounds the values that are made of one payload, in bytes. That is room
	// for the members of half a million objects, where an event has 6 MB at most.
	maxMemory = 64 << 20
	// maxText bounds the text of a value, in which one part can stand many times.
	maxText = 16 << 20
)

// What values take, roughly.
const (
	sizeOfScalar  = 24
	sizeOfText    = 40 // that stays in the document
	sizeOfList    = 32
	sizeOfElement = 16
	sizeOfObject  = 320
	sizeOfMember  = 48
)

var (
	errMemory = errors.New("it would take more than 64 MiB of values to evaluate it on this payload")
	errText   = errors.New("it makes more than 16 MiB of text of this payload")
)

func newMemory() *memory {
	m := memories.Get().(*memory)
	m.left = maxMemory
	return m
}

var memories = sync.Pool{New: func() any { return new(memory) }}

func (m *memory) release() {
	m.texts.release()
	memories.Put(m)
}

// take takes some bytes. The error says that there are no more.
func (m *memory) take(bytes int) error {
	if m.left -= bytes; m.left < 0 {
		return errMemory
	}
	return nil
}

// takeList takes a list of that length.
func (m *memory) takeList(length int) error { return m.take(sizeOfList + length*sizeOfElement) }

// ownSize is what a value takes apart from those that it holds.
func ownSize(value any) int {
	switch v := value.(type) {
	case string:
		return sizeOfScalar + len(v)
	case []any:
		return sizeOfList + len(v)*sizeOfElement
	case map[string]any:
		return sizeOfObject + len(v)*sizeOfMember
	}
	return sizeOfScalar
}

// checkSize returns an error if the text of a value would be too long.
func checkSize(value any) error {
	if sizeOf(value, maxText) > maxText {
		return errText
	}
	return nil
}

// sizeOf is about how long the text of a value is, counted no further than limit.
func sizeOf(value any, limit int) int {
	size := len(`{},`)
	switch v := value.(type) {
	default:
		size = len(`1234567,`)
	case string:
		size += len(v)
	case canonicaljson.Raw:
		size += len(v.Text())
	case []any:
		for i := 0; i < len(v) && size <= limit; i++ {
			size += sizeOf(v[i], limit-size)
		}
	case map[string]any:
		for name, member := range v {
			if size += len(`"":`) + len(name) + sizeOf(member, limit-size); size > limit {
				break
			}
		}
	}
	return size
}
