package storetest

import "github.com/ikkai-go/idempotency/persistence"

func readRules() []Rule {
	return []Rule{
		rule("read/absent", NeedsReader,
			"Where there is no record, Read finds none, with a nil error, and makes none.",
			func(s *stage) {
				if r, found := s.reads(); found {
					s.fail("want no record, found %+v", r)
				}
				s.isVacant(start)
			}),
		rule("read/running", NeedsReader,
			"Read shows a running record as Acquire wrote it, or, behind the times, none. It claims nothing.",
			func(s *stage) {
				first := s.acquires("first", start)
				s.finds(first)
				s.sees(start, first)
			}),
		rule("read/finished", NeedsReader,
			"Read shows a finished record as Complete wrote it. An answer may be behind the times; of 100, one is not.",
			func(s *stage) {
				done := s.completes(s.acquires("first", start), success("paid"))
				for range 100 {
					if r, found := s.reads(); found && r.Status.Finished() {
						overwrite(r.Result)
						s.finds(done)
						return
					}
				}
				s.fail("want the finished record, found none in 100 tries")
			}),
	}
}

func (s *stage) reads() (persistence.Record, bool) {
	r, found, err := s.store.(persistence.Reader).Read(s.ctx, s.key)
	s.ok("read", err)
	return r, found
}

// finds demands that what Read shows, if anything, is a record.
func (s *stage) finds(want persistence.Record) {
	got, found := s.reads()
	if !found {
		return
	}
	if diff := differences(want, got); diff != "" {
		s.fail("read shows another record:\n%s", diff)
	}
}
