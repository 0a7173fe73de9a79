package console

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// readable returns a content as a person reads it: JSON with line breaks and its numbers as
// they are, other text as it is, and anything else in base64.
func readable(content []byte) string {
	var indented bytes.Buffer
	switch {
	case json.Indent(&indented, content, "", "  ") == nil:
		return indented.String()
	case utf8.Valid(content):
		return string(content)
	default:
		return "base64: " + base64.StdEncoding.EncodeToString(content)
	}
}
