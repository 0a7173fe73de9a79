package storetest

import (
	"errors"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

func transactionRules() []Rule {
	return []Rule{
		rule("transaction/together", NeedsLedger,
			"CompleteWith carries its writes out, each once, together with the outcome; CheckpointWith does so with the step.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.ok("checkpoint", s.reservesWith(first.Lease(), "box 7", "reserved"))
				s.entered("reserved", 1)
				first = with(first, "reserve", "box 7")
				s.ok("complete", s.completeWith(first.Lease(), success("paid"), "paid", "mailed"))
				s.entered("paid", 1)
				s.entered("mailed", 1)
				s.sees(start, completed(first, success("paid")))
			}),
		rule("transaction/none", NeedsLedger,
			"Without writes CompleteWith is Complete, CheckpointWith is Checkpoint, and Commit does nothing.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.ok("commit", s.ledger().Commit(s.ctx, nil))
				s.ok("checkpoint", s.reservesWith(first.Lease(), "box 7"))
				first = with(first, "reserve", "box 7")
				s.ok("complete", s.completeWith(first.Lease(), success("paid")))
				s.sees(start, completed(first, success("paid")))
			}),
		rule("transaction/again", NeedsLedger,
			"A transaction that is repeated is done, with a nil error, and its writes are not carried out again. Nor are those of a try that differs: a SettledError.",
			func(s *stage) {
				first := s.acquires("first", start)
				for range 2 {
					s.ok("checkpoint", s.reservesWith(first.Lease(), "box 7", "reserved"))
				}
				s.entered("reserved", 1)
				first = with(first, "reserve", "box 7")
				s.settled("another output", s.reservesWith(first.Lease(), "box 8", "reserved again"), first)
				for range 2 {
					s.ok("complete", s.completeWith(first.Lease(), success("paid"), "paid"))
				}
				s.entered("paid", 1)
				done := completed(first, success("paid"))
				s.settled("another outcome", s.completeWith(first.Lease(), failure("declined"), "declined"), done)
				s.entered("reserved again", 0)
				s.entered("declined", 0)
				s.sees(start, done)
			}),
		rule("transaction/owner-only", NeedsLedger,
			"Who does not own the record, or has lost it, commits nothing: ErrLeaseLost, and the record is unchanged.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.lost("complete by a stranger", s.completeWith(s.strangersLease(), success("stolen"), "stolen"))
				s.lost("checkpoint by a stranger", s.reservesWith(s.strangersLease(), "box 0", "stolen"))
				s.sees(start, first)
				second := s.takesOver("second", first)
				s.lost("complete by a zombie", s.completeWith(first.Lease(), success("late"), "late"))
				s.lost("checkpoint by a zombie", s.reservesWith(first.Lease(), "box 0", "late"))
				s.entered("stolen", 0)
				s.entered("late", 0)
				s.sees(stale(first), second)
			}),
		rule("transaction/refused", NeedsLedger,
			"Where one of the writes is refused, nothing is written: a RefusedError with the index of that write. The owner still owns the record.",
			func(s *stage) {
				first := s.acquires("first", start)
				l, ledger := first.Lease(), s.ledger()
				writes := []storekit.Write{ledger.Entry(s.named("paid")), ledger.Refusal()}
				s.refusedWrite("complete", ledger.CompleteWith(s.ctx, l, success("paid"), writes), 1)
				s.refusedWrite("checkpoint", ledger.CheckpointWith(s.ctx, l, "reserve", []byte("box 7"), writes), 1)
				s.refusedWrite("commit", ledger.Commit(s.ctx, writes), 1)
				s.entered("paid", 0)
				s.sees(start, first)
				s.ok("complete without it", s.completeWith(l, success("paid"), "paid"))
				s.entered("paid", 1)
			}),
		rule("transaction/foreign", NeedsLedger,
			"A write that is not in the store's terms is refused with ErrInvalid, and nothing is written.",
			func(s *stage) {
				first := s.acquires("first", start)
				ledger := s.ledger()
				writes := []storekit.Write{ledger.Entry(s.named("paid")), struct{}{}}
				s.refused("complete", ledger.CompleteWith(s.ctx, first.Lease(), success("paid"), writes), persistence.ErrInvalid)
				s.refused("commit", ledger.Commit(s.ctx, writes), persistence.ErrInvalid)
				s.entered("paid", 0)
				s.sees(start, first)
			}),
		rule("transaction/at-once", NeedsLedger,
			"CompleteAtOnce records an outcome and carries the writes out where the record is vacant. Who comes later gets that record, and its own writes are not carried out.",
			func(s *stage) {
				c := s.claim("first", start)
				done := completed(c.Fresh(), success("paid"))
				s.answered("at once", c, done, "paid")
				s.answered("the same again", c, done, "paid")
				s.answered("by another", s.claim("second", start), done, "paid by the second")
				s.entered("paid", 1)
				s.entered("paid by the second", 0)
				s.sees(start, done)
			}),
		rule("transaction/at-once-running", NeedsLedger,
			"CompleteAtOnce leaves a record alone that is running or was given up, and returns it; a claim that was acquired before is refused with ErrInvalid. Nothing is written.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.answered("by another", s.claim("second", start), first, "paid")
				_, err := s.ledger().CompleteAtOnce(s.ctx, s.claim("first", start), success("paid"), s.entries("paid"))
				s.refused("by the owner", err, persistence.ErrInvalid)
				left := s.givesUp(first)
				s.answered("of what was given up", s.claim("third", start), left, "paid")
				s.entered("paid", 0)
				s.sees(start, left)
			}),
		rule("transaction/at-once-expired", NeedsLedger,
			"CompleteAtOnce replaces an expired record.",
			func(s *stage) {
				first := s.acquires("first", start)
				c := s.claim("second", expired(first))
				o := success("paid")
				o.ExpiresAt = c.ExpiresAt
				got, err := s.ledger().CompleteAtOnce(s.ctx, c, o, s.entries("paid"))
				s.ok("at once", err)
				s.isSame("at once", completed(c.Fresh(), o), got)
				s.entered("paid", 1)
			}),
		rule("transaction/commit", NeedsLedger,
			"Commit carries writes out that belong to no record.",
			func(s *stage) {
				s.ok("commit", s.ledger().Commit(s.ctx, s.entries("one", "two")))
				s.entered("one", 1)
				s.entered("two", 1)
			}),
	}
}

