package storetest

func isolationRules() []Rule {
	return []Rule{
		rule("isolation/result", NeedsNothing,
			"A store keeps no reference to the result it is given.",
			func(s *stage) {
				first := s.acquires("first", start)
				o := success("paid")
				done := s.completes(first, o)
				done.Result = []byte("paid")
				overwrite(o.Result)
				s.gets(s.claim("second", start), done)
			}),
		rule("isolation/replay", NeedsNothing,
			"Who changes the result of a replay changes nobody else's.",
			func(s *stage) {
				done := s.completes(s.acquires("first", start), success("paid"))
				for _, owner := range []string{"second", "third", "fourth"} {
					overwrite(s.gets(s.claim(owner, start), done).Result)
				}
			}),
		rule("isolation/step", NeedsCheckpointer,
			"A store keeps no reference to the output it is given.",
			func(s *stage) {
				first := s.acquires("first", start)
				output := []byte("box 7")
				s.ok("checkpoint", s.checkpoint(first.Lease(), "reserve", output))
				overwrite(output)
				s.sees(start, with(first, "reserve", "box 7"))
			}),
		rule("isolation/steps", NeedsCheckpointer,
			"Who changes the steps of a record that was returned changes nobody else's.",
			func(s *stage) {
				left := s.givesUp(s.acquires("first", start))
				for _, owner := range []string{"second", "third", "fourth"} {
					seen := s.gets(s.other(owner, start), left)
					overwrite(seen.Steps["reserve"])
					delete(seen.Steps, "reserve")
				}
			}),
	}
}

func overwrite(b []byte) {
	for i := range b {
		b[i] = 'X'
	}
}
