package powertools

import (
	"crypto/md5"  //nolint:gosec // the peers' default; nothing here relies on its strength
	"crypto/sha1" //nolint:gosec // a choice of theirs
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"hash"
	"maps"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

// digest is how a text becomes part of a key.
type digest struct {
	new    func(text string) []byte
	encode func([]byte) string
}

func (d digest) of(text string) string { return d.encode(d.new(text)) }

// sum returns the digest that a hash function makes of a text at once.
func sum(of func() hash.Hash) func(string) []byte {
	return func(text string) []byte {
		h := of()
		h.Write([]byte(text))
		return h.Sum(nil)
	}
}

func sum3(of func() *sha3.SHA3) func(string) []byte {
	return sum(func() hash.Hash { return of() })
}

func sumBlake2b(text string) []byte {
	digest := blake2b.Sum512([]byte(text))
	return digest[:]
}

func sumBlake2s(text string) []byte {
	digest := blake2s.Sum256([]byte(text))
	return digest[:]
}

// hashes are the functions that both languages have, by the names that both give
// them.
var hashes = map[string]func(string) []byte{
	"md5":    sum(md5.New),
	"sha1":   sum(sha1.New),
	"sha224": sum(sha256.New224),
	"sha256": sum(sha256.New),
	"sha384": sum(sha512.New384),
	"sha512": sum(sha512.New),
}

// with returns the functions of both languages and those of one.
func with(own map[string]func(string) []byte) map[string]func(string) []byte {
	all := maps.Clone(hashes)
	maps.Copy(all, own)
	return all
}

var (
	pythonHashes = with(map[string]func(string) []byte{
		"sha3_224": sum3(sha3.New224), "sha3_256": sum3(sha3.New256), "sha3_384": sum3(sha3.New384), "sha3_512": sum3(sha3.New512),
		"blake2b": sumBlake2b, "blake2s": sumBlake2s,
	})
	nodeHashes = with(map[string]func(string) []byte{
		"sha3-224": sum3(sha3.New224), "sha3-256": sum3(sha3.New256), "sha3-384": sum3(sha3.New384), "sha3-512": sum3(sha3.New512),
		"sha512-224": sum(sha512.New512_224), "sha512-256": sum(sha512.New512_256),
		"blake2b512": sumBlake2b, "blake2s256": sumBlake2s,
	})
)

func (r *reader) hash(known map[string]func(string) []byte) func(string) []byte {
	name := r.Hash
	switch {
	case name == "":
		name = "md5"
	case r.language == value.JavaScript: // OpenSSL's names are of either case
		name = strings.ToLower(name)
	}
	if f, ok := known[name]; ok {
		return f
	}
	r.because("Hash", value.Inexact("%q is not one of %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
	return nil
}
