package dynamostore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	cryptorand "crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/endpoint"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

var compressing = dynamostore.Config{Compress: true}

// bulky makes every result one that is worth compressing: what the suite for
// stores writes is short, or noise.
type bulky struct{ planter }

var bulk = bytes.Repeat([]byte("bulk"), 1<<10)

func (b bulky) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	o.Result = append(bytes.Clone(o.Result), bulk...)
	return lean(b.planter.Complete(ctx, l, o))
}

func (b bulky) Release(ctx context.Context, l persistence.Lease) error {
	return lean(b.planter.Release(ctx, l))
}

func (b bulky) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	return lean(b.planter.Checkpoint(ctx, l, step, output))
}

func lean(err error) error {
	if settled, ok := errors.AsType[*persistence.SettledError](err); ok {
		settled.Record.Result = bytes.TrimSuffix(settled.Record.Result, bulk)
	}
	return err
}

func (b bulky) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	r, err := b.planter.Acquire(ctx, c)
	r.Result = bytes.TrimSuffix(r.Result, bulk)
	return r, err
}

func (b bulky) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	r, found, err := b.planter.Read(ctx, key)
	r.Result = bytes.TrimSuffix(r.Result, bulk)
	return r, found, err
}

func (b bulky) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	found, err := b.planter.ReadMany(ctx, keys)
	for i, r := range found {
		found[i].Result = bytes.TrimSuffix(r.Result, bulk)
	}
	return found, err
}

func TestTheContractIsKeptWithCompressedResults(t *testing.T) {
	packed := composite()
	packed.Compress = true
	for name, config := range map[string]dynamostore.Config{"default table": compressing, "composite table": packed} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) persistence.Store {
				_, store := newStoreWith(t, config)
				return bulky{store}
			})
		})
	}
	if client, set := endpoint.Client(); set {
		t.Run(endpoint.Variable, func(t *testing.T) {
			config := dynamostore.Config{Table: "idempotency-" + cryptorand.Text(), Compress: true}
			storetest.Run(t, func(t *testing.T) persistence.Store { return bulky{newTable(t, client, config)} })
		})
	}
}

// finish completes a new record and returns its item.
func finish(t testing.TB, db *dynamotest.DB, store planter, result []byte) (attributes, error) {
	t.Helper()
	r, err := store.Acquire(t.Context(), claim("first"))
	if err != nil {
		t.Fatal(err)
	}
	db.ResetLog()
	err = store.Complete(t.Context(), r.Lease(), completed(string(result)))
	return db.Items("idempotency")[0], err
}

// replayed is the result that a duplicate gets.
func replayed(t testing.TB, store persistence.Store) []byte {
	t.Helper()
	r, err := store.Acquire(t.Context(), claim("duplicate"))
	if err != nil || r.Status != persistence.StatusCompleted || r.ResultOmitted {
		t.Fatalf("the duplicate gets %s, omitted: %v, %v", r.Status, r.ResultOmitted, err)
	}
	return r.Result
}

// mixture is so many bytes, of which the given share does not compress.
func mixture(random *rand.Rand, size int, noise float64) []byte {
	b := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
	for i := range int(float64(size) * noise) {
		b[i] = byte(random.Uint32())
	}
	return b
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func units(size int) int { return (size + 1023) / 1024 }

// Compressed or not is decided by what the item costs: a result is compressed if,
// and only if, that saves a write unit, and it comes back as it was.
func TestAResultIsCompressedWhereThatSavesAWriteUnit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	compressed := 0
	for range 80 {
		result := mixture(random, random.IntN(6000), random.Float64())
		plainDB, plain := newStore(t)
		if _, err := finish(t, plainDB, plain, result); err != nil {
			t.Fatal(err)
		}
		before := tableSize(t, plain)
		db, store := newStoreWith(t, compressing)
		item, err := finish(t, db, store, result)
		if err != nil {
			t.Fatal(err)
		}
		after := tableSize(t, store)
		possible := sizeWhenCompressed(t, before, result)
		_, encoded := item["result_encoding"]
		switch saves := units(possible) < units(before); {
		case saves != encoded:
			t.Errorf("%d bytes could be %d; compressed: %v", before, possible, encoded)
		case encoded && after != possible, !encoded && after != before:
			t.Errorf("%d bytes have become %d, not %d", before, after, possible)
		case encoded:
			compressed++
		}
		if got := replayed(t, store); !bytes.Equal(got, result) {
			t.Errorf("a result of %d bytes has come back as one of %d", len(result), len(got))
		}
	}
	if compressed < 20 || compressed > 60 {
		t.Errorf("%d of 80 results were compressed: the sample shows little", compressed)
	}
}

