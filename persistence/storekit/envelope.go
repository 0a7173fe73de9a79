package storekit

import "bytes"

// envelopeMark begins every envelope. Its first byte is in no UTF-8 text, so in no
// JSON.
const envelopeMark = "\xffikkai:"

// Envelope puts a result, or the output of a step, into an envelope: it is then not
// the value itself but something that a store in front makes the value of, such as
// its ciphertext, or the place where it is kept. The form says which, and in which
// version: "sealed/1". It has no line feed.
//
// An envelope that comes out of the front-most store has lost its reader, by a change
// of the wiring perhaps. It must not be taken for a result, and nothing may run in
// its place.
func Envelope(form string, content []byte) []byte {
	return append([]byte(envelopeMark+form+"\n"), content...)
}

// OpenEnvelope takes an envelope apart. It is not ok where the value is none. The
// content shares its memory with the value.
func OpenEnvelope(value []byte) (form string, content []byte, ok bool) {
	rest, marked := bytes.CutPrefix(value, []byte(envelopeMark))
	head, content, ended := bytes.Cut(rest, []byte("\n"))
	if !marked || !ended {
		return "", nil, false
	}
	return string(head), content, true
}
