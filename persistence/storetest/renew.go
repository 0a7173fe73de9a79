package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

func renewRules() []Rule {
	return []Rule{
		rule("renew/moves-on", NeedsRenewer,
			"A renewal moves the end of the lease on, and nothing else: nobody takes the record over before.",
			func(s *stage) {
				first := s.acquires("first", start)
				renewed := s.renews(first, first.LeaseUntil.Add(leaseLength))
				s.gets(s.claim("second", stale(first)), renewed)
				s.sees(renewed.LeaseUntil, renewed)
				s.wins(s.claim("third", renewed.LeaseUntil.Add(time.Millisecond)))
			}),
		rule("renew/again", NeedsRenewer,
			"A renewal that is repeated is done, with a nil error, and changes nothing.",
			func(s *stage) {
				first := s.acquires("first", start)
				renewed := s.renews(first, first.LeaseUntil.Add(leaseLength))
				s.renews(first, first.LeaseUntil.Add(leaseLength))
				s.sees(start, renewed)
			}),
		rule("renew/never-back", NeedsRenewer,
			"Neither the lease nor the expiry is moved back: a renewal that is late, or asks for less, is done, with a nil error, and changes nothing.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.ok("a renewal that asks for less", s.renew(until(first, start.Add(time.Second))))
				s.sees(start, first)
				renewed := s.renews(first, first.ExpiresAt.Add(leaseLength))
				s.ok("an earlier renewal, late", s.renew(until(first, first.LeaseUntil.Add(leaseLength))))
				s.sees(start, renewed)
				s.ok("one that knows of no expiry", s.renew(persistence.Lease{Key: s.key, Owner: first.Owner, Until: renewed.LeaseUntil}))
				s.sees(start, renewed)
			}),
		rule("renew/expiry-later", NeedsRenewer,
			"A renewal moves the expiry to where the lease says, so that a record can outlive a run that takes long; an expiry that is later stays.",
			func(s *stage) {
				first := s.acquires("first", start)
				l := until(first, first.LeaseUntil.Add(leaseLength))
				l.ExpiresAt = first.ExpiresAt.Add(time.Hour)
				s.ok("renew", s.renew(l))
				later := l.Renewed(first)
				s.sees(start, later)
				s.ok("a renewal that knows of an earlier expiry", s.renew(until(first, first.LeaseUntil.Add(2*leaseLength))))
				s.sees(start, until(first, first.LeaseUntil.Add(2*leaseLength)).Renewed(later))
			}),
		rule("renew/expiry-follows", NeedsRenewer,
			"A record does not expire before its lease: a renewal moves the expiry along, to the whole second.",
			func(s *stage) {
				first := s.acquires("first", start)
				renewed := s.renews(first, first.ExpiresAt.Add(leaseLength))
				s.gets(s.claim("second", renewed.LeaseUntil), renewed)
				second := s.claim("third", renewed.LeaseUntil.Add(time.Millisecond))
				s.gets(second, second.TakeOver(renewed))
			}),
		rule("renew/ended", NeedsRenewer,
			"A lease that is over can be renewed as long as nobody has taken the record over.",
			func(s *stage) {
				first := s.acquires("first", start)
				renewed := s.renews(first, stale(first).Add(leaseLength))
				s.gets(s.claim("second", stale(first)), renewed)
			}),
		rule("renew/owner-only", NeedsRenewer,
			"Nobody but the owner can renew: ErrLeaseLost, and the record is unchanged.",
			func(s *stage) {
				first := s.acquires("first", start)
				l := s.strangersLease()
				l.Until = first.LeaseUntil.Add(leaseLength)
				s.lost("renewal by a stranger", s.renew(l))
				s.sees(start, first)
			}),
		rule("renew/absent", NeedsRenewer,
			"Where there is no record, a renewal gives ErrLeaseLost and makes none.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.releases(first)
				s.lost("renewal after the release", s.renew(until(first, first.LeaseUntil.Add(leaseLength))))
				s.isVacant(start)
			}),
		rule("renew/finished", NeedsRenewer,
			"A finished record has no lease to renew: ErrLeaseLost for its owner, and it is unchanged.",
			func(s *stage) {
				first := s.acquires("first", start)
				done := s.completes(first, success("paid"))
				s.lost("renewal", s.renew(until(first, first.ExpiresAt.Add(leaseLength))))
				s.sees(start, done)
			}),
		rule("renew/given-up", NeedsCheckpointer,
			"A record that was given up has no lease to renew: ErrLeaseLost for its last owner, and it is unchanged.",
			func(s *stage) {
				first := s.acquires("first", start)
				left := s.givesUp(first)
				s.lost("renewal", s.renew(until(first, first.LeaseUntil.Add(leaseLength))))
				s.sees(start, left)
			}),
		rule("renew/zombie", NeedsRenewer,
			"Who has lost a record can't renew its lease, before or after the new owner finishes: ErrLeaseLost, and the record is unchanged.",
			func(s *stage) {
				s.outlived(func(s *stage, zombie persistence.Lease) error {
					zombie.Until = expired(s.claim("", start).Fresh()).Add(recordLength)
					return s.renew(zombie)
				})
			}),
		rule("renew/invalid", NeedsRenewer,
			"A renewal without an end, or with a lease that Lease.Check refuses, is refused with ErrInvalid, and nothing is written.",
			func(s *stage) {
				first := s.acquires("first", start)
				end := first.LeaseUntil.Add(leaseLength)
				s.refused("renewal without an end", s.renew(first.Lease()), persistence.ErrInvalid)
				s.refused("renewal without a key", s.renew(persistence.Lease{Owner: first.Owner, Until: end}), persistence.ErrInvalid)
				s.refused("renewal without an owner", s.renew(persistence.Lease{Key: s.key, Until: end}), persistence.ErrInvalid)
				s.sees(start, first)
			}),
		rule("renew/endless", NeedsPlanter,
			"A lease without an end gets none by a renewal, and a record that does not expire stays so.",
			func(s *stage) {
				endless := s.claim("first", start).Fresh()
				endless.LeaseUntil = time.Time{}
				s.plants(endless)
				endless = s.renews(endless, endless.ExpiresAt.Add(leaseLength))
				s.sees(start, endless)
				endless.ExpiresAt = time.Time{}
				s.plants(endless)
				s.ok("renew", s.renew(until(endless, start.Add(leaseLength))))
				s.sees(start, endless)
			}),
		rule("renew/checkpoint", NeedsCheckpointer,
			"A checkpoint renews where its lease says so, also where the step was there before, and not otherwise.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.ok("a renewal that asks for less", s.renew(until(first, start.Add(time.Second))))
				s.ok("a checkpoint that renews nothing", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
				r := with(first, "reserve", "box 7")
				s.sees(start, r)
				l := until(first, first.LeaseUntil.Add(leaseLength))
				s.ok("a checkpoint that renews", s.checkpoint(l, "charge", []byte("12.50")))
				r = l.Renewed(with(r, "charge", "12.50"))
				s.sees(start, r)
				l.Until = first.ExpiresAt.Add(leaseLength)
				s.ok("a repeated checkpoint that renews", s.checkpoint(l, "charge", []byte("12.50")))
				r = l.Renewed(r)
				s.sees(start, r)
				l.Until = start.Add(time.Second)
				s.ok("a checkpoint that asks for less", s.checkpoint(l, "send", []byte("sent")))
				s.sees(start, with(r, "send", "sent"))
			}),
		rule("race/renew", NeedsRenewer,
			"A late owner that renews while another claim takes over: exactly one of them succeeds.",
			func(s *stage) { s.meetings(renewWhileTakenOver) }),
	}
}