// The borders of the decision, reached by the length of the fingerprint: an item
// that compressing would bring to a whole KB, and one that takes whole KBs as it is.
func TestTheLastByteDecidesWhetherToCompress(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	itemWith := func(config dynamostore.Config, fingerprint int, result []byte) (planter, attributes) {
		db, store := newStoreWith(t, config)
		c := claim("first")
		c.Fingerprint = strings.Repeat("f", fingerprint)
		r, err := store.Acquire(t.Context(), c)
		if err == nil {
			err = store.Complete(t.Context(), r.Lease(), completed(string(result)))
		}
		if err != nil {
			t.Fatal(err)
		}
		return store, db.Items("idempotency")[0]
	}
	for name, test := range map[string]struct {
		result     []byte
		compressed int // the item's size as it would be, and 0 for any
		plain      int
		want       bool
	}{
		"saves a unit":                      {mixture(random, 1500, 0.3), 1024, 0, true},
		"a byte too much to save one":       {mixture(random, 1500, 0.3), 1025, 0, false},
		"whole units anyway":                {mixture(random, 1700, 0.8), 0, 2048, false},
		"a byte in a unit that it can save": {mixture(random, 1700, 0.8), 0, 2049, true},
	} {
		t.Run(name, func(t *testing.T) {
			plain, _ := itemWith(dynamostore.Config{}, 1, test.result)
			fingerprint := 1 + test.plain - tableSize(t, plain)
			if test.compressed > 0 {
				fingerprint = 1 + test.compressed - sizeWhenCompressed(t, tableSize(t, plain), test.result)
			}
			store, item := itemWith(compressing, fingerprint, test.result)
			if _, encoded := item["result_encoding"]; encoded != test.want {
				t.Errorf("an item of %d bytes; compressed: %v, want %v", tableSize(t, store), encoded, test.want)
			}
		})
	}
}

// sizeWhenCompressed is what compressing would make of the size of an item.
func sizeWhenCompressed(t testing.TB, size int, result []byte) int {
	t.Helper()
	return size - len(result) + len(gzipped(t, result)) + len("result_encoding"+"gzip")
}

func TestWhatIsSmallStaysReadable(t *testing.T) {
	db, store := newStoreWith(t, compressing)
	item, err := finish(t, db, store, []byte(strings.Repeat("a", 700)))
	if _, text := item["result"].(*types.AttributeValueMemberS); !text || err != nil {
		t.Errorf("got a %T, %v, in an item of %d bytes", item["result"], err, tableSize(t, store))
	}
}

// A store that does not compress reads what another has compressed, and leaves it
// as it is.
func TestStoresWithoutTheOptionReadCompressedResults(t *testing.T) {
	db, store := newStoreWith(t, compressing)
	result := []byte(strings.Repeat("{}", 3000))
	if _, err := finish(t, db, store, result); err != nil {
		t.Fatal(err)
	}
	other, err := dynamostore.New(db.Client(), dynamostore.Config{Table: "idempotency"})
	if err != nil {
		t.Fatal(err)
	}
	if got := replayed(t, other); !bytes.Equal(got, result) {
		t.Errorf("got %d bytes, want %d", len(got), len(result))
	}
	r, found, err := other.Read(t.Context(), "payment#1")
	if err != nil || !found || !bytes.Equal(r.Result, result) {
		t.Errorf("read %d bytes, %v", len(r.Result), err)
	}
}

