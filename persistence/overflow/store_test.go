package overflow_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/overflow"
	"github.com/ikkai-go/idempotency/persistence/storekit"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

func TestTheContractIsKept(t *testing.T) {
	everything := overflow.Config{Inline: 1}
	for _, tt := range []struct {
		name string
		open func(t *testing.T) persistence.Store
	}{
		{"every result in a blob", func(t *testing.T) persistence.Store {
			store, _ := front(t, persistence.NewMemory(), newShelf(), everything)
			return store
		}},
		{"what DynamoDB refuses in a blob", func(t *testing.T) persistence.Store {
			behind := table(t)
			store, _ := front(t, behind, newShelf(), overflow.Config{})
			return store
		}},
		{"a cache in front", func(t *testing.T) persistence.Store {
			store, _ := front(t, persistence.NewMemory(), newShelf(), everything)
			return cached.New(store, cached.Limits{})
		}},
		{"a cache behind", func(t *testing.T) persistence.Store {
			store, _ := front(t, cached.New(persistence.NewMemory(), cached.Limits{}), newShelf(), everything)
			return store
		}},
		{"a store without other abilities", func(t *testing.T) persistence.Store {
			store, _ := front(t, plain{persistence.NewMemory()}, newShelf(), everything)
			return store
		}},
		{"no blob can be written", func(t *testing.T) persistence.Store {
			// Small results stay in the record. Large ones are refused, as without blobs.
			behind := table(t)
			blobs := newShelf()
			blobs.down = errors.New("access denied")
			store, _ := front(t, behind, blobs, overflow.Config{})
			return store
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { storetest.Run(t, tt.open) })
	}
}

// plain hides every ability of a store but those of Store.
type plain struct{ persistence.Store }

func TestALargeResultIsReplayedFromTheBlobs(t *testing.T) {
	behind := table(t)
	blobs := newShelf()
	store, lost := front(t, behind, blobs, overflow.Config{})
	result := large(1)
	finish(t, store, claim("winner"), result)
	name, b := blobs.only(t)
	if !bytes.Equal(b.content, result) || !b.expiresAt.Equal(claim("").ExpiresAt) {
		t.Errorf("blob %s is not the result, or expires at %v", name, b.expiresAt)
	}
	got, err := store.Acquire(t.Context(), claim("duplicate"))
	if err != nil || !bytes.Equal(got.Result, result) || got.ResultOmitted {
		t.Errorf("want the result, got %d bytes, %v", len(got.Result), err)
	}
	got, found, err := store.Read(t.Context(), claim("").Key)
	if err != nil || !found || !bytes.Equal(got.Result, result) {
		t.Errorf("read: want the result, got %d bytes, %v", len(got.Result), err)
	}
	if len(*lost) > 0 {
		t.Errorf("nothing is lost, got %v", *lost)
	}
}

// Compression comes first: what fits into the record then stays there.
func TestWhatCompressesStaysInTheRecord(t *testing.T) {
	blobs := newShelf()
	_, behind := embedded.Store(t, dynamostore.Config{Compress: true})
	store, _ := front(t, behind, blobs, overflow.Config{})
	result := bytes.Repeat([]byte("the same page "), 100<<10)
	finish(t, store, claim("winner"), result)
	if got, err := store.Acquire(t.Context(), claim("duplicate")); err != nil || !bytes.Equal(got.Result, result) {
		t.Errorf("want the result, got %d bytes, %v", len(got.Result), err)
	}
	if blobs.calls != 0 {
		t.Errorf("want no call, got %d", blobs.calls)
	}
}

func TestASmallResultAsksNoBlobs(t *testing.T) {
	blobs := newShelf()
	store, _ := front(t, persistence.NewMemory(), blobs, overflow.Config{Inline: 4})
	finish(t, store, claim("winner"), []byte("paid"))
	if got, err := store.Acquire(t.Context(), claim("duplicate")); err != nil || string(got.Result) != "paid" {
		t.Errorf("want the result, got %q, %v", got.Result, err)
	}
	if blobs.calls != 0 {
		t.Errorf("want no call, got %d", blobs.calls)
	}
}

func TestAReaderWithoutTheStoreInFrontSeesAnEnvelope(t *testing.T) {
	behind := persistence.NewMemory()
	store, _ := front(t, behind, newShelf(), overflow.Config{Inline: 1})
	finish(t, store, claim("winner"), []byte(`{"paid":true}`))
	form, _, ok := storekit.OpenEnvelope(behind.Records()[0].Result)
	if !ok || form != "overflow/1" {
		t.Errorf("want an envelope, got %q", behind.Records()[0].Result)
	}
}

// A result that looks like a reference, or the envelope of somebody else, is a result.
func TestAResultThatLooksLikeAReferenceIsReplayed(t *testing.T) {
	behind := persistence.NewMemory()
	store, _ := front(t, behind, newShelf(), overflow.Config{})
	finish(t, store, claim("first"), large(1))
	for _, result := range [][]byte{
		storekit.Envelope("overflow/1", []byte(`{"sha256":"00","length":1}`)),
		storekit.Envelope("overflow/2", []byte("of a later version")),
		storekit.Envelope("sealed/1", []byte("of another store")),
	} {
		behind.Delete(claim("").Key)
		finish(t, store, claim("winner"), result)
		if got, err := store.Acquire(t.Context(), claim("duplicate")); err != nil || !bytes.Equal(got.Result, result) {
			t.Errorf("%q: got %q, %v", result, got.Result, err)
		}
	}
}

func TestAZombieLeavesTheWinnersBlobAloneAndRemovesItsOwn(t *testing.T) {
	blobs := newShelf()
	store, _ := front(t, persistence.NewMemory(), blobs, overflow.Config{Inline: 1})
	zombie := acquire(t, store, claim("zombie"))
	finish(t, store, late("winner"), []byte("the same"))
	before, _ := blobs.only(t)
	for _, result := range []string{"the same", "another"} {
		if err := store.Complete(t.Context(), zombie, completed([]byte(result))); !errors.Is(err, persistence.ErrLeaseLost) {
			t.Errorf("want ErrLeaseLost, got %v", err)
		}
	}
	if after, _ := blobs.only(t); after != before {
		t.Errorf("want the winner's blob %s, got %s", before, after)
	}
	if got, err := store.Acquire(t.Context(), late("duplicate")); err != nil || string(got.Result) != "the same" {
		t.Errorf("want the winner's result, got %q, %v", got.Result, err)
	}
}

func TestOfTwoOutcomesOfOneOwnerTheFirstStays(t *testing.T) {
	store, _ := front(t, persistence.NewMemory(), newShelf(), overflow.Config{Inline: 1})
	lease := acquire(t, store, claim("owner"))
	if err := store.Complete(t.Context(), lease, completed([]byte("first"))); err != nil {
		t.Fatal(err)
	}
	failed := completed([]byte("first")) // the same blob, which the record refers to
	failed.Status = persistence.StatusFailed
	for _, second := range []persistence.Outcome{completed([]byte("second")), failed} {
		err := store.Complete(t.Context(), lease, second)
		if settled, ok := errors.AsType[*persistence.SettledError](err); !ok || string(settled.Record.Result) != "first" {
			t.Errorf("want to be told of the first, got %v", err)
		}
	}
	if got, err := store.Acquire(t.Context(), claim("duplicate")); err != nil || string(got.Result) != "first" {
		t.Errorf("want the first result, got %q, %v", got.Result, err)
	}
}

func TestALostResultIsAnOmittedOne(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(*testing.T, *shelf)
		why  error
	}{
		{"missing", func(_ *testing.T, s *shelf) { clear(s.blobs) }, overflow.ErrMissing},
		{"empty", func(t *testing.T, s *shelf) { s.change(t, func([]byte) []byte { return nil }) }, overflow.ErrChanged},
		{"one bit", func(t *testing.T, s *shelf) {
			s.change(t, func(b []byte) []byte { b[0] ^= 1; return b })
		}, overflow.ErrChanged},
		{"shorter", func(t *testing.T, s *shelf) { s.change(t, func(b []byte) []byte { return b[1:] }) }, overflow.ErrChanged},
		{"longer", func(t *testing.T, s *shelf) { s.change(t, func(b []byte) []byte { return append(b, 0) }) }, overflow.ErrChanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			blobs := newShelf()
			store, lost := front(t, persistence.NewMemory(), blobs, overflow.Config{Inline: 1})
			finish(t, store, claim("winner"), []byte("paid"))
			name, _ := blobs.only(t)
			tt.lose(t, blobs)
			got, err := store.Acquire(t.Context(), claim("duplicate"))
			if err != nil || got.Status != persistence.StatusCompleted || !got.ResultOmitted || got.Result != nil {
				t.Errorf("want a finished record without its result, got %+v, %v", got, err)
			}
			if len(*lost) != 1 || !errors.Is((*lost)[0], tt.why) || (*lost)[0].Name != name || (*lost)[0].Key != claim("").Key {
				t.Errorf("want to be told that %s is lost: %v; got %v", name, tt.why, *lost)
			}
		})
	}
}

