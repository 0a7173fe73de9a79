package httpguard

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// fingerprint digests what must not differ between the tries of a key, format 1:
// method, path, query and content. The order of the query's names is none of it,
// the order of one name's values is. A changed digest would refuse the retry of
// every open request.
func (c *Config) fingerprint(r *Request, body []byte) string {
	d := digest{sha256.New()}
	d.text("http 1")
	d.text(r.Method)
	d.text(r.Path)
	d.count(len(r.Query))
	for _, name := range slices.Sorted(maps.Keys(r.Query)) {
		d.text(name)
		d.count(len(r.Query[name]))
		for _, value := range r.Query[name] {
			d.text(value)
		}
	}
	kind, content := c.contentOf(r, body)
	d.text(kind)
	d.text(content)
	if r.rawQuery != "" { // at the end, so that all other requests keep the digest that they had before it was compared
		d.text(r.rawQuery)
	}
	return hex.EncodeToString(d.sum.Sum(nil))
}

// contentOf returns the body without what is only its spelling: the canonical
// form of JSON. Any other body, and one that only claims to be JSON, is its bytes.
// The content type itself is not compared: it is spelt in too many ways.
func (c *Config) contentOf(r *Request, body []byte) (kind, content string) {
	if !isJSON(r.Header.Get("Content-Type")) {
		return "bytes", string(body)
	}
	if c.Compare != nil {
		if selected, err := c.Compare.Canonical(body); err == nil {
			return "selected", string(selected)
		}
	}
	canonical, err := canonicaljson.Append(nil, body)
	if err != nil {
		return "bytes", string(body)
	}
	return "json", string(canonical)
}

// isJSON tells whether a body of this content type may be read as JSON: because
// that is what it says, or because it says nothing.
func isJSON(contentType string) bool {
	media, _, _ := mime.ParseMediaType(contentType) // without parameters that can't be read
	return contentType == "" || media == "application/json" || strings.HasSuffix(media, "+json")
}

// digest is fed with texts and counts, so that no two sequences of them are the
// same bytes.
type digest struct{ sum hash.Hash }

func (d digest) text(s string) {
	d.count(len(s))
	d.sum.Write([]byte(s))
}

func (d digest) count(n int) {
	var encoded [8]byte
	binary.BigEndian.PutUint64(encoded[:], uint64(n))
	d.sum.Write(encoded[:])
}
