package storetest

import (
	"context"
	"errors"

	"github.com/ikkai-go/idempotency/persistence"
)

func contextRules() []Rule {
	return []Rule{
		rule("context/acquire", NeedsNothing,
			"A claim under a cancelled context fails with a retryable Fault that wraps the context's error, and writes nothing.",
			func(s *stage) {
				_, err := s.store.Acquire(cancelled(s.ctx), s.claim("first", start))
				s.interrupted("the claim", err)
				s.isVacant(start)
			}),
		rule("context/complete", NeedsNothing,
			"Complete under a cancelled context fails with a retryable Fault and writes nothing; the owner can try again.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.interrupted("complete", s.store.Complete(cancelled(s.ctx), first.Lease(), success("cancelled")))
				s.sees(start, first)
				s.sees(start, s.completes(first, success("paid")))
			}),
		rule("context/release", NeedsNothing,
			"Release under a cancelled context fails with a retryable Fault and changes nothing; the owner can try again.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.interrupted("release", s.store.Release(cancelled(s.ctx), first.Lease()))
				s.sees(start, first)
				s.releases(first)
				s.isVacant(start)
			}),
		rule("context/checkpoint", NeedsCheckpointer,
			"Checkpoint under a cancelled context fails with a retryable Fault and writes nothing; the owner can try again.",
			func(s *stage) {
				first := s.acquires("first", start)
				ctx := cancelled(s.ctx)
				s.interrupted("checkpoint", s.store.(persistence.Checkpointer).Checkpoint(ctx, first.Lease(), "reserve", []byte("box 0")))
				s.sees(start, first)
				s.ok("checkpoint", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
				s.sees(start, with(first, "reserve", "box 7"))
			}),
		rule("context/renew", NeedsRenewer,
			"A renewal under a cancelled context fails with a retryable Fault and changes nothing; the owner can try again.",
			func(s *stage) {
				first := s.acquires("first", start)
				end := first.LeaseUntil.Add(leaseLength)
				s.interrupted("renew", s.store.(persistence.Renewer).Renew(cancelled(s.ctx), until(first, end)))
				s.sees(start, first)
				s.sees(start, s.renews(first, end))
			}),
	}
}

func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// interrupted demands what the contract says of a call whose context is done.
func (s *stage) interrupted(what string, err error) {
	s.refused(what, err, context.Canceled)
	if fault, ok := errors.AsType[*persistence.Fault](err); !ok || !fault.Retryable {
		s.fail("%s: want a retryable persistence.Fault, got %T: %w", what, err, orNone(err))
	}
}
