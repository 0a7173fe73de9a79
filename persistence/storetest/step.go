package storetest

import "github.com/ikkai-go/idempotency/persistence"

func stepRules() []Rule {
	return []Rule{
		rule("step/kept", NeedsCheckpointer,
			"A checkpoint adds its step to those that are there.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.ok("checkpoint", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
				s.ok("checkpoint", s.checkpoint(first.Lease(), "charge", []byte("12.50")))
				s.sees(start, with(with(first, "reserve", "box 7"), "charge", "12.50"))
			}),
		rule("step/again", NeedsCheckpointer,
			"A checkpoint that is repeated is done, with a nil error. The output that came first stays, and who has another is told so by a SettledError.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.ok("checkpoint", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
				s.ok("the same again", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
				first = with(first, "reserve", "box 7")
				s.settled("another output", s.checkpoint(first.Lease(), "reserve", []byte("box 8")), first)
				s.settled("no output", s.checkpoint(first.Lease(), "reserve", nil), first)
				s.sees(start, first)
			}),
		rule("step/owner-only", NeedsCheckpointer,
			"Nobody but the owner can checkpoint: ErrLeaseLost, and the record is unchanged.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.lost("checkpoint by a stranger", s.checkpoint(s.strangersLease(), "reserve", []byte("box 0")))
				s.sees(start, first)
			}),
		rule("step/absent", NeedsCheckpointer,
			"Where there is no record, a checkpoint gives ErrLeaseLost and makes none.",
			func(s *stage) {
				s.lost("checkpoint by a stranger", s.checkpoint(s.strangersLease(), "reserve", []byte("box 0")))
				first := s.acquires("first", start)
				s.releases(first)
				s.lost("checkpoint after the release", s.checkpoint(first.Lease(), "reserve", []byte("box 0")))
				s.isVacant(start)
			}),
		rule("step/not-running", NeedsCheckpointer,
			"A record that is finished or given up takes no more steps, not even from its owner: ErrLeaseLost, with a SettledError if it is finished, and it is unchanged.",
			func(s *stage) {
				s.scene("finished", func(s *stage) {
					first := s.acquires("first", start)
					done := s.completes(first, success("paid"))
					s.settled("checkpoint", s.checkpoint(first.Lease(), "reserve", []byte("box 0")), done)
					s.sees(start, done)
				})
				s.scene("given up", func(s *stage) {
					first := s.acquires("first", start)
					left := s.givesUp(first)
					s.lost("checkpoint", s.checkpoint(first.Lease(), "charge", []byte("12.50")))
					s.lost("checkpoint of a step that is there", s.checkpoint(first.Lease(), "reserve", []byte("box 7")))
					s.lost("checkpoint of one with another output", s.checkpoint(first.Lease(), "reserve", []byte("box 8")))
					s.sees(start, left)
				})
			}),
		rule("step/invalid", NeedsCheckpointer,
			"A checkpoint with a lease that Lease.Check refuses, or of a step without a name in UTF-8 that has no NUL, is refused with ErrInvalid, and nothing is written.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.refused("checkpoint without a key", s.checkpoint(persistence.Lease{Owner: first.Owner}, "reserve", nil), persistence.ErrInvalid)
				s.refused("checkpoint without an owner", s.checkpoint(persistence.Lease{Key: s.key}, "reserve", nil), persistence.ErrInvalid)
				s.refused("checkpoint without a name", s.checkpoint(first.Lease(), "", nil), persistence.ErrInvalid)
				s.refused("checkpoint with a name that is not UTF-8", s.checkpoint(first.Lease(), "\xff", nil), persistence.ErrInvalid)
				s.refused("checkpoint with a name that has a NUL", s.checkpoint(first.Lease(), "a\x00b", nil), persistence.ErrInvalid)
				s.sees(start, first)
			}),
		rule("step/bytes", NeedsCheckpointer,
			"Names of steps are any text and outputs are any bytes; both come back as they were, also an empty output.",
			func(s *stage) {
				r := s.acquires("first", start)
				for name, output := range map[string]string{
					"reserve":         "",
					"reserve.shelf":   "null",
					"在庫を取る":           "\x00",
					"steps":           "\xff\xfe",
					"#status = :done": "<a href='?x&y'>",
					`a "quoted" name`: "\u2028",
					"two words":       "\r\n",
				} {
					s.ok("checkpoint of "+quote(name), s.checkpoint(r.Lease(), name, []byte(output)))
					r = with(r, name, output)
				}
				s.sees(start, r)
			}),
		rule("step/too-large", NeedsCheckpointer,
			"A step of 5 MB is stored whole, or refused with ErrTooLarge; then nothing has changed and the operation goes on.",
			func(s *stage) {
				first := s.acquires("first", start)
				huge := string(noise(tooLarge))
				if err := s.checkpoint(first.Lease(), "huge", []byte(huge)); err == nil {
					first = with(first, "huge", huge)
				} else {
					s.refused("checkpoint", err, persistence.ErrTooLarge)
				}
				s.sees(start, first)
				s.ok("a small checkpoint", s.checkpoint(first.Lease(), "small", []byte("box 7")))
				s.sees(start, with(first, "small", "box 7"))
			}),
	}
}