func TestATooLargeResultIsJudgedByItsCompressedSize(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for name, test := range map[string]struct {
		result []byte
		fits   bool
	}{
		"2 MB that compress":               {mixture(random, 2<<20, 0.1), true},
		"noise of 390 KB":                  {mixture(random, 390<<10, 1), true},
		"noise of 410 KB":                  {mixture(random, 410<<10, 1), false},
		"8 MiB that compress":              {make([]byte, 8<<20), true},
		"a byte more than can be expanded": {make([]byte, 8<<20+1), false},
	} {
		t.Run(name, func(t *testing.T) {
			db, store := newStoreWith(t, compressing)
			switch _, err := finish(t, db, store, test.result); {
			case test.fits && err != nil:
				t.Error(err)
			case test.fits && !bytes.Equal(replayed(t, store), test.result):
				t.Error("another result has come back")
			case !test.fits && !errors.Is(err, persistence.ErrTooLarge):
				t.Errorf("got %v, want ErrTooLarge", err)
			case !test.fits && len(db.Requests()) > 0:
				t.Errorf("sent %d requests", len(db.Requests()))
			}
		})
	}
}

func TestAFailureIsCompressedAsWell(t *testing.T) {
	db, store := newStoreWith(t, compressing)
	r, err := store.Acquire(t.Context(), claim("first"))
	if err != nil {
		t.Fatal(err)
	}
	failure := completed(strings.Repeat("no funds ", 500))
	failure.Status = persistence.StatusFailed
	if err := store.Complete(t.Context(), r.Lease(), failure); err != nil {
		t.Fatal(err)
	}
	if _, encoded := db.Items("idempotency")[0]["result_encoding"]; !encoded {
		t.Error("it was not compressed")
	}
	if r, err := store.Acquire(t.Context(), claim("second")); err != nil || r.Status != persistence.StatusFailed || !bytes.Equal(r.Result, failure.Result) {
		t.Errorf("got %s with %d bytes, %v", r.Status, len(r.Result), err)
	}
}

// Whatever is in the table, a result that is not whole is not replayed: cut off,
// damaged, not compressed at all, or made to use up the memory.
func TestADamagedResultIsUnreadable(t *testing.T) {
	result := []byte(strings.Repeat("paid ", 400))
	whole := gzipped(t, result)
	stored := func(v types.AttributeValue) attributes {
		return attributes{"idempotency_key": text("payment#1"), "status": text("COMPLETED"), "result": v, "result_encoding": text("gzip")}
	}
	binary := func(b []byte) attributes { return stored(&types.AttributeValueMemberB{Value: b}) }
	refused := func(t *testing.T, item attributes) {
		t.Helper()
		db, store := newStore(t)
		seed(t, db, item)
		r, err := store.Acquire(t.Context(), claim("me"))
		if fault, ok := errors.AsType[*persistence.Fault](err); !errors.Is(err, persistence.ErrUnreadable) || !ok || fault.Retryable {
			t.Errorf("acquire: got %d bytes, %v, want ErrUnreadable", len(r.Result), err)
		}
		if _, _, err := store.Read(t.Context(), "payment#1"); !errors.Is(err, persistence.ErrUnreadable) {
			t.Errorf("read: got %v, want ErrUnreadable", err)
		}
	}
	t.Run("text", func(t *testing.T) { refused(t, stored(text("paid"))) })
	t.Run("empty", func(t *testing.T) { refused(t, binary([]byte{})) })
	t.Run("followed by more", func(t *testing.T) { refused(t, binary(append(bytes.Clone(whole), "more"...))) })
	t.Run("cut off", func(t *testing.T) {
		for n := 1; n < len(whole); n++ {
			refused(t, binary(whole[:n]))
		}
	})
	t.Run("damaged", func(t *testing.T) {
		for i := range whole {
			damaged := bytes.Clone(whole)
			damaged[i] ^= 0x10
			db, store := newStore(t)
			seed(t, db, binary(damaged))
			r, err := store.Acquire(t.Context(), claim("me"))
			if !errors.Is(err, persistence.ErrUnreadable) && !bytes.Equal(r.Result, result) { // some bytes of the header mean nothing
				t.Errorf("byte %d: got %q, %v", i, r.Result, err)
			}
		}
	})
	t.Run("a bomb", func(t *testing.T) {
		bomb := bytes.Repeat(gzipped(t, make([]byte, 4<<20)), 80) // a file of 80 members, which is one of 320 MB
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		refused(t, binary(bomb))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
			t.Errorf("refusing %d bytes twice took %d MB", len(bomb), used>>20)
		}
	})
}

