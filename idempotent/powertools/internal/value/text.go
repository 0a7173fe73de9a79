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

// Dumps writes a value as Python's json.dumps does.
func Dumps(v Value, style Style) (string, error) {
	w := writer{language: Python, itemSeparator: ", ", nameSeparator: ": ", order: slices.Sort[[]string]}
	if style == Compact {
		w.itemSeparator, w.nameSeparator, w.order = ",", ":", func([]string) {}
	}
	err := w.value(v)
	return string(w.text), err
}

// Stringify writes a value as JavaScript's JSON.stringify does. Of undefined there is
// no text.
func Stringify(v Value) (text string, defined bool, err error) {
	w := writer{language: JavaScript, itemSeparator: ",", nameSeparator: ":", order: func([]string) {}}
	if _, undefined := v.(Undefined); undefined {
		return "", false, nil
	}
	err = w.value(v)
	return string(w.text), true, err
}

type writer struct {
	language      Language
	itemSeparator string
	nameSeparator string
	order         func(names []string)
	text          []byte
}

func (w *writer) value(v Value) error {
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
		return w.array(v)
	case *Object:
		return w.object(v)
	default:
		return Inexact("a value of type %T", v)
	}
	return nil
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

func (w *writer) array(a *Array) error {
	w.text = append(w.text, '[')
	for i, item := range a.Items {
		if i > 0 {
			w.text = append(w.text, w.itemSeparator...)
		}
		if err := w.value(item); err != nil {
			return err
		}
	}
	w.text = append(w.text, ']')
	return nil
}

func (w *writer) object(o *Object) error {
	names := o.Names(w.language)
	w.order(names)
	w.text = append(w.text, '{')
	first := true
	for _, name := range names {
		v := o.members[name]
		if _, undefined := v.(Undefined); undefined {
			continue
		}
		if !first {
			w.text = append(w.text, w.itemSeparator...)
		}
		first = false
		w.string(name)
		w.text = append(w.text, w.nameSeparator...)
		if err := w.value(v); err != nil {
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
	for _, r := range Runes(s) {
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
