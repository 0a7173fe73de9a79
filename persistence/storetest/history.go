package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// Compare plays random histories, each on a key of its own, on a store and on a
// [persistence.Memory], and demands the same answers. It finds what no rule is about. The
// seed makes a run repeatable; a history that differs is told call by call.
func Compare(t *testing.T, store persistence.Store, histories int, seed uint64) {
	t.Helper()
	for i := range histories {
		h := &history{
			stage:  newStage(t.Context(), store, "history"),
			memory: persistence.NewMemory(),
			dice:   rand.New(rand.NewPCG(seed, uint64(i))),
			now:    start,
		}
		if err := h.play(); err != nil {
			t.Errorf("history %d of seed %d: %v\nAll calls:\n\t%s", i, seed, err, strings.Join(h.told, "\n\t"))
			return
		}
	}
}

// historyCalls is how many calls a history has.
const historyCalls = 30

type history struct {
	*stage
	memory *persistence.Memory
	dice   *rand.Rand
	now    time.Time
	owners []string
	last   persistence.Claim
	told   []string
}

func (h *history) play() error {
	h.acquire()
	for range historyCalls {
		if h.err != nil {
			break
		}
		switch h.dice.IntN(8) {
		case 0, 1, 2:
			h.acquire()
		case 3:
			o := h.outcome()
			l := h.lease()
			h.answers(fmt.Sprintf("complete by %s: %s %q, omitted: %t, until %s", l.Owner, o.Status, o.Result, o.ResultOmitted, clock(o.ExpiresAt)),
				h.memory.Complete(h.ctx, l, o), h.store.Complete(h.ctx, l, o))
		case 4:
			l := h.lease()
			h.answers("release by "+l.Owner, h.memory.Release(h.ctx, l), h.store.Release(h.ctx, l))
		case 5, 6:
			h.checkpoint()
		default:
			h.renew()
		}
	}
	return h.err
}

// acquire claims at a time that mostly goes on, and is now and then that of a slow clock; or it
// repeats the last claim.
func (h *history) acquire() {
	steps := []time.Duration{0, time.Second, leaseLength, leaseLength + time.Second, recordLength, recordLength + 2*time.Second, -time.Second}
	h.now = h.now.Add(steps[h.dice.IntN(len(steps))])
	c := h.last
	if len(h.owners) == 0 || h.dice.IntN(4) > 0 {
		c = h.claim(fmt.Sprint("owner", len(h.owners)), h.now)
		c.Fingerprint = []string{"", "A", "A", "B"}[h.dice.IntN(4)]
		c.RefuseUnknown = h.dice.IntN(4) == 0
		h.owners = append(h.owners, c.Owner)
		h.last = c
	}
	what := fmt.Sprintf("claim of %s at %s, fingerprint %q, refusing: %t", c.Owner, clock(c.Now), c.Fingerprint, c.RefuseUnknown)
	want, wrong := h.memory.Acquire(h.ctx, c)
	got, err := h.store.Acquire(h.ctx, c)
	h.answers(what, wrong, err)
	if err == nil {
		if diff := differences(want, h.revealed(c, want, got)); diff != "" {
			h.fail("%s: another record:\n%s", what, diff)
		}
	}
}

func (h *history) checkpoint() {
	store, ok := h.store.(persistence.Checkpointer)
	if !ok {
		return
	}
	l := h.lease()
	step, output := []string{"a", "b", "c.d"}[h.dice.IntN(3)], []byte([]string{"", "1", "\xff"}[h.dice.IntN(3)])
	what := fmt.Sprintf("checkpoint by %s, until %s: %s = %q", l.Owner, clock(l.Until), step, output)
	err := store.Checkpoint(h.ctx, l, step, output)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	h.answers(what, h.memory.Checkpoint(h.ctx, l, step, output), err)
}

func (h *history) renew() {
	store, ok := h.store.(persistence.Renewer)
	if !ok {
		return
	}
	l := h.lease()
	err := store.Renew(h.ctx, l)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	h.answers(fmt.Sprintf("renewal by %s, until %s and %s", l.Owner, clock(l.Until), clock(l.ExpiresAt)), h.memory.Renew(h.ctx, l), err)
}

// lease is that of somebody who has been there, or of nobody, and knows the record's steps, or
// does not.
func (h *history) lease() persistence.Lease {
	l := persistence.Lease{Key: h.key, Owner: h.owners[len(h.owners)-1-h.dice.IntN(min(3, len(h.owners)))]}
	if _, renews := h.store.(persistence.Renewer); renews && h.dice.IntN(2) == 0 {
		l.Until = h.now.Add([]time.Duration{time.Second, 2 * leaseLength, recordLength + leaseLength}[h.dice.IntN(3)]).Truncate(time.Millisecond)
	}
	if h.dice.IntN(2) == 0 {
		l.ExpiresAt = h.now.Add(2 * recordLength).Truncate(time.Second)
	}
	if r, found, _ := h.memory.Read(h.ctx, h.key); found && r.Owner == l.Owner {
		l.Fingerprint = r.Fingerprint
		if h.dice.IntN(2) == 0 {
			l.Steps = r.Steps
		}
	}
	return l
}

func (h *history) outcome() persistence.Outcome {
	o := persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte([]string{"", "paid", "paid", "\xff"}[h.dice.IntN(4)])}
	if h.dice.IntN(3) == 0 {
		o.Status = persistence.StatusFailed
	}
	o.ResultOmitted = h.dice.IntN(5) == 0
	if h.dice.IntN(5) > 0 {
		o.ExpiresAt = h.now.Add(recordLength).Truncate(time.Second)
	}
	return o
}

// answers demands that both stores have answered a call alike.
func (h *history) answers(what string, want, got error) {
	h.told = append(h.told, fmt.Sprintf("%s → %v", what, want))
	settled, told := errors.AsType[*persistence.SettledError](want)
	other, alike := errors.AsType[*persistence.SettledError](got)
	switch {
	case told != alike, kindOf(want) != kindOf(got):
		h.fail("%s: want %w, got %w", what, orNone(want), orNone(got))
	case told:
		if diff := differences(settled.Record, other.Record); diff != "" {
			h.fail("%s: told of another record:\n%s", what, diff)
		}
	}
}

// kindOf is which of the contract's errors an error is.
func kindOf(err error) error {
	for _, kind := range []error{persistence.ErrLeaseLost, persistence.ErrInvalid, persistence.ErrTooLarge, context.Canceled} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	if err == nil {
		return nil
	}
	if _, told := errors.AsType[*persistence.SettledError](err); told {
		return errNone
	}
	return errors.ErrUnsupported
}