// Items that were compressed once are readable for ever, whatever the compressor
// of a later Go version makes of the same result; and the requests are pinned but
// for the compressed bytes, which differ between Go versions.
func TestGoldenCompressedResults(t *testing.T) {
	result := fmt.Sprintf(`{"receipt":"<1>","lines":[%s]}`, strings.Repeat(`{"price":1.10},`, 200))

	t.Run("item", func(t *testing.T) {
		name := filepath.Join("..", "..", "testdata", "golden", "dynamostore", "compressed-item.json")
		if *update {
			written, err := json.MarshalIndent(map[string]any{
				"idempotency_key": map[string]string{"S": "payment#1"},
				"status":          map[string]string{"S": "COMPLETED"},
				"result":          map[string][]byte{"B": gzipped(t, []byte(result))},
				"result_encoding": map[string]string{"S": "gzip"},
				"version":         map[string]string{"N": "1"},
			}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, append(written, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		db, store := newStore(t)
		if response := putRaw(t, db, content); response.StatusCode != http.StatusOK {
			t.Fatal(response.Status)
		}
		if got := replayed(t, store); string(got) != result {
			t.Errorf("got %q", got)
		}
	})

	t.Run("requests", func(t *testing.T) {
		db, _ := newStore(t)
		recorded := &recorder{next: db}
		client := db.Client(func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: recorded} })
		store, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency", Compress: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := store.Acquire(t.Context(), claim("owner-1"))
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Complete(t.Context(), r.Lease(), completed(result)); err != nil {
			t.Fatal(err)
		}
		binary := regexp.MustCompile(`"B": "(.*)"`)
		expanded := binary.ReplaceAllFunc(recorded.text.Bytes(), func(match []byte) []byte {
			packed, err := base64.StdEncoding.DecodeString(string(binary.FindSubmatch(match)[1]))
			if err != nil {
				t.Fatal(err)
			}
			reader, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(reader)
			if err != nil || string(content) != result {
				t.Errorf("the request holds %q, %v", content, err)
			}
			return fmt.Appendf(nil, `"B": "(gzip of %d bytes)"`, len(content))
		})
		golden(t, "compressed-requests.txt", expanded)
	})
}

// Any result comes back as it was.
func FuzzCompressedResults(f *testing.F) {
	f.Add([]byte("paid"), uint16(1))
	f.Add([]byte(`{"id":1,"name":"一回"}`), uint16(200))
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0xff}, uint16(3000))
	f.Add([]byte{}, uint16(0))
	db, store := newStoreWith(f, compressing)
	f.Fuzz(func(t *testing.T, b []byte, times uint16) {
		if len(b)*int(times) > 64<<10 {
			return
		}
		result := bytes.Repeat(b, int(times))
		if _, err := finish(t, db, store, result); err != nil {
			t.Fatal(err)
		}
		if got := replayed(t, store); !bytes.Equal(got, result) {
			t.Errorf("%d bytes have become %d", len(result), len(got))
		}
		remove(t, db, "payment#1")
	})
}

// A completion and a replay with and without compression: results of JSON, on the
// embedded database, whose own work on the bytes is part of the time.
func BenchmarkCompress(b *testing.B) {
	for _, size := range []int{2 << 10, 20 << 10, 200 << 10} {
		var lines bytes.Buffer
		for i := uint32(0); lines.Len() < size; i++ {
			fmt.Fprintf(&lines, `{"order":"%08x","amount":%d,"currency":"EUR"},`, i*2654435761, i*37%9973)
		}
		for _, config := range []dynamostore.Config{{}, compressing} {
			b.Run(fmt.Sprintf("%dKB/compress=%v", size>>10, config.Compress), func(b *testing.B) {
				db, store := newStoreWith(b, config)
				var charged int
				for b.Loop() {
					if _, err := finish(b, db, store, lines.Bytes()); err != nil {
						b.Fatal(err)
					}
					_ = replayed(b, store)
					b.StopTimer()
					charged = units(tableSize(b, store))
					remove(b, db, "payment#1")
					b.StartTimer()
				}
				b.ReportMetric(float64(charged), "units/replay")
			})
		}
	}
}
