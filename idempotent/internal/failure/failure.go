// Package failure is how failures are recorded: permanent ones as the outcome of a call,
// others as a note in a record of steps.
package failure

import (
	"reflect"
	"strings"

	"github.com/ikkai-go/idempotency/internal/stepentry"
)

// Failure is a failure as it is stored.
type Failure = stepentry.Failure

// Note is what is recorded of an error that is not final.
func Note(err error) Failure {
	return Failure{Type: TypeName(err), Message: Shorten(Text(err))}
}

// maxMessage is how much of an error's text is stored, in bytes; maxNote where it
// has to fit into what a record with steps keeps free ([Size]). JSON may take six bytes
// for one.
const (
	maxMessage = 4 << 10
	maxNote    = Size / 8
)

// Size is what a record with steps keeps free for a failure, in bytes.
const Size = 2 << 10

// Text is the text of an error as it is stored: in UTF-8, and up to 4 KB of it.
func Text(err error) string {
	return shorten(strings.ToValidUTF8(err.Error(), "\uFFFD"), maxMessage)
}

// Shorten makes a text as short as a note.
func Shorten(text string) string { return shorten(text, maxNote) }

func shorten(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit], "") + "…"
}

// TypeName is the name of an error's type as Lambda reports it: without its package.
func TypeName(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