func renewWhileTakenOver(s *stage, meet func(owner, other func())) {
	first := s.acquires("first", start)
	c := s.claim("second", stale(first))
	l := until(first, stale(first).Add(leaseLength))
	var (
		answer              persistence.Record
		acquiring, renewing error
	)
	meet(
		func() { renewing = s.renew(l) },
		func() { answer, acquiring = s.store.Acquire(s.ctx, c) },
	)
	s.ok("the claim of "+c.Owner, acquiring)
	if answer.Owner == c.Owner {
		s.lost("renewal, although the record was taken over", renewing)
		s.sees(c.Now, answer)
	} else {
		s.ok("renewal, and nobody has taken the record over", renewing)
		s.sees(c.Now, l.Renewed(first))
	}
}

// renews demands that the owner of r can renew its lease, and returns what the record
// then is.
func (s *stage) renews(r persistence.Record, end time.Time) persistence.Record {
	l := until(r, end)
	s.ok("renewal by "+r.Owner, s.renew(l))
	return l.Renewed(r)
}

// renew renews. A rule that needs something else as well is not applicable to a store that
// is no Renewer.
func (s *stage) renew(l persistence.Lease) error {
	store, ok := s.store.(persistence.Renewer)
	if !ok {
		return fmt.Errorf("%w: %T is no %v", errors.ErrUnsupported, s.store, NeedsRenewer)
	}
	return store.Renew(s.ctx, l)
}

// until is the lease of r that asks for a renewal.
func until(r persistence.Record, end time.Time) persistence.Lease {
	l := r.Lease()
	l.Until = end
	return l
}
