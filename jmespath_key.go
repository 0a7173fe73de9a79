package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
	"github.com/ikkai-go/idempotency/internal/canonicaljson/selection"
)

var (
	// ErrExpression matches every *ExpressionError.
	ErrExpression = errors.New("unusable JMESPath expression")
	// ErrOperation matches every *OperationError.
	ErrOperation = errors.New("unusable operation name")
	// ErrMissing matches a *SelectionError of a payload that is readable but does
	// not hold what the expression selects.
	ErrMissing = errors.New("key missing")
	// ErrPayload matches every other *SelectionError: the payload, or what is
	// selected from it, cannot become a key.
	ErrPayload = errors.New("payload unusable for a key")
)

// ExpressionError says why an expression is refused when it is compiled.
type ExpressionError struct {
	Expression string // as it was given
	Reason     string // what is wrong with it
	cause      error
}

func (e *ExpressionError) Error() string {
	return fmt.Sprintf("JMESPath expression %q: %s", e.Expression, e.Reason)
}

// Is reports whether target is ErrExpression.
func (e *ExpressionError) Is(target error) bool { return target == ErrExpression }

// Unwrap returns the cause; for a syntax error that is a jmespath.SyntaxError, which
// knows the position.
func (e *ExpressionError) Unwrap() error { return e.cause }

// OperationError says why a name cannot name an operation.
type OperationError struct {
	Operation string // the name as it was given
	Reason    string // what is wrong with it
}

func (e *OperationError) Error() string {
	return fmt.Sprintf("operation name %q: %s", e.Operation, e.Reason)
}

// Is reports whether target is ErrOperation.
func (e *OperationError) Is(target error) bool { return target == ErrOperation }

// SelectionError says why one payload has no key. It matches exactly one of
// ErrMissing and ErrPayload. Its text never quotes values of the payload, which may
// be secret.
type SelectionError struct {
	Expression string // empty for a key that the caller made
	Reason     string // why there is no key; it quotes nothing of the payload
	kind       error  // ErrMissing or ErrPayload
	cause      error
}

func (e *SelectionError) Error() string {
	if e.Expression == "" {
		return e.Reason
	}
	return fmt.Sprintf("JMESPath expression %q: %s", e.Expression, e.Reason)
}

// Is reports whether target is the sentinel of this error's kind.
func (e *SelectionError) Is(target error) bool { return target == e.kind }

// Unwrap returns the cause, if there is one.
func (e *SelectionError) Unwrap() error { return e.cause }

// Expression selects the parts of a JSON payload that identify a request. It is
// immutable and safe for concurrent use.
type Expression struct {
	text      string
	selection *selection.Selection
	verbatim  bool
}

// JMESPath compiles an expression. The error is an *ExpressionError.
func JMESPath(expression string) (*Expression, error) {
	s, err := selection.Compile(expression)
	if err != nil {
		return nil, &ExpressionError{Expression: expression, Reason: err.Error(), cause: err}
	}
	return &Expression{text: expression, selection: s}, nil
}

// MustJMESPath is JMESPath for package variables: it panics where JMESPath
// returns an error.
func MustJMESPath(expression string) *Expression {
	e, err := JMESPath(expression)
	if err != nil {
		panic(err)
	}
	return e
}

// WholePayload returns the expression @, which selects all of the payload: requests
// are the same if nothing in their payloads differs. That is right for a payload that
// is made once and then repeated, as Lambda repeats an asynchronous invocation. It is
// wrong for the events of API Gateway, function URLs and SQS, in which every try has
// another ID, time or count.
//
// It is always the same *Expression, so that it can be told by ==.
func WholePayload() *Expression { return wholePayload }

var wholePayload = MustJMESPath("@")

// String returns the text the expression was compiled from.
func (e *Expression) String() string { return e.text }

// Verbatim returns a copy whose Key keeps the selected string readable:
// operation + "#=" + string. The string must be UTF-8 without control characters
// and the key at most 1024 bytes long (the limit of a DynamoDB sort key); anything
// else, and anything that is not a string, is a *SelectionError. Canonical and
// Fingerprint do not change.
func (e *Expression) Verbatim() *Expression {
	c := *e
	c.verbatim = true
	return &c
}

// Canonical returns the canonical form v1 of what the expression selects from
// payload, one JSON document. The error is a *SelectionError.
func (e *Expression) Canonical(payload []byte) ([]byte, error) {
	return e.appendCanonical(nil, payload)
}

func (e *Expression) appendCanonical(dst, payload []byte) ([]byte, error) {
	canonical, err := e.selection.AppendCanonical(dst, payload)
	if err != nil {
		kind := ErrPayload
		if errors.Is(err, selection.ErrMissing) {
			kind = ErrMissing
		}
		return nil, &SelectionError{Expression: e.text, Reason: err.Error(), kind: kind, cause: err}
	}
	return canonical, nil
}

