package canonicaljson

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Raw is a JSON value still in the text it arrived in. A tree holds one where
// nobody has to look inside the value.
type Raw struct{ text []byte } // not exported, for go-jmespath finds exported fields

// NewRaw returns the value with this text, which it shares.
func NewRaw(text []byte) Raw { return Raw{text: text} }

// Text returns the text of the value. It must not be changed.
func (r Raw) Text() []byte { return r.text }

// AppendValue appends the canonical form of a decoded tree: nil, bool, string,
// float64, Number, Raw, []any and map[string]any. Any other type, a number that
// is not finite and a string that is not UTF-8 are errors. It does not keep or
// change the tree.
func AppendValue(dst []byte, value any) ([]byte, error) {
	var err error
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		if v {
			return append(dst, "true"...), nil
		}
		return append(dst, "false"...), nil
	case string:
		return appendText(dst, v)
	case float64:
		return AppendFloat(dst, v)
	case Number:
		return append(dst, v...), nil
	case Raw:
		return Append(dst, v.text)
	case []any:
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = AppendValue(dst, element); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendText(dst, name); err != nil {
				return dst, err
			}
			dst = append(dst, ':')
			if dst, err = AppendValue(dst, v[name]); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
	return dst, fmt.Errorf("%T is not a JSON value", value)
}

func appendText(dst []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return dst, ErrText
	}
	return jsontext.AppendQuote(dst, text)
}
