package jmespath

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

func powertoolsJSON(in interpreter, args []value.Value) (value.Value, error) {
	v, err := value.Parse(args[0].(string), in.language)
	if errors.Is(err, value.ErrSyntax) {
		return nil, errSwallowed
	}
	return v, err
}

func powertoolsBase64(in interpreter, args []value.Value) (value.Value, error) {
	decoded, err := decodeBase64(args[0].(string), in.language)
	if err != nil {
		return nil, err
	}
	if in.language == value.JavaScript {
		decoded = bytes.TrimPrefix(decoded, []byte("\ufeff")) // TextDecoder drops it
	}
	return decodeText(decoded, in.language)
}

func powertoolsBase64Gzip(in interpreter, args []value.Value) (value.Value, error) {
	decoded, err := decodeBase64(args[0].(string), in.language)
	if err != nil {
		return nil, err
	}
	if len(decoded) == 0 && in.language == value.Python {
		return "", nil // it has no members, which is fine there
	}
	r, err := gzip.NewReader(bytes.NewReader(decoded))
	if err != nil {
		return nil, errSwallowed
	}
	text, err := io.ReadAll(io.LimitReader(r, maxExpanded+1))
	switch {
	case len(text) > maxExpanded:
		return nil, value.Inexact("more than %d bytes in a gzip", maxExpanded)
	case err != nil:
		return nil, value.Inexact("a damaged gzip: what stands behind its end may be ignored")
	}
	return decodeText(text, in.language)
}

// maxExpanded is more than a Lambda event can hold (6 MB, its developer guide,
// "Lambda quotas") at the usual rates of compression.
const maxExpanded = 64 << 20

// decodeText decodes UTF-8. What is none is an error in Python; JavaScript replaces
// it.
func decodeText(text []byte, l value.Language) (value.Value, error) {
	switch {
	case utf8.Valid(text):
		return string(text), nil
	case l == value.Python:
		return nil, errSwallowed
	default:
		return nil, value.Inexact("bytes that are not UTF-8")
	}
}

var strictBase64 = regexp.MustCompile(`^[A-Za-z0-9+/]*={0,2}$`)

// decodeBase64 decodes as Python's b64decode does, which skips what is not of the
// alphabet, or as Powertools for TypeScript, which wants it strict and then reads up
// to the padding.
func decodeBase64(s string, l value.Language) ([]byte, error) {
	if l == value.JavaScript {
		if len(value.Units(s))*3%4 != 0 || !strictBase64.MatchString(s) {
			return nil, errSwallowed
		}
		digits := strings.TrimRight(s, "=")
		if len(digits)%4 == 1 {
			digits = digits[:len(digits)-1]
		}
		return decodeDigits(digits)
	}
	var digits []byte
	pads := 0
	for _, c := range []byte(s) {
		switch {
		case c >= 0x80:
			return nil, errSwallowed
		case c == '=':
			pads++
			if quad := len(digits) % 4; quad >= 2 && quad+pads >= 4 {
				return decodeDigits(string(digits))
			}
		case strings.IndexByte(alphabet, c) >= 0:
			pads = 0
			digits = append(digits, c)
		}
	}
	if len(digits)%4 != 0 {
		return nil, errSwallowed
	}
	return decodeDigits(string(digits))
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// decodeDigits decodes base64 without padding; bits left over are ignored.
func decodeDigits(digits string) ([]byte, error) {
	decoded, err := base64.RawStdEncoding.DecodeString(digits)
	if err != nil {
		return nil, errSwallowed
	}
	return decoded, nil
}