// Whoever can write to the table can't make one record answer with another one's blob.
func TestAReferenceLeadsNowhereFromAnotherRecord(t *testing.T) {
	behind := persistence.NewMemory()
	store, _ := front(t, behind, newShelf(), overflow.Config{Inline: 1})
	finish(t, store, claim("winner"), []byte("paid"))
	original := behind.Records()[0]
	for name, move := range map[string]func(*persistence.Record){
		"key":   func(r *persistence.Record) { r.Key = "payment#2" },
		"owner": func(r *persistence.Record) { r.Owner = "other" },
	} {
		moved := original.Clone()
		move(&moved)
		behind.Put(moved)
		if got, _, err := store.Read(t.Context(), moved.Key); err != nil || !got.ResultOmitted {
			t.Errorf("of another %s: want no result, got %q, %v", name, got.Result, err)
		}
	}
}

func TestAnUnreadableReferenceIsAFault(t *testing.T) {
	blobs := newShelf()
	for _, text := range []string{
		"", "null", "{", `{"sha256":"00","length":1}`, `{"sha256":"zz","length":1}`, `{"a":1}`,
		`{"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","length":-1}`,
	} {
		unreadable(t, blobs, storekit.Envelope("overflow/1", []byte(text)))
	}
	unreadable(t, blobs, storekit.Envelope("overflow/2", []byte(`{"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","length":0}`)))
	if blobs.calls != 0 {
		t.Errorf("want no call, got %d", blobs.calls)
	}
}

