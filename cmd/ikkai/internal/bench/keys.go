package bench

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
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
}

// Cost is the mean cost of one operation.
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
}

var keyWorks = []keyWork{
	{
		expression:   "payment_id",
		payload:      func(size int) []byte { return payment("p-1", size) },
		byHand:       hashField,
		byHandReason: "Unmarshal into a struct of the one field, SHA-256",
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
	toolkit, failed := cost(func() error {
		_, err := expression.Key("payment", payload)
		return err
	})
	baseline, failedByHand := cost(func() error { return w.byHand(payload) })
	return Key{
		Expression:   w.expression,
		PayloadBytes: len(payload),
		Toolkit:      toolkit,
		Baseline:     baseline,
		BaselineDoes: w.byHandReason,
		Ratio:        float64(toolkit.Nanoseconds) / float64(max(1, baseline.Nanoseconds)),
	}, errors.Join(failed, failedByHand)
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

// shortBenchmarks makes testing.Benchmark take a third of its usual second, so
// that all of them together stay well below a minute. The testing package takes
// this by flag only.
var shortBenchmarks = sync.OnceValue(func() error {
	testing.Init()
	return flag.Set("test.benchtime", "300ms")
})
