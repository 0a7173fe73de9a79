package storetest

import (
	"bytes"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// limitless is a room that no rule fills: a store that has more keeps all that it gets.
const limitless = 64 << 20 // bytes

func roomRules() []Rule {
	return []Rule{
		rule("room/exact", NeedsSizer,
			"A step that takes all of Room is stored, and the record can still be completed. One that takes a byte more is refused with ErrTooLarge, and nothing has changed.",
			func(s *stage) {
				first := s.acquires("first", start)
				room, limited := s.room(first.Lease())
				if !limited {
					return
				}
				s.refused("a step larger than Room", s.fills(first.Lease(), room+1), persistence.ErrTooLarge)
				s.sees(start, first)
				s.ok("a step as large as Room", s.fills(first.Lease(), room))
				first = with(first, "all", string(filling(room)))
				if left, _ := s.room(first.Lease()); left > 0 {
					s.fail("there is room for %d bytes more", left)
				}
				s.completes(first, withoutResult())
			}),
		rule("room/reserve", NeedsSizer,
			"What Lease.Reserve asks to be left free is no room for steps; a store may leave more.",
			func(s *stage) {
				first := s.acquires("first", start)
				l := first.Lease()
				room, limited := s.room(l)
				if !limited {
					return
				}
				l.Reserve = 1000
				reserved, _ := s.room(l)
				if reserved > room-l.Reserve {
					s.fail("with %d bytes reserved there is room for %d, want %d at most", l.Reserve, reserved, room-l.Reserve)
				}
				s.refused("a step that takes of the reserve", s.fills(l, reserved+1), persistence.ErrTooLarge)
				l.Reserve = room
				s.refused("a step where all is reserved", s.checkpoint(l, "a", nil), persistence.ErrTooLarge)
				s.sees(start, first)
			}),
	}
}

func (s *stage) room(l persistence.Lease) (room int, limited bool) {
	room = s.store.(storekit.Sizer).Room(l)
	return room, room < limitless
}

// fills checkpoints a step that takes so many bytes.
func (s *stage) fills(l persistence.Lease, size int) error {
	return s.checkpoint(l, "all", filling(size))
}

// filling is the output of a step named "all" which takes so many bytes in all.
func filling(size int) []byte {
	return bytes.Repeat([]byte("x"), size-len("all")-storekit.StepOverhead)
}
