package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/sealed"
	"github.com/ikkai-go/idempotency/persistence/storekit"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

func TestTheContractIsKept(t *testing.T) {
	for _, tt := range []struct {
		name string
		open func(t *testing.T) persistence.Store
	}{
		{"in memory", func(t *testing.T) persistence.Store {
			return front(t, persistence.NewMemory(), aes(t, key("a")), sealed.Config{})
		}},
		{"in DynamoDB", func(t *testing.T) persistence.Store {
			return front(t, table(t), aes(t, key("a")), sealed.Config{})
		}},
		{"with data keys", func(t *testing.T) persistence.Store {
			return front(t, persistence.NewMemory(), sealed.NewEnvelope(newService()), sealed.Config{})
		}},
		{"a cache in front", func(t *testing.T) persistence.Store {
			return cached.New(front(t, persistence.NewMemory(), aes(t, key("a")), sealed.Config{}), cached.Limits{})
		}},
		{"a cache behind", func(t *testing.T) persistence.Store {
			return front(t, cached.New(persistence.NewMemory(), cached.Limits{}), aes(t, key("a")), sealed.Config{})
		}},
		{"a store without other abilities", func(t *testing.T) persistence.Store {
			return front(t, plain{persistence.NewMemory()}, aes(t, key("a")), sealed.Config{})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { storetest.Run(t, tt.open) })
	}
}

// plain hides every ability of a store but those of Store.
type plain struct{ persistence.Store }

// glass shows all that it is handed, and does nothing.
type glass struct {
	*dynamostore.Store
	seen strings.Builder
}

func (g *glass) see(v ...any) { fmt.Fprintf(&g.seen, "%q\n", v) }

func (g *glass) HoldsEnvelopes() bool { return true }

func (g *glass) Acquire(_ context.Context, c persistence.Claim) (persistence.Record, error) {
	return c.Fresh(), nil
}

func (g *glass) Complete(_ context.Context, l persistence.Lease, o persistence.Outcome) error {
	g.see(l, o)
	return nil
}

func (g *glass) Release(_ context.Context, l persistence.Lease) error {
	g.see(l)
	return nil
}

func (g *glass) Checkpoint(_ context.Context, l persistence.Lease, step string, output []byte) error {
	g.see(l, step, output)
	return nil
}

func (g *glass) Room(l persistence.Lease) int {
	g.see(l)
	return 0
}

func (g *glass) CompleteWith(_ context.Context, l persistence.Lease, o persistence.Outcome, _ []storekit.Write) error {
	g.see(l, o)
	return nil
}

func (g *glass) CheckpointWith(_ context.Context, l persistence.Lease, step string, output []byte, _ []storekit.Write) error {
	g.see(l, step, output)
	return nil
}

func (g *glass) CompleteAtOnce(_ context.Context, c persistence.Claim, o persistence.Outcome, _ []storekit.Write) (persistence.Record, error) {
	g.see(c, o)
	return o.Of(c.Fresh().Lease()), nil
}

func TestNothingReachesTheStoreInTheClear(t *testing.T) {
	const secret = "4111-1111-1111-1111"
	lease := claim("owner").Fresh().Lease()
	lease.Steps = map[string][]byte{"charge": []byte(secret)}
	omitted := completed(secret)
	omitted.ResultOmitted = true
	for name, call := range map[string]func(*sealed.Store) error{
		"Complete":         func(s *sealed.Store) error { return s.Complete(t.Context(), lease, completed(secret)) },
		"Complete omitted": func(s *sealed.Store) error { return s.Complete(t.Context(), lease, omitted) },
		"Release":          func(s *sealed.Store) error { return s.Release(t.Context(), lease) },
		"Checkpoint":       func(s *sealed.Store) error { return s.Checkpoint(t.Context(), lease, "next", []byte(secret)) },
		"Room": func(s *sealed.Store) error {
			s.Room(lease)
			return nil
		},
		"CompleteWith": func(s *sealed.Store) error { return s.CompleteWith(t.Context(), lease, completed(secret), nil) },
		"CheckpointWith": func(s *sealed.Store) error {
			return s.CheckpointWith(t.Context(), lease, "next", []byte(secret), nil)
		},
		"CompleteAtOnce": func(s *sealed.Store) error {
			r, err := s.CompleteAtOnce(t.Context(), claim("owner"), completed(secret), nil)
			if string(r.Result) != secret {
				return fmt.Errorf("want the result, got %q, %w", r.Result, err)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := new(glass)
			ok(t, call(front(t, g, aes(t, key("a")), sealed.Config{})))
			if seen := g.seen.String(); seen == "" || strings.Contains(seen, secret) {
				t.Errorf("the store has seen: %s", seen)
			}
		})
	}
}

func TestAResultOpensInItsOwnRecordOnly(t *testing.T) {
	behind := persistence.NewMemory()
	store := front(t, behind, aes(t, key("a")), sealed.Config{})
	ok(t, store.Complete(t.Context(), acquire(t, store, claim("owner")), completed("paid")))
	original := behind.Records()[0]
	for name, move := range map[string]func(*persistence.Record){
		"another key":    func(r *persistence.Record) { r.Key = "payment#2" },
		"another owner":  func(r *persistence.Record) { r.Owner = "other" },
		"another status": func(r *persistence.Record) { r.Status = persistence.StatusFailed },
		"a step": func(r *persistence.Record) {
			r.Status, r.Steps, r.Result = persistence.StatusPartial, map[string][]byte{"charge": r.Result}, nil
		},
		"changed": func(r *persistence.Record) { r.Result[len(r.Result)-1] ^= 1 },
		"empty":   func(r *persistence.Record) { r.Result = nil },
		"plain":   func(r *persistence.Record) { r.Result = []byte("paid") },
		"later":   func(r *persistence.Record) { r.Result = storekit.Envelope("sealed/2", []byte("paid")) },
		"in another envelope": func(r *persistence.Record) {
			r.Result = storekit.Envelope("overflow/1", []byte("paid"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			moved := original.Clone()
			move(&moved)
			behind.Put(moved)
			c := claim("reader")
			c.Key = moved.Key
			r, err := store.Acquire(t.Context(), c)
			if !errors.Is(err, persistence.ErrUnreadable) || persistence.Retryable(err) {
				t.Errorf("want ErrUnreadable for good, got %+v, %v", r, err)
			}
		})
	}
}

func TestAnOutputOpensInItsOwnStepOnly(t *testing.T) {
	behind := persistence.NewMemory()
	store := front(t, behind, aes(t, key("a")), sealed.Config{})
	lease := acquire(t, store, claim("first"))
	ok(t, store.Checkpoint(t.Context(), lease, "reserve", []byte("box 7")))
	ok(t, store.Release(t.Context(), lease))
	original := behind.Records()[0]
	for name, move := range map[string]func(*persistence.Record){
		"another key":  func(r *persistence.Record) { r.Key = "payment#2" },
		"another step": func(r *persistence.Record) { r.Steps = map[string][]byte{"charge": r.Steps["reserve"]} },
		"plain":        func(r *persistence.Record) { r.Steps["reserve"] = []byte("box 8") },
	} {
		t.Run(name, func(t *testing.T) {
			moved := original.Clone()
			move(&moved)
			behind.Put(moved)
			c := claim("second")
			c.Key = moved.Key
			if r, err := store.Acquire(t.Context(), c); !errors.Is(err, persistence.ErrUnreadable) || persistence.Retryable(err) {
				t.Fatalf("want ErrUnreadable for good, got %+v, %v", r, err)
			}
			left, _, err := behind.Read(t.Context(), moved.Key)
			if err != nil || left.Status != persistence.StatusPartial || len(left.Steps) != 1 {
				t.Errorf("want the record to be given up with its step, got %+v, %v", left, err)
			}
		})
	}
	behind.Put(original)
	if r, err := store.Acquire(t.Context(), late("second")); err != nil || string(r.Steps["reserve"]) != "box 7" {
		t.Errorf("want the step, got %+v, %v", r, err)
	}
}

func TestValuesFromBeforeAreReplayedWhereThatIsAccepted(t *testing.T) {
	behind := persistence.NewMemory()
	ok(t, behind.Complete(t.Context(), acquire(t, behind, claim("before")), completed("paid")))
	strict := front(t, behind, aes(t, key("a")), sealed.Config{})
	if r, err := strict.Acquire(t.Context(), claim("after")); !errors.Is(err, sealed.ErrNotSealed) {
		t.Errorf("want ErrNotSealed, got %+v, %v", r, err)
	}
	lenient := front(t, behind, aes(t, key("a")), sealed.Config{Unsealed: sealed.AcceptUnsealed})
	if r, err := lenient.Acquire(t.Context(), claim("after")); err != nil || string(r.Result) != "paid" {
		t.Errorf("want the result, got %+v, %v", r, err)
	}
	forged := behind.Records()[0]
	forged.Result = storekit.Envelope("sealed/1", []byte("paid"))
	behind.Put(forged)
	if r, err := lenient.Acquire(t.Context(), claim("after")); !errors.Is(err, persistence.ErrUnreadable) {
		t.Errorf("want no forgery to be accepted, got %+v, %v", r, err)
	}
}

func TestAnOmittedResultStaysOne(t *testing.T) {
	store := front(t, persistence.NewMemory(), aes(t, key("a")), sealed.Config{})
	lease := acquire(t, store, claim("owner"))
	o := completed("")
	o.ResultOmitted = true
	ok(t, store.Complete(t.Context(), lease, o))
	if r, err := store.Acquire(t.Context(), claim("duplicate")); err != nil || !r.ResultOmitted {
		t.Errorf("want an omitted result, got %+v, %v", r, err)
	}
}

func TestASealerOutOfReachStopsEverything(t *testing.T) {
	keys, behind := newService(), persistence.NewMemory()
	store := front(t, behind, sealed.NewEnvelope(keys), sealed.Config{})
	ok(t, store.Complete(t.Context(), acquire(t, store, claim("owner")), completed("paid")))
	for _, tt := range []struct {
		down      error
		retryable bool
	}{
		{errors.New("connection refused"), true},
		{&persistence.Fault{Op: "unwrap", Err: errors.New("AccessDeniedException")}, false},
	} {
		keys.down = tt.down
		_, err := store.Acquire(t.Context(), claim("duplicate"))
		if !errors.Is(err, persistence.ErrUnreadable) || !errors.Is(err, tt.down) || persistence.Retryable(err) != tt.retryable {
			t.Errorf("acquire: want ErrUnreadable, retryable %t; got %v", tt.retryable, err)
		}
		other := claim("owner")
		other.Key = fmt.Sprint("payment#", tt.retryable)
		lease := acquire(t, store, other)
		if err := store.Complete(t.Context(), lease, completed("paid")); !errors.Is(err, persistence.ErrTooLarge) || !errors.Is(err, tt.down) {
			t.Errorf("complete: want ErrTooLarge and why, got %v", err)
		}
		err = store.Checkpoint(t.Context(), lease, "charge", []byte("12.50"))
		if _, fault := errors.AsType[*persistence.Fault](err); !fault || persistence.Retryable(err) != tt.retryable {
			t.Errorf("checkpoint: want a Fault, retryable %t; got %v", tt.retryable, err)
		}
		err = store.CheckpointWith(t.Context(), lease, "charge", []byte("12.50"), []storekit.Write{"a write"})
		if fault, ok := errors.AsType[*persistence.Fault](err); !ok || !fault.Unwritten || fault.Retryable != tt.retryable {
			t.Errorf("checkpoint with a write: want a Fault of which nothing was written, got %v", err)
		}
		if r, _, err := behind.Read(t.Context(), other.Key); err != nil || r.Status != persistence.StatusProcessing || len(r.Steps) > 0 {
			t.Errorf("want nothing to be written, got %+v, %v", r, err)
		}
	}
}

func TestAHangingSealerLeavesTimeForTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := newService()
		store := front(t, persistence.NewMemory(), sealed.NewEnvelope(keys), sealed.Config{})
		lease := acquire(t, store, claim("owner"))
		keys.hang = func(ctx context.Context) { <-ctx.Done() }
		for _, tt := range []struct{ left, want time.Duration }{
			{time.Hour, 2 * time.Second},
			{time.Second, 500 * time.Millisecond},
		} {
			started := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), tt.left)
			err := store.Complete(ctx, lease, completed("paid"))
			cancel()
			if took := time.Since(started); took != tt.want || !errors.Is(err, persistence.ErrTooLarge) {
				t.Errorf("with %v left: want to give up after %v, took %v: %v", tt.left, tt.want, took, err)
			}
		}
	})
}