func (s *stage) ledger() Ledger { return s.store.(Ledger) }

// named is a name that no other rule enters.
func (s *stage) named(name string) string { return s.key + "/" + name }

func (s *stage) entries(names ...string) []storekit.Write {
	writes := make([]storekit.Write, len(names))
	for i, name := range names {
		writes[i] = s.ledger().Entry(s.named(name))
	}
	return writes
}

func (s *stage) completeWith(l persistence.Lease, o persistence.Outcome, names ...string) error {
	return s.ledger().CompleteWith(s.ctx, l, o, s.entries(names...))
}

// reservesWith checkpoints the step "reserve", together with writes.
func (s *stage) reservesWith(l persistence.Lease, output string, names ...string) error {
	return s.ledger().CheckpointWith(s.ctx, l, "reserve", []byte(output), s.entries(names...))
}

// answered demands that completing at once is answered with a record.
func (s *stage) answered(what string, c persistence.Claim, want persistence.Record, name string) {
	got, err := s.ledger().CompleteAtOnce(s.ctx, c, success("paid"), s.entries(name))
	if err != nil {
		s.fail("%s: want a record, got: %w", what, err)
		return
	}
	if got.Steps == nil {
		got.Steps = want.Steps // of somebody else, they need not be shown
	}
	s.isSame(what, want, got)
}

func (s *stage) isSame(what string, want, got persistence.Record) {
	if diff := differences(want, got); diff != "" {
		s.fail("%s: the answer is another record:\n%s", what, diff)
	}
}

// entered demands that a write was carried out so often.
func (s *stage) entered(name string, want int) {
	got, err := s.ledger().Entries(s.ctx, s.named(name))
	switch {
	case err != nil:
		s.fail("the entries of %q: %w", name, err)
	case got != want:
		s.fail("the write of %q was carried out %d times, want %d", name, got, want)
	}
}

func (s *stage) refusedWrite(what string, err error, index int) {
	if refused, ok := errors.AsType[*persistence.RefusedError](err); !ok || refused.Index != index {
		s.fail("%s: want a persistence.RefusedError of write %d, got: %w", what, index, orNone(err))
	}
}
