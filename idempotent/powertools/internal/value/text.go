package value

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Style is how Python's json.dumps is called.
type Style int

const (
	// Sorted is json.dumps(v, sort_keys=True).
	Sorted Style = iota
	// Compact is json.dumps(v, separators=(",", ":")).
	Compact
)

// Dumps writes a value as Python's json.dumps does. The error is [ErrSyntax] or an
// [*InexactError].
func Dumps(v Value, style Style, b *Budget) (string, error) {
	w := writer{language: Python, budget: b, itemSeparator: ", ", nameSeparator: ": ", names: sortedNames}
	if style == Compact {
		w.itemSeparator, w.nameSeparator, w.names = ",", ":", Python.names
	}
	err := w.value(v, 0)
	return string(w.text), err
}

func sortedNames(o *Object) ([]string, error) {
	names := o.Names(Python)
	slices.Sort(names)
	return names, nil
}

func (l Language) names(o *Object) ([]string, error) { return o.Names(l), nil }

// Stringify writes a value as JavaScript's JSON.stringify does. Of undefined there is
// no text. The error is an [*InexactError].
func Stringify(v Value, b *Budget) (text string, defined bool, err error) {
	return stringify(v, writer{names: JavaScript.names, budget: b})
}

// StringifySorted writes a value as Powertools for TypeScript does before it hashes
// it: with the members of all objects sorted. The rest is as with [Stringify].
func StringifySorted(v Value, b *Budget) (text string, defined bool, err error) {
	return stringify(v, writer{names: deepSorted, budget: b})
}

func stringify(v Value, w writer) (text string, defined bool, err error) {
	if _, undefined := v.(Undefined); undefined {
		return "", false, nil
	}
	w.language, w.itemSeparator, w.nameSeparator = JavaScript, ",", ":"
	err = w.value(v, 0)
	return string(w.text), true, err
}

type writer struct {
	language      Language
	budget        *Budget
	itemSeparator string
	nameSeparator string
	names         func(*Object) ([]string, error)
	text          []byte
}

func (w *writer) value(v Value, depth int) error {
	if depth > 2*MaxDepth { // an expression can nest what it has found
		return Inexact("a value nested more than %d deep", 2*MaxDepth)
	}
	if err := w.budget.Steps(1); err != nil {
		return err
	}
	start := len(w.text)
	switch v := v.(type) {
	case nil, Undefined:
		w.text = append(w.text, "null"...)
	case bool:
		w.text = strconv.AppendBool(w.text, v)
	case *big.Int:
		digits := v.String()
		if len(strings.TrimLeft(digits, "-")) > maxDigits {
			return fmt.Errorf("%w: an integer of more than %d digits", ErrSyntax, maxDigits)
		}
		w.text = append(w.text, digits...)
	case float64:
		w.number(v)
	case string:
		w.string(v)
	case *Array:
		return w.array(v, depth+1)
	case *Object:
		return w.object(v, depth+1)
	default:
		return Inexact("a value of type %T", v)
	}
	return w.budget.Text(len(w.text) - start)
}

func (w *writer) number(f float64) {
	if w.language == Python {
		w.text = append(w.text, Repr(f)...)
		return
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.text = append(w.text, "null"...)
		return
	}
	w.text = append(w.text, NumberText(f)...)
}

func (w *writer) array(a *Array, depth int) error {
	w.text = append(w.text, '[')
	for i, item := range a.Items {
		if i > 0 {
			w.text = append(w.text, w.itemSeparator...)
		}
		if err := w.value(item, depth); err != nil {
			return err
		}
	}
	w.text = append(w.text, ']')
	return nil
}

func (w *writer) object(o *Object, depth int) error {
	names, err := w.names(o)
	if err != nil {
		return err
	}
	w.text = append(w.text, '{')
	first := true
	for _, name := range names {
		v, _ := o.Get(name)
		if _, undefined := v.(Undefined); undefined {
			continue
		}
		if !first {
			w.text = append(w.text, w.itemSeparator...)
		}
		first = false
		w.string(name)
		if err := w.budget.Text(len(name)); err != nil {
			return err
		}
		w.text = append(w.text, w.nameSeparator...)
		if err := w.value(v, depth); err != nil {
			return err
		}
	}
	w.text = append(w.text, '}')
	return nil
}

// string writes a string. Python escapes all that is not ASCII; JavaScript lone
// surrogates only.
func (w *writer) string(s string) {
	w.text = append(w.text, '"')
	for len(s) > 0 {
		r, size := decode(s)
		s = s[size:]
		switch {
		case r == '"' || r == '\\':
			w.text = append(w.text, '\\', byte(r))
		case r == '\b':
			w.text = append(w.text, `\b`...)
		case r == '\f':
			w.text = append(w.text, `\f`...)
		case r == '\n':
			w.text = append(w.text, `\n`...)
		case r == '\r':
			w.text = append(w.text, `\r`...)
		case r == '\t':
			w.text = append(w.text, `\t`...)
		case r < ' ' || isHigh(r) || isLow(r):
			w.text = fmt.Appendf(w.text, `\u%04x`, r)
		case w.language == JavaScript:
			w.text = encode(w.text, r)
		case r >= 0x10000:
			w.text = fmt.Appendf(w.text, `\u%04x\u%04x`, 0xd800|(r-0x10000)>>10, 0xdc00|(r-0x10000)&0x3ff)
		case r > '~':
			w.text = fmt.Appendf(w.text, `\u%04x`, r)
		default:
			w.text = append(w.text, byte(r))
		}
	}
	w.text = append(w.text, '"')
}

// Repr writes a float as Python does: the shortest digits that stand for it, with an
// exponent below 1e-4 and from 1e16 on.
func Repr(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if size := math.Abs(f); f != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// NumberText writes a finite number as JavaScript does: the shortest digits that
// stand for it, with an exponent below 1e-6 and from 1e21 on.
func NumberText(f float64) string {
	size := math.Abs(f)
	if f == 0 {
		return "0"
	}
	if size >= 1e-6 && size < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}