func unreadable(t *testing.T, blobs *shelf, result []byte) {
	t.Helper()
	behind := persistence.NewMemory()
	behind.Put(completed(result).Of(claim("somebody").Fresh().Lease()))
	store, _ := front(t, behind, blobs, overflow.Config{})
	r, err := store.Acquire(t.Context(), claim("duplicate"))
	if !errors.Is(err, persistence.ErrUnreadable) || persistence.Retryable(err) {
		t.Errorf("%q: want ErrUnreadable for good, got %+v, %v", result, r, err)
	}
}

func TestBlobsOutOfReachAreAFaultThatStopsEverything(t *testing.T) {
	for _, tt := range []struct {
		down      error
		retryable bool
	}{
		{errors.New("connection refused"), true},
		{&persistence.Fault{Op: "get", Err: errors.New("access denied")}, false},
	} {
		blobs := newShelf()
		store, lost := front(t, persistence.NewMemory(), blobs, overflow.Config{Inline: 1})
		finish(t, store, claim("winner"), []byte("paid"))
		blobs.down = tt.down
		_, err := store.Acquire(t.Context(), claim("duplicate"))
		if !errors.Is(err, persistence.ErrUnreadable) || !errors.Is(err, tt.down) || persistence.Retryable(err) != tt.retryable {
			t.Errorf("%v: want ErrUnreadable, retryable %t; got %v", tt.down, tt.retryable, err)
		}
		if _, found, err := store.Read(t.Context(), claim("").Key); found || err == nil {
			t.Errorf("read: want an error, got %t, %v", found, err)
		}
		if len(*lost) > 0 {
			t.Errorf("a result out of reach is not lost: %v", *lost)
		}
	}
}

func TestAResultWhoseBlobCanNotBeWrittenIsRefused(t *testing.T) {
	behind, blobs := persistence.NewMemory(), newShelf()
	blobs.down = errors.New("access denied")
	store, _ := front(t, behind, blobs, overflow.Config{Inline: 1})
	lease := acquire(t, store, claim("owner"))
	err := store.Complete(t.Context(), lease, completed([]byte("paid")))
	if !errors.Is(err, persistence.ErrTooLarge) || !errors.Is(err, blobs.down) {
		t.Errorf("want ErrTooLarge and why, got %v", err)
	}
	if r := behind.Records()[0]; r.Status != persistence.StatusProcessing {
		t.Errorf("want nothing to be written, got %+v", r)
	}
}