// Where the time is over before a value is sealed, the store behind was not asked, and
// the writes were not carried out.
func TestWhatCouldNotBeSealedInTimeIsUnwritten(t *testing.T) {
	store := front(t, table(t), sealed.NewEnvelope(newService()), sealed.Config{})
	lease := acquire(t, store, claim("owner"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, writes := range [][]storekit.Write{nil, {"a write"}} {
		for name, call := range map[string]func() error{
			"complete": func() error { return store.CompleteWith(over, lease, completed("paid"), writes) },
			"complete at once": func() error {
				_, err := store.CompleteAtOnce(over, claim("owner"), completed("paid"), writes)
				return err
			},
			"checkpoint": func() error { return store.CheckpointWith(over, lease, "charge", nil, writes) },
		} {
			fault, ok := errors.AsType[*persistence.Fault](call())
			if !ok || !fault.Retryable || fault.Unwritten != (len(writes) > 0) {
				t.Errorf("%s with %d writes: got %+v", name, len(writes), fault)
			}
		}
	}
}

// What a lease has reserved is there afterwards, although each value grows when sealed.
func TestTheReserveHoldsForSealedSteps(t *testing.T) {
	for name, sealer := range sealers(t) {
		t.Run(name, func(t *testing.T) {
			store := front(t, table(t), sealer, sealed.Config{})
			lease := acquire(t, store, claim("owner"))
			lease.Steps = make(map[string][]byte)
			keep := func(step string, output []byte) error {
				err := store.Checkpoint(t.Context(), lease, step, output)
				if err == nil {
					lease.Steps[step] = output
				}
				return err
			}
			const entries, size = 20, 64 // bytes, name included
			lease.Reserve = entries * size
			for i, output := 0, 300<<10; output > 0; i++ { // until hardly a byte is left
				if err := keep(fmt.Sprint("filling ", i), make([]byte, output)); errors.Is(err, persistence.ErrTooLarge) {
					output /= 2
				} else {
					ok(t, err)
				}
			}
			if room := store.Room(lease); room > sealer.Overhead()+100 {
				t.Errorf("want room for hardly anything, got %d bytes", room)
			}
			lease.Reserve = 0
			for i := range entries {
				step := fmt.Sprintf("reserved %2d", i)
				if err := keep(step, make([]byte, size-len(step)-storekit.StepOverhead)); err != nil {
					t.Fatalf("%s: %v", step, err)
				}
			}
		})
	}
}

func TestTransactionsAreSealedToo(t *testing.T) {
	behind := table(t)
	store := front(t, behind, aes(t, key("a")), sealed.Config{})
	put := func(id string) []storekit.Write {
		return []storekit.Write{dynamostore.Write{Put: &types.Put{
			TableName: aws.String("idempotency"),
			Item:      map[string]types.AttributeValue{"idempotency_key": &types.AttributeValueMemberS{Value: id}},
		}}}
	}
	lease := acquire(t, store, claim("owner"))
	ok(t, store.CheckpointWith(t.Context(), lease, "charge", []byte("12.50"), put("a")))
	r, err := store.Acquire(t.Context(), claim("owner"))
	if err != nil || string(r.Steps["charge"]) != "12.50" {
		t.Errorf("want the step, got %+v, %v", r, err)
	}
	ok(t, store.CompleteWith(t.Context(), r.Lease(), completed("paid"), put("b")))
	for _, owner := range []string{"duplicate", "owner"} {
		r, err := store.CompleteAtOnce(t.Context(), claim(owner), completed("another"), put("c"))
		if err != nil || r.Owner != "owner" || string(r.Result) != "paid" {
			t.Errorf("%s: want the first result, got %+v, %v", owner, r, err)
		}
	}
	raw, _, err := behind.Read(t.Context(), claim("").Key)
	if err != nil || bytes.Contains(raw.Result, []byte("paid")) {
		t.Errorf("the result shows in the table: %q, %v", raw.Result, err)
	}
}

func TestConfigsAreChecked(t *testing.T) {
	memory, sealer := persistence.NewMemory(), aes(t, key("a"))
	for _, config := range []sealed.Config{{Unsealed: 2}, {Timeout: -1}} {
		if _, err := sealed.New(memory, sealer, config); !errors.Is(err, sealed.ErrConfig) {
			t.Errorf("%+v: want ErrConfig, got %v", config, err)
		}
	}
	if _, err := sealed.New(nil, sealer, sealed.Config{}); !errors.Is(err, sealed.ErrConfig) {
		t.Errorf("no store: want ErrConfig, got %v", err)
	}
	if _, err := sealed.New(memory, nil, sealed.Config{}); !errors.Is(err, sealed.ErrConfig) {
		t.Errorf("no sealer: want ErrConfig, got %v", err)
	}
}
