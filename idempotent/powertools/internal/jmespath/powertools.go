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

func powertoolsJSON(in *interpreter, args []value.Value) (value.Value, error) {
	v, err := value.ParseWithin(in.budget, args[0].(string), in.language)
	if errors.Is(err, value.ErrSyntax) {
		return nil, errSwallowed
	}
	return v, err
}

func powertoolsBase64(in *interpreter, args []value.Value) (value.Value, error) {
	decoded, err := in.decodeBase64(args[0].(string))
	if err != nil {
		return nil, err
	}
	if in.language == value.JavaScript {
		decoded = bytes.TrimPrefix(decoded, []byte("\ufeff")) // TextDecoder drops it
	}
	return decodeText(decoded, in.language)
}

// What RFC 1952 begins a gzip with, and the flags that readers treat in their own way:
// a checksum of the header, and those it reserves.
const (
	gzipMagic   = "\x1f\x8b\x08"
	gzipUnusual = 0xe2
)

func powertoolsBase64Gzip(in *interpreter, args []value.Value) (value.Value, error) {
	decoded, err := in.decodeBase64(args[0].(string))
	if err != nil {
		return nil, err
	}
	switch {
	case len(decoded) == 0 && in.language == value.Python:
		return "", nil // it has no members, which is fine there
	case !bytes.HasPrefix(decoded, []byte(gzipMagic)):
		return nil, errSwallowed
	case len(decoded) > len(gzipMagic) && decoded[len(gzipMagic)]&gzipUnusual != 0:
		return nil, errDamaged
	}
	r, err := gzip.NewReader(bytes.NewReader(decoded))
	if err != nil {
		return nil, errDamaged
	}
	text, err := io.ReadAll(io.LimitReader(r, maxExpanded+1))
	switch {
	case len(text) > maxExpanded:
		return nil, value.Inexact("more than %d bytes in a gzip", maxExpanded)
	case err != nil:
		return nil, errDamaged
	}
	if err := in.budget.Text(len(text)); err != nil {
		return nil, err
	}
	return decodeText(text, in.language)
}

var errDamaged = value.Inexact("an unusual or damaged gzip, of which readers make what they like")

// maxExpanded is how much a gzip may hold, which a few kilobytes could of anything: 6 MB,
// as the largest event does (Lambda's developer guide, "Lambda quotas").
const maxExpanded = 6 << 20

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
// alphabet, or as Powertools for TypeScript, which wants it strict.
func (in *interpreter) decodeBase64(s string) ([]byte, error) {
	if err := in.budget.Text(len(s)); err != nil {
		return nil, err
	}
	if in.language == value.JavaScript {
		if len(s)%4 != 0 || !strictBase64.MatchString(s) {
			return nil, errSwallowed
		}
		return decodeDigits(strings.TrimRight(s, "="))
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