func TestAHangingBlobStoreLeavesTimeForTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blobs := newShelf()
		store, _ := front(t, persistence.NewMemory(), blobs, overflow.Config{Inline: 1})
		lease := acquire(t, store, claim("owner"))
		blobs.hang = func(ctx context.Context) { <-ctx.Done() }
		for _, tt := range []struct{ left, want time.Duration }{
			{time.Hour, 2 * time.Second},
			{time.Second, 500 * time.Millisecond},
		} {
			started := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), tt.left)
			err := store.Complete(ctx, lease, completed([]byte("paid")))
			cancel()
			if took := time.Since(started); took != tt.want || !errors.Is(err, persistence.ErrTooLarge) {
				t.Errorf("with %v left: want to give up after %v, took %v: %v", tt.left, tt.want, took, err)
			}
		}
	})
}

func TestResultsAboveTheMaximumAreRefusedWithoutARequest(t *testing.T) {
	blobs := newShelf()
	store, _ := front(t, persistence.NewMemory(), blobs, overflow.Config{MaxResult: 4})
	lease := acquire(t, store, claim("owner"))
	if err := store.Complete(t.Context(), lease, completed([]byte("5byte"))); !errors.Is(err, persistence.ErrTooLarge) {
		t.Errorf("want ErrTooLarge, got %v", err)
	}
	if blobs.calls != 0 {
		t.Errorf("want no call, got %d", blobs.calls)
	}
}

func TestABlobMayNotBeLargerThanTheMaximum(t *testing.T) {
	behind, blobs := persistence.NewMemory(), newShelf()
	store, _ := front(t, behind, blobs, overflow.Config{Inline: 1})
	finish(t, store, claim("winner"), []byte("paid in full"))
	calls := blobs.calls
	smaller, _ := front(t, behind, blobs, overflow.Config{MaxResult: 4})
	_, err := smaller.Acquire(t.Context(), claim("duplicate"))
	if !errors.Is(err, persistence.ErrUnreadable) || persistence.Retryable(err) || blobs.calls != calls {
		t.Errorf("want ErrUnreadable for good and no call, got %v and %d", err, blobs.calls-calls)
	}
}

// A transaction commits the reference together with the application's writes.
func TestTransactionsKeepLargeResultsToo(t *testing.T) {
	behind := table(t)
	write := dynamostore.Write{Put: &types.Put{
		TableName:           aws.String("idempotency"),
		Item:                map[string]types.AttributeValue{"idempotency_key": &types.AttributeValueMemberS{Value: "stock"}},
		ConditionExpression: aws.String("attribute_not_exists(idempotency_key)"),
	}}
	blobs := newShelf()
	store, _ := front(t, behind, blobs, overflow.Config{})
	writes := []storekit.Write{write}

	if err := store.CompleteWith(t.Context(), acquire(t, store, claim("winner")), completed(large(1)), writes); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Acquire(t.Context(), claim("duplicate")); err != nil || !bytes.Equal(got.Result, large(1)) {
		t.Errorf("want the result, got %d bytes, %v", len(got.Result), err)
	}
	kept, _ := blobs.only(t)

	loser := claim("loser")
	loser.Key = "payment#2"
	err := store.CompleteWith(t.Context(), acquire(t, store, loser), completed(large(2)), writes)
	if _, refused := errors.AsType[*persistence.RefusedError](err); !refused {
		t.Errorf("want the transaction to be refused, got %v", err)
	}
	if after, _ := blobs.only(t); after != kept {
		t.Errorf("want the loser's blob to be removed")
	}
}

// answering is a store that answers every completion with an envelope in the same way.
type answering struct {
	*persistence.Memory
	with error
}

func (a answering) Complete(_ context.Context, _ persistence.Lease, o persistence.Outcome) error {
	if _, _, refers := storekit.OpenEnvelope(o.Result); !refers {
		return persistence.ErrTooLarge
	}
	return a.with
}

