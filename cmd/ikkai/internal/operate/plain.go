package operate

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keys, names and messages come from customers and from whoever can write to the table. What a
// terminal would act upon in them, and what would look like a line of the command's own, is shown
// as an escape.

// plain is a text on one line, without anything that a terminal acts upon.
func plain(text string) string { return escaped(text, "") }

// Plain is plain for a message of several lines.
func Plain(text string) string { return escaped(text, "\n") }

func escaped(text, except string) string {
	var b strings.Builder
	for i, r := range text {
		switch _, size := utf8.DecodeRuneInString(text[i:]); {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[i]), 16))
		case unicode.IsPrint(r), unicode.Is(unicode.Zs, r), strings.ContainsRune(except, r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Quote writes a command down as a shell takes it: arguments that it would take apart, or that a
// terminal would not show, in quotation marks.
func Quote(args []string) string {
	out := make([]string, len(args))
	for i, arg := range args {
		switch {
		case plain(arg) != arg:
			out[i] = `$'` + bytesOf(arg) + `'`
		case arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$&|;<>()*?[]{}#~!`^=%") || strings.ContainsFunc(arg, unicode.IsSpace):
			out[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		default:
			out[i] = arg
		}
	}
	return strings.Join(out, " ")
}

// bytesOf is what stands between the marks of $'…': whatever a byte may mean as its number.
func bytesOf(arg string) string {
	var b strings.Builder
	for _, c := range []byte(arg) {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("-_./:@#= ", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteString(`\x`)
		b.WriteString(strconv.FormatUint(uint64(c)>>4, 16) + strconv.FormatUint(uint64(c)&15, 16))
	}
	return b.String()
}
