package storetest

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/ikkai-go/idempotency/persistence"
)

// tooLarge is the size, in bytes, of what many stores can't hold. Only the tests
// of the suite itself change it.
var tooLarge = 5_000_000

func resultRules() []Rule {
	exact := func(name string, result []byte) Rule {
		return rule("result/"+name, NeedsNothing,
			"Results are bytes, and are replayed as they were, from COMPLETED and FAILED records alike.",
			func(s *stage) {
				for _, status := range []persistence.Status{persistence.StatusCompleted, persistence.StatusFailed} {
					s.scene(string(status), func(s *stage) {
						o := success("")
						o.Status = status
						o.Result = result
						s.sees(start, s.completes(s.acquires("first", start), o))
					})
				}
			})
	}
	return []Rule{
		exact("empty", []byte{}),
		exact("nil", nil),
		exact("null", []byte("null")),
		exact("text", []byte(`{"id":9007199254740993,"total":1.10,"名前":"一回","sep":"\u2028 `+"\u2028"+`"}`)),
		exact("html", []byte(`{"link":"<a href='/?a=1&b=2'>&amp;</a>","escaped":"\u003c"}`)),
		exact("spaces", []byte(" \t\r\n{ \"a\" : 1 }\n\n")),
		exact("nul", []byte("a\x00b\x00")),
		exact("binary", []byte("\xff\xfe\x80\xc3(\xed\xa0\x80")),
		exact("every-byte", everyByte()),
		exact("300KB", noise(300_000)),
		rule("result/omitted", NeedsNothing,
			"An outcome without a result is not one with an empty result: it comes back as omitted, and a result beside it is ignored.",
			func(s *stage) {
				for name, result := range map[string][]byte{"nothing beside it": nil, "a result beside it": []byte("paid")} {
					s.scene(name, func(s *stage) {
						o := withoutResult()
						o.Result = result
						s.sees(start, s.completes(s.acquires("first", start), o))
					})
				}
			}),
		rule("result/too-large", NeedsNothing,
			"A result of 5 MB is stored whole, or refused with ErrTooLarge; then nothing has changed, and the owner can complete without a result.",
			func(s *stage) {
				first := s.acquires("first", start)
				huge := success("")
				huge.Result = noise(tooLarge)
				err := s.store.Complete(s.ctx, first.Lease(), huge)
				if err == nil {
					s.sees(start, completed(first, huge))
					return
				}
				s.refused("complete", err, persistence.ErrTooLarge)
				s.sees(start, first)
				s.sees(start, s.completes(first, withoutResult()))
			}),
	}
}

func everyByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

// noise is made once, is the same every time, and does not compress.
func noise(size int) []byte { return slices.Clip(allNoise()[:size]) }

var allNoise = sync.OnceValue(func() []byte {
	b := make([]byte, tooLarge)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return b
})
