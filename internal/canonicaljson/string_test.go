package canonicaljson

import (
	"encoding/json"
	"testing"
)

// FuzzEndOfString holds the search by words against one by characters.
func FuzzEndOfString(f *testing.F) {
	for _, text := range []string{
		``, `"`, `abc"`, `\"`, `\\"`, `\\\"`, `\\\\"`, `1234567"`, `12345678"`, `1234567\"89"`, `123456\\\"`, `123456\\"`, `1234567\`,
		`12345678\\\\\\\\\\\\\\\\"`, `1\\\\\\\\\\\\\\\\\\\\\\\\\\\"23456789"`, `\u00e9"`, `\ug0e9"`, `\u0Ge9"`, `\u00g9"`, `\u00eg"`, `\u5546\u54C1\u540d"`, `\u5546\u54c1\u540g"`, `\u5546\u54c`, `\u5546\\u54c1"`, `\u00`, `1234567\u00e9abcdefgh"`, `\x"`, `12345678\x901"`,
		"1\x012345678\"", "12345678\x1f\"", "\xff\x80\xe0 \x7f\"12345678", `é😀é😀é😀"`, `\n\t\/\b\f\r\n\t\/\b\f\r"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for start := range min(len(text), 9) {
			if got, want := endOfString(text, start), endByCharacter(text, start); got != want {
				t.Fatalf("endOfString(%q, %d) = %d, want %d", text, start, got, want)
			}
		}
	})
}

func endByCharacter(text []byte, start int) int {
	for end := start; end < len(text); end++ {
		if text[end] < ' ' {
			return -1
		}
		if text[end] == '\\' {
			end++
			continue
		}
		if text[end] == '"' {
			quoted := append(append([]byte(`"`), text[start:end]...), '"')
			if !json.Valid(quoted) {
				return -1
			}
			return end
		}
	}
	return -1
}
