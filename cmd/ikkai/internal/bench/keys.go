package bench

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"sync"
	"testing"

	"github.com/ikkai-go/idempotency"
)

// Key is what finding the key in a payload costs, without any request.
type Key struct {
	Expression   string `json:"expression"`
	PayloadBytes int    `json:"payload_bytes"`
	Toolkit      Cost   `json:"toolkit"`
	// Baseline is what encoding/json alone takes for the same answer, and Ratio
	// how many times as long the toolkit takes.
	Baseline     Cost    `json:"baseline"`
	BaselineDoes string  `json:"baseline_does"`
	Ratio        float64 `json:"ratio"`
	// AgainstDecoding is how many times as long the toolkit takes as Unmarshal of
	// the payload into any, and no more than that; 0 where the key is not one field.
	AgainstDecoding float64 `json:"against_decoding,omitempty"`
}

// Cost is the mean cost of one operation, in the fastest of some turns.
type Cost struct {
	Nanoseconds int64 `json:"ns"`
	Bytes       int64 `json:"bytes"`
	Allocs      int64 `json:"allocs"`
}

// keyWork is one kind of key beside what one would write by hand for it.
type keyWork struct {
	expression   string
	payload      func(size int) []byte
	byHand       func(payload []byte) error
	byHandReason string
	oneField     bool
}

var keyWorks = []keyWork{
	{
		expression:   "payment_id",
		payload:      func(size int) []byte { return payment("p-1", size) },
		byHand:       hashField,
		byHandReason: "Unmarshal into a struct of the one field, SHA-256",
		oneField:     true,
	},
	{
		expression:   "@",
		payload:      func(size int) []byte { return payment("p-1", size) },
		byHand:       hashWhole,
		byHandReason: "Unmarshal into any, Marshal, SHA-256",
	},
	{
		expression:   "powertools_json(body)",
		payload:      func(size int) []byte { return httpEvent(payment("p-1", size)) },
		byHand:       hashBody,
		byHandReason: "Unmarshal the event into a struct of its body, and the body into any, Marshal, SHA-256",
	},
}

// payloadSizes are the sizes of the JSON documents that the keys are found in.
var payloadSizes = []int{1 << 10, 32 << 10, 256 << 10, 1 << 20}

func hashField(payload []byte) error {
	var event struct {
		PaymentID string `json:"payment_id"`
	}
	err := json.Unmarshal(payload, &event)
	sum = sha256.Sum256([]byte(event.PaymentID))
	return err
}

func hashWhole(payload []byte) error {
	var event any
	if err := json.Unmarshal(payload, &event); err != nil {
		return err
	}
	canonical, err := json.Marshal(event)
	sum = sha256.Sum256(canonical)
	return err
}

func hashBody(payload []byte) error {
	var event struct {
		Body string `json:"body"`
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return err
	}
	return hashWhole([]byte(event.Body))
}

// sum keeps the compiler from leaving the work out.
var sum [sha256.Size]byte

// measureKeys measures every kind of key at every size.
func measureKeys(ctx context.Context) ([]Key, error) {
	if err := shortBenchmarks(); err != nil {
		return nil, err
	}
	var keys []Key
	for _, work := range keyWorks {
		expression, err := idempotency.JMESPath(work.expression)
		if err != nil {
			return nil, err
		}
		for _, size := range payloadSizes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			key, err := work.measure(expression, size)
			if err != nil {
				return nil, fmt.Errorf("key %s of %d bytes: %w", work.expression, size, err)
			}
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func (w keyWork) measure(expression *idempotency.Expression, size int) (Key, error) {
	payload := w.payload(size)
	costs, err := compare(
		func() error {
			_, err := expression.Key("payment", payload)
			return err
		},
		func() error { return w.byHand(payload) },
		func() error {
			var event any
			return json.Unmarshal(payload, &event)
		},
	)
	if err != nil {
		return Key{}, err
	}
	toolkit, byHand, decoding := costs[0], costs[1], costs[2]
	key := Key{
		Expression:   w.expression,
		PayloadBytes: len(payload),
		Toolkit:      toolkit,
		Baseline:     byHand,
		BaselineDoes: w.byHandReason,
		Ratio:        toolkit.against(byHand),
	}
	if w.oneField {
		key.AgainstDecoding = toolkit.against(decoding)
	}
	return key, nil
}

// against is how many times as long c takes.
func (c Cost) against(other Cost) float64 {
	return float64(c.Nanoseconds) / float64(max(1, other.Nanoseconds))
}

// turns is how often each of several operations is measured.
const turns = 7

// compare measures operations by turns. The fastest turn of each counts: whatever
// else the machine does can only add to it.
func compare(operations ...func() error) ([]Cost, error) {
	fastest := make([]Cost, len(operations))
	for turn := range turns {
		for i, operation := range operations {
			c, err := cost(operation)
			if err != nil {
				return nil, err
			}
			if turn == 0 || c.Nanoseconds < fastest[i].Nanoseconds {
				fastest[i] = c
			}
		}
	}
	return fastest, nil
}

func cost(operation func() error) (Cost, error) {
	var failed error
	measured := testing.Benchmark(func(b *testing.B) { //nolint:thelper // it is no helper of another one
		b.ReportAllocs()
		for b.Loop() {
			if err := operation(); err != nil {
				failed = err
				return
			}
		}
	})
	return Cost{
		Nanoseconds: measured.NsPerOp(),
		Bytes:       measured.AllocedBytesPerOp(),
		Allocs:      measured.AllocsPerOp(),
	}, failed
}

// shortBenchmarks makes testing.Benchmark take a fraction of its usual second, so
// that all of them together stay below a minute. The testing package takes
// this by flag only.
var shortBenchmarks = sync.OnceValue(func() error {
	testing.Init()
	return flag.Set("test.benchtime", "50ms")
})