func TestABlobThatNothingRefersToIsRemoved(t *testing.T) {
	for name, tt := range map[string]struct {
		answer error
		left   int
	}{
		"its reference does not fit":     {persistence.ErrTooLarge, 0},
		"the completion is invalid":      {persistence.ErrInvalid, 0},
		"the lease is lost":              {persistence.ErrLeaseLost, 0},
		"a write is refused":             {&persistence.RefusedError{Err: errors.New("sold out")}, 0},
		"the transaction is rolled back": {&persistence.Fault{Op: "complete", Unwritten: true, Err: errors.New("busy")}, 0},
		"nobody knows":                   {&persistence.Fault{Op: "complete", Err: errors.New("no answer")}, 1},
		"the record is written":          {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			blobs := newShelf()
			store, _ := front(t, answering{persistence.NewMemory(), tt.answer}, blobs, overflow.Config{})
			if err := store.Complete(t.Context(), acquire(t, store, claim("owner")), completed(large(1))); err != tt.answer {
				t.Errorf("got %v", err)
			}
			if got := len(blobs.blobs); got != tt.left {
				t.Errorf("%d blobs are left, want %d", got, tt.left)
			}
		})
	}
}

// Where the time is over before the blob is written, the store behind was not asked to
// carry the writes out.
func TestWritesThatWaitForABlobInVainAreUnwritten(t *testing.T) {
	store, _ := front(t, table(t), newShelf(), overflow.Config{Inline: 1})
	lease := acquire(t, store, claim("owner"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, writes := range [][]storekit.Write{nil, {"a write"}} {
		_, atOnce := store.CompleteAtOnce(over, claim("owner"), completed([]byte("paid")), writes)
		for name, err := range map[string]error{
			"complete":         store.CompleteWith(over, lease, completed([]byte("paid")), writes),
			"complete at once": atOnce,
		} {
			fault, ok := errors.AsType[*persistence.Fault](err)
			if !ok || !fault.Retryable || fault.Unwritten != (len(writes) > 0) {
				t.Errorf("%s with %d writes: got %v", name, len(writes), err)
			}
		}
	}
}

func TestAtOnceTheHolderOfTheRecordAnswers(t *testing.T) {
	behind := table(t)
	blobs := newShelf()
	store, _ := front(t, behind, blobs, overflow.Config{})
	for _, owner := range []string{"winner", "loser", "winner"} {
		result := large(1)
		if owner == "loser" {
			result = large(2)
		}
		calls := blobs.calls
		got, err := store.CompleteAtOnce(t.Context(), claim(owner), completed(result), nil)
		if err != nil || got.Owner != "winner" || !bytes.Equal(got.Result, large(1)) {
			t.Errorf("%s: want the winner's result, got %d bytes of %q, %v", owner, len(got.Result), got.Owner, err)
		}
		// Put; and where another one has won, Delete and Get.
		if want := map[string]int{"winner": 1, "loser": 3}[owner]; blobs.calls-calls != want {
			t.Errorf("%s: want %d calls, got %d", owner, want, blobs.calls-calls)
		}
		blobs.only(t)
	}
}

func TestConfigsAreChecked(t *testing.T) {
	memory, blobs := persistence.NewMemory(), newShelf()
	for _, config := range []overflow.Config{
		{Inline: -1}, {MaxResult: -1}, {Timeout: -1}, {Inline: 9 << 20}, {Inline: 5, MaxResult: 4},
	} {
		if _, err := overflow.New(memory, blobs, config); !errors.Is(err, overflow.ErrConfig) {
			t.Errorf("%+v: want ErrConfig, got %v", config, err)
		}
	}
	if _, err := overflow.New(nil, blobs, overflow.Config{}); !errors.Is(err, overflow.ErrConfig) {
		t.Errorf("no store: want ErrConfig, got %v", err)
	}
	if _, err := overflow.New(memory, nil, overflow.Config{}); !errors.Is(err, overflow.ErrConfig) {
		t.Errorf("no blobs: want ErrConfig, got %v", err)
	}
}

// Names are pinned: under others, stored results could not be found.
func TestNamesOfBlobsArePinned(t *testing.T) {
	digest := [32]byte(slices.Repeat([]byte{7}, 32))
	const want = "511fc90e6dbe22c2f86ca042e7d8d45af9c5de02bb30f613c7a817f643c4f15c/176a9a188b7794afbffd46cd5cd557f345fe3633896354d34e5730c8f1b61e41"
	if got := overflow.Name("payment#1", "owner", digest); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}
