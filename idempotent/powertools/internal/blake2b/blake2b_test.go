package blake2b_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/blake2b"
)

// The sums are those of Python's hashlib.blake2b.
func TestSum(t *testing.T) {
	for text, want := range map[string]string{
		"abc":                    "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
		strings.Repeat("a", 0):   "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce",
		strings.Repeat("a", 1):   "333fcb4ee1aa7c115355ec66ceac917c8bfd815bf7587d325aec1864edd24e34d5abe2c6b1b5ee3face62fed78dbef802f2a85cb91d455a8f5249d330853cb3c",
		strings.Repeat("a", 127): "94596b9d6199c807c40ae1a935f3633ba5a8dd5655f7f1bd44f5285b1ce8dbb0054771eba409539df85a963296d28788807105153c90fa3ec3d761228e90f8b8",
		strings.Repeat("a", 128): "fc6c71f688f43ea7d60817478808f3cac753e61571865c95adbc2d9122c943a76b92c2cb1047ef3fe7bf6e436ec1d0a99a9e5b216780bf7fed9d7ca91d3a8f3b",
		strings.Repeat("a", 129): "55e6e0eb418149a8af92fd9ddc99254781b2f522a131b4f4d984404b71a00e1167b8124d5dcddd4c6977b299392335d6edd303da6d344d74bbef2d38101b232b",
		strings.Repeat("a", 256): "0eee13d0c73a2710c5015a8b4be0a16120bb88f826b662951ffe4b3b81441cfdce1f712c58e237dba72a0dad7f9c86b9745ea0b4b3b850ff3a260fb7df9d3e81",
		strings.Repeat("a", 300): "a2ff3040eda405b929c2fc2fd93e8add6ac3bb5369b679bae170ac6956863ca006285f132a868000fc3fae5bc696e5d17fe3fddfb4a342876c40451184742986",
	} {
		sum := blake2b.Sum512([]byte(text))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("the sum of %d bytes is %s, want %s", len(text), got, want)
		}
	}
}
