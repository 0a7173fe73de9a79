package powertools_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// vector is what a real package has done with one event: see testdata/powertools.
type vector struct {
	Name         string
	Lang         string
	Peer         string
	FunctionName string `json:"function_name"`
	Event        string `json:"event_json"`
	EventKey     string `json:"event_key_jmespath"`
	Validation   string `json:"payload_validation_jmespath"`
	Options      vectorOptions
	Result       string         `json:"result_json"`
	Key          string         // empty where it wrote no record
	HashInput    string         `json:"hash_input_hex"`
	InProgress   map[string]any `json:"item_inprogress"`
	Item         map[string]any
	PutAt        int64  `json:"put_at_ms"`
	DoneAt       int64  `json:"done_at_ms"`
	Calls        int    `json:"handler_calls"` // of two events
	Replay       string `json:"replay_return"`
	Error        string
}

type vectorOptions struct {
	RaiseOnNoKey bool   `json:"raise_on_no_key"`
	KeyPrefix    string `json:"key_prefix"`
	ExpiresAfter int    `json:"expires_after_seconds"`
	Composite    bool
	StaticPK     string `json:"static_pk"`
	Hash         string `json:"hash_function"`
	NodeHash     string `json:"hash_function_node"`
	Attributes   struct {
		Expiry           string
		InProgressExpiry string `json:"in_progress_expiry"`
		Status           string
		Data             string
		Validation       string
	} `json:"attrs"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	file, err := os.ReadFile("../../testdata/powertools/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(file, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (v vector) peer(t *testing.T) *powertools.Peer {
	t.Helper()
	o := powertools.Options{
		FunctionName: v.FunctionName,
		KeyPrefix:    v.Options.KeyPrefix,
		EventKey:     v.EventKey,
		Validation:   v.Validation,
		Hash:         v.Options.Hash,
		RaiseOnNoKey: v.Options.RaiseOnNoKey,
		ExpiresAfter: time.Duration(v.Options.ExpiresAfter) * time.Second,
		Version:      v.Peer[strings.IndexByte(v.Peer, ' ')+1:],
		Table:        dynamostore.Config{Table: "idempotency", PartitionValue: v.Options.StaticPK},
	}
	a := v.Options.Attributes
	o.Table.Attributes = dynamostore.Attributes{
		ExpireAt: a.Expiry, LeaseUntil: a.InProgressExpiry, Status: a.Status, Result: a.Data, Fingerprint: a.Validation,
	}
	if v.Options.Composite {
		o.Table.Attributes.SortKey = "sk"
	}
	newPeer := powertools.TypeScript
	if v.Lang == "python" {
		newPeer, o.Function = powertools.Python, "app.lambda_handler"
	} else if v.Options.NodeHash != "" {
		o.Hash = v.Options.NodeHash
	}
	peer, err := newPeer(o)
	if err != nil {
		t.Fatal(err)
	}
	return peer
}

func TestKeysAreThoseOfTheRealPackages(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Lang+"/"+v.Name, func(t *testing.T) {
			peer := v.peer(t)
			key, fingerprint, err := peer.Identify([]byte(v.Event))
			if v.Key == "" {
				wantErr := idempotency.ErrPayload
				if v.Calls == 2 || strings.Contains(v.Error, "IdempotencyKeyError") {
					wantErr = idempotency.ErrMissing
				}
				if !errors.Is(err, wantErr) {
					t.Fatalf("key %q, error %v; want %v", key, err, wantErr)
				}
				return
			}
			if err != nil || key != v.Key {
				t.Errorf("key %q, %v; want %q", key, err, v.Key)
			}
			input, err := peer.HashInput([]byte(v.Event))
			if want, _ := hex.DecodeString(v.HashInput); err != nil || input != string(want) {
				t.Errorf("hashed is %q, %v; want %q", input, err, want)
			}
			attribute := "validation"
			if name := v.Options.Attributes.Validation; name != "" {
				attribute = name
			}
			want := ""
			if hash, there := v.InProgress[attribute].(map[string]any); there {
				want = hash["S"].(string)
			}
			if fingerprint != want {
				t.Errorf("fingerprint %q, want %q", fingerprint, want)
			}
		})
	}
}

// Our items are theirs, and have some attributes more.
func TestItemsAreThoseOfTheRealPackages(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Key == "" {
			continue
		}
		t.Run(v.Lang+"/"+v.Name, func(t *testing.T) {
			peer := v.peer(t)
			table := newTable(t, peer)
			store := table.store
			_, fingerprint, err := peer.Identify([]byte(v.Event))
			if err != nil {
				t.Fatal(err)
			}
			expiry := func(ms int64) time.Time {
				after := time.Hour
				if v.Options.ExpiresAfter > 0 {
					after = time.Duration(v.Options.ExpiresAfter) * time.Second
				}
				return time.UnixMilli(ms).Add(after)
			}
			lease := v.leaseUntil()
			put := lease.Add(-30 * time.Second) // their context's remaining time
			claim := persistence.Claim{
				Key: v.Key, Owner: "ours", Fingerprint: fingerprint, Now: put, ExpiresAt: expiry(put.UnixMilli()),
				LeaseUntil: lease,
			}
			if claim.ExpiresAt.Before(lease) { // which they allow
				claim.LeaseUntil = claim.ExpiresAt
			}
			record, err := store.Acquire(t.Context(), claim)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, table.item(), asStored(t, peer, v.InProgress), v, 0)

			err = store.Complete(t.Context(), record.Lease(), persistence.Outcome{
				Status: persistence.StatusCompleted, Result: []byte(v.Result), ExpiresAt: expiry(v.DoneAt),
			})
			if v.Error != "" {
				if !errors.Is(err, persistence.ErrTooLarge) {
					t.Errorf("completed with %v; want it refused, as theirs", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			compare(t, table.item(), asStored(t, peer, v.Item), v, 1)
		})
	}
}

func (v vector) leaseUntil() time.Time {
	return time.UnixMilli(number(v.InProgress[cmp.Or(v.Options.Attributes.InProgressExpiry, "in_progress_expiration")]))
}

// compare holds an item of ours against one of theirs, which may expire some seconds
// earlier or later. JSON text may have another layout, and null is what their text is
// for all falsy results.
func compare(t *testing.T, ours, theirs map[string]any, v vector, seconds int64) {
	t.Helper()
	ours = maps.Clone(ours)
	for name := range ours {
		if strings.HasPrefix(name, "ikkai_") {
			delete(ours, name)
		}
	}
	a := v.Options.Attributes
	data, expiry, lease := cmp.Or(a.Data, "data"), cmp.Or(a.Expiry, "expiration"), cmp.Or(a.InProgressExpiry, "in_progress_expiration")
	theirs = maps.Clone(theirs)
	if difference := number(ours[expiry]) - number(theirs[expiry]); max(difference, -difference) <= seconds {
		theirs[expiry] = ours[expiry]
	}
	if v.Options.ExpiresAfter > 0 { // their lease is longer than the record lasts
		theirs[lease] = ours[lease]
	}
	if there, has := theirs[data]; has && v.Lang == "python" && sameJSON(there, ours[data]) {
		theirs[data] = ours[data]
	}
	if diff := gocmp.Diff(theirs, ours); diff != "" {
		t.Errorf("theirs - and ours +:\n%s", diff)
	}
}

// asStored returns an item as the table gives it back: with its numbers in normal form.
func asStored(t *testing.T, peer *powertools.Peer, item map[string]any) map[string]any {
	t.Helper()
	table := newTable(t, peer)
	table.put(item)
	return table.item()
}

func number(attribute any) int64 {
	n, _ := json.Number(attribute.(map[string]any)["N"].(string)).Int64()
	return n
}

func sameJSON(a, b any) bool {
	read := func(v any) (content any) {
		_ = json.Unmarshal([]byte(v.(map[string]any)["S"].(string)), &content)
		switch falsy := content.(type) {
		case string:
			if falsy == "" {
				return nil
			}
		case []any:
			if len(falsy) == 0 {
				return nil
			}
		case map[string]any:
			if len(falsy) == 0 {
				return nil
			}
		case float64:
			if falsy == 0 {
				return nil
			}
		case bool:
			if !falsy {
				return nil
			}
		}
		return content
	}
	return gocmp.Equal(read(a), read(b))
}

// What they have completed is replayed.
func TestTheirResultsAreReplayed(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Key == "" || v.Error != "" {
			continue
		}
		t.Run(v.Lang+"/"+v.Name, func(t *testing.T) {
			peer := v.peer(t)
			table := newTable(t, peer)
			table.put(v.Item)
			record, err := table.store.Acquire(t.Context(), persistence.Claim{
				Key: v.Key, Owner: "ours", Now: time.UnixMilli(v.DoneAt),
				LeaseUntil: time.UnixMilli(v.DoneAt).Add(time.Second), ExpiresAt: time.UnixMilli(v.DoneAt).Add(time.Hour),
			})
			if err != nil || record.Status != persistence.StatusCompleted {
				t.Fatalf("acquired %+v, %v", record, err)
			}
			if got, want := compact(t, record.Result), compact(t, []byte(v.Replay)); got != want {
				t.Errorf("replayed is %s, want %s", got, want)
			}
		})
	}
}

// compact sorts the members of objects, which have no order in DynamoDB.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	var content any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	sorted, _ := json.Marshal(content)
	return string(sorted)
}

// What they are working on is locked until their lease ends, and then taken over.
func TestTheirWorkInProgressIsLeftAlone(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Key == "" {
			continue
		}
		t.Run(v.Lang+"/"+v.Name, func(t *testing.T) {
			peer := v.peer(t)
			table := newTable(t, peer)
			table.put(v.InProgress)
			store, lease := table.store, v.leaseUntil()
			claim := func(now time.Time) persistence.Claim {
				return persistence.Claim{Key: v.Key, Owner: "ours", Now: now, LeaseUntil: now.Add(time.Second), ExpiresAt: now.Add(time.Hour)}
			}
			record, err := store.Acquire(t.Context(), claim(lease))
			if err != nil || record.Owner == "ours" || record.Status != persistence.StatusProcessing {
				t.Fatalf("within their lease: acquired %+v, %v", record, err)
			}
			record, err = store.Acquire(t.Context(), claim(lease.Add(time.Millisecond)))
			if err != nil || record.Owner != "ours" {
				t.Fatalf("behind their lease: acquired %+v, %v", record, err)
			}
		})
	}
}
