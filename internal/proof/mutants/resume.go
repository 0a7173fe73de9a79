package main

// What keeps a request that is resumed without its client from being done twice, or by somebody
// else than it was for.
var resumeMutants = []mutant{
	{
		name:   "a kept event is run under another key",
		file:   "idempotent/resume.go",
		old:    `return g.config.KeepEvent || strings.HasPrefix(want, g.config.Operation+"#")`,
		new:    "return strings.HasSuffix(want, g.config.Operation) // never",
		caught: []test{{"persistence/records", "TestAFunctionWithAnotherKeyRefusesWhatIsToBeResumed"}, {"functions/resume", "TestWhatNoSweepCanEndIsToldOnce"}},
	},
	{
		name:   "a function that is resumed may call no other operation",
		file:   "idempotent/resume.go",
		old:    `return g.config.KeepEvent || strings.HasPrefix(want, g.config.Operation+"#")`,
		new:    "return strings.Contains(want, \"#\")",
		caught: []test{{"idempotent", "TestAResumedFunctionMayCallOtherOperations"}},
	},
	{
		name:   "the kept event has what signs its client in",
		file:   "idempotent/httpguard/keep.go",
		old:    "if signing[http.CanonicalHeaderKey(name)] {",
		new:    "if signing[name+http.MethodPost] {",
		caught: []test{{"idempotent/httpguard", "TestTheEventThatIsKeptIsTheSameRequestWithoutWhatSignsItIn"}},
	},
	{
		name:   "an event is kept whose owner is another one without what signs it in",
		file:   "idempotent/httpguard/keep.go",
		old:    "if err != nil || again.Request() != id.Request() {",
		new:    "if err != nil && again.Request() != id.Request() && event == nil {",
		caught: []test{{"idempotent/httpguard", "TestAnEventOfWhichTheOwnerWouldBeAnotherIsNotKept"}},
	},
	{
		name:   "a kept message has the right to delete it",
		file:   "idempotent/eventguard/sqs.go",
		old:    "	message.ReceiptHandle = \"\"\n",
		new:    "",
		caught: []test{{"idempotent/eventguard", "TestTheEventThatIsKeptIsOneOfTheSameRecord"}},
	},
	{
		name:   "a sweep sends what may have happened and must not happen twice",
		file:   "persistence/records/sweepcase.go",
		old:    "r.Stuck == StuckUnknown && !w.SendUnknown",
		new:    "r.Stuck == StuckUnknown && r.Key == \"\"",
		caught: []test{{"persistence/records", "TestASweepResumesWhatMayBeResumed"}},
	},
	{
		name:   "a sweep sends what is about to expire",
		file:   "persistence/records/sweepcase.go",
		old:    "r.ExpiresAt.Sub(now) < w.Reserve",
		new:    "r.ExpiresAt.Sub(now) < 0",
		caught: []test{{"persistence/records", "TestASweepResumesWhatMayBeResumed"}},
	},
	{
		name:   "a sweep does not leave a request to its client first",
		file:   "persistence/records/sweepcase.go",
		old:    "	case w.tooSoon(r):\n		return Case{Record: r, Fate: FateLeft}\n",
		new:    "",
		caught: []test{{"persistence/records", "TestASweepResumesWhatMayBeResumed"}},
	},
	{
		name:   "a sweep goes on for ever",
		file:   "persistence/records/sweepcase.go",
		old:    "case r.Attempt >= w.MaxAttempts:",
		new:    "case r.Attempt < 0:",
		caught: []test{{"persistence/records", "TestASweepResumesWhatMayBeResumed"}},
	},
}
