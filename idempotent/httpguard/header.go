package httpguard

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// settleType fixes the type of a response that has none: what net/http finds out from
// the first bytes that it is given. It is the same for a replay then, which has all of
// the body, and for one through another kind of API. Of a response that begins without a
// body, net/http says nothing.
func (rec *recorder) settleType(next []byte) {
	_, has := rec.sent["Content-Type"]
	if has || rec.plain || rec.sent.Get("Content-Encoding") != "" || !bodyAllowed(rec.status) {
		return
	}
	beginning := rec.body.Bytes()
	if len(beginning) < sniffed {
		beginning = slices.Concat(beginning, next[:min(len(next), sniffed)])
	}
	switch {
	case rec.http1 && rec.sent.Get("Transfer-Encoding") != "": // net/http looks at nothing then; a replay has no such field
		rec.sent["Content-Type"] = nil
	case len(beginning) > 0:
		rec.sent["Content-Type"] = rec.behindOwn(http.DetectContentType(beginning))
	case !rec.finished:
		rec.sent["Content-Type"] = nil
	}
}

// behindOwn returns the types of a response for which net/http finds one although the handler
// has set its own, under a name that is not in canonical form: that one is sent first.
func (rec *recorder) behindOwn(found string) (types []string) {
	for name, values := range rec.sent {
		if http.CanonicalHeaderKey(name) == "Content-Type" {
			types = append(types, values...)
			delete(rec.sent, name)
		}
	}
	return append(types, found)
}

// sniffed is how many bytes tell a type.
const sniffed = 512

// own returns the headers that the handler has set. What it has found there and left
// is for whoever set it, and who sets it again for the next request; what it has found
// and deleted has no values.
func (rec *recorder) own() http.Header {
	own := make(http.Header, len(rec.sent))
	for name, values := range rec.sent {
		if found, outer := rec.outer[name]; !outer || !slices.Equal(values, found) {
			own[name] = append([]string{}, values...) // never null
		}
	}
	for name := range rec.outer {
		if _, left := rec.sent[name]; !left {
			own[name] = []string{}
		}
	}
	return own
}

// add adds a header to the handler's own response, if there is one to add.
func (rec *recorder) add(name, value string) {
	if name != "" {
		rec.sent.Set(name, value)
	}
}

// announced tells whether a header's name is in the Trailer field.
func announced(header http.Header, name string) bool {
	for _, list := range header["Trailer"] {
		for trailer := range strings.SplitSeq(list, ",") {
			if http.CanonicalHeaderKey(strings.TrimSpace(trailer)) == name {
				return true
			}
		}
	}
	return false
}

// declaredLength reads what a handler says of the length of its body; -1 where it
// says nothing, or where there is no body.
func declaredLength(method string, status int, header http.Header) int64 {
	length, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil || length < 0 || method == http.MethodHead || !bodyAllowed(status) {
		return -1
	}
	return length
}