// Key returns the record key of the operation's request in payload:
// operation + "#" + the SHA-256 of the canonical form, in lower-case hex (but see
// Verbatim). The error is a *SelectionError or, for the operation's name, an
// *OperationError.
func (e *Expression) Key(operation string, payload []byte) (string, error) {
	if err := CheckOperation(operation); err != nil {
		return "", err
	}
	memory := texts.Get().(*text)
	defer memory.release()
	canonical, err := memory.canonical(e, payload)
	if err != nil {
		return "", err
	}
	if !e.verbatim {
		if isItem(canonical) {
			return "", &SelectionError{Expression: e.text, Reason: reasonItem, kind: ErrPayload}
		}
		return digestKey(operation, canonical), nil
	}
	key, reason := verbatimKey(operation, canonical)
	if reason != "" {
		return "", &SelectionError{Expression: e.text, Reason: reason, kind: ErrPayload}
	}
	return key, nil
}

// text is memory for canonical forms of which only the digest is kept.
type text struct{ bytes []byte }

var texts = sync.Pool{New: func() any { return new(text) }}

// canonical is the canonical form of what e selects, which is good until release.
func (t *text) canonical(e *Expression, payload []byte) (canonical []byte, err error) {
	t.bytes, err = e.appendCanonical(t.bytes[:0], payload)
	return t.bytes, err
}

func (t *text) release() {
	const most = 2 << 20 // bytes that are kept for the next one
	if cap(t.bytes) <= most {
		texts.Put(t)
	}
}

// maxKeyLength is the most bytes that DynamoDB takes for a sort key.
const maxKeyLength = 1024

// verbatimKey returns the key that shows the selected string, or the reason why
// there is none.
func verbatimKey(operation string, canonical []byte) (key, reason string) {
	var value string
	if canonical[0] != '"' || json.Unmarshal(canonical, &value) != nil {
		return "", "a verbatim key must be a string"
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return "", "a verbatim key must not hold control characters"
	}
	key = operation + "#=" + value
	if len(key) > maxKeyLength {
		return "", fmt.Sprintf("a verbatim key must not be longer than %d bytes", maxKeyLength)
	}
	return key, ""
}

// Fingerprint returns the SHA-256 of the canonical form, in lower-case hex. The
// error is a *SelectionError.
func (e *Expression) Fingerprint(payload []byte) (string, error) {
	memory := texts.Get().(*text)
	defer memory.release()
	canonical, err := memory.canonical(e, payload)
	if err != nil {
		return "", err
	}
	return digest(canonical), nil
}

// Key returns the record key for a value that the caller chose: the same as an
// expression's that selects this string. An empty value is missing; a string that reads
// as the name of a batch and an item (see ItemKey) is refused. The error is a
// *SelectionError or an *OperationError.
func Key(operation, value string) (string, error) {
	if err := CheckOperation(operation); err != nil {
		return "", err
	}
	if value == "" {
		return "", &SelectionError{Reason: "the key is empty", kind: ErrMissing}
	}
	canonical, err := canonicaljson.AppendValue(nil, value)
	if err != nil {
		return "", &SelectionError{Reason: "the key is not UTF-8", kind: ErrPayload, cause: err}
	}
	if isItem(canonical) {
		return "", &SelectionError{Reason: reasonItem, kind: ErrPayload}
	}
	return digestKey(operation, canonical), nil
}

// maxOperation is the most bytes of an operation's name.
const maxOperation = 128

// CheckOperation returns an *OperationError unless name can name an operation: it
// is UTF-8 text of 1 to 128 bytes without spaces, control characters and "#".
func CheckOperation(name string) error {
	var reason string
	switch {
	case name == "":
		reason = "it is empty"
	case len(name) > maxOperation:
		reason = fmt.Sprintf("it is longer than %d bytes", maxOperation)
	case !utf8.ValidString(name):
		reason = "it is not UTF-8"
	case strings.Contains(name, "#"):
		reason = `"#" ends the operation within a key`
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		reason = "it holds a space or a control character"
	default:
		return nil
	}
	return &OperationError{Operation: name, Reason: reason}
}

// digestKey returns the key of the operation's request with that canonical form.
func digestKey(operation string, canonical []byte) string {
	var key [maxOperation + len("#") + 2*sha256.Size]byte
	return string(appendDigest(append(append(key[:0], operation...), '#'), canonical))
}

func digest(canonical []byte) string {
	var text [2 * sha256.Size]byte
	return string(appendDigest(text[:0], canonical))
}

func appendDigest(dst, canonical []byte) []byte {
	sum := sha256.Sum256(canonical)
	return hex.AppendEncode(dst, sum[:])
}
