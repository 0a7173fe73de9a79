package idempotency_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ikkai-go/idempotency"
)

// BenchmarkKey measures what a key costs beside what a straightforward program
// would pay: decoding the event (and the body in it), encoding it again and
// hashing that.
func BenchmarkKey(b *testing.B) {
	for _, size := range []int{1 << 10, 32 << 10, 256 << 10, 1 << 20} {
		event := gatewayEvent(size)
		for _, c := range []struct{ name, expression string }{
			{"one field", `headers."idempotency-key"`},
			{"one field of the body", `powertools_json(body).order_id`},
			{"whole body", `powertools_json(body)`},
			{"whole payload", `@`},
		} {
			expression := idempotency.MustJMESPath(c.expression)
			b.Run(fmt.Sprintf("%s/%dKB", c.name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(event)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := expression.Key("payment", event); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("baseline decode/%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				decode(b, event)
			}
		})
		b.Run(fmt.Sprintf("baseline decode, encode, hash/%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				encodeAndHash(b, decode(b, event))
			}
		})
		b.Run(fmt.Sprintf("baseline decode, decode body, encode, hash/%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				body := decode(b, event).(map[string]any)["body"].(string)
				encodeAndHash(b, decode(b, []byte(body)))
			}
		})
	}
}

func decode(b *testing.B, document []byte) any {
	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		b.Fatal(err)
	}
	return value
}

func encodeAndHash(b *testing.B, value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		b.Fatal(err)
	}
	sha256.Sum256(encoded)
}
