package main

// What keeps a table that is throttled of use: who yields, and who does not.
var crowdMutants = []mutant{
	{
		name:   "a throttled claim does not look",
		file:   "persistence/dynamostore/crowded.go",
		old:    "s.crowded.add(c.Key, c.Now)\n\t\tfound, hot := s.glance(ctx, c, !tried.unwritten())",
		new:    "s.crowded.add(c.Key, c.Now)\n\t\tfound, hot := item(nil), error(nil)",
		caught: []test{{"persistence/dynamostore", "TestDuplicatesInACrowdRead"}, {"internal/proof/scale", "TestAStormOfOneKeySlowsNobodyElse"}},
	},
	{
		name:   "a key that was throttled is written to first all the same",
		file:   "persistence/dynamostore/crowded.go",
		old:    "if !s.crowded.has(c.Key, c.Now) {",
		new:    "if true {",
		caught: []test{{"persistence/dynamostore", "TestDuplicatesInACrowdRead"}},
	},
	{
		name:   "a look that may be old tells of another payload",
		file:   "persistence/dynamostore/crowded.go",
		old:    "record.LeaseLive(c.Now) && !record.Mismatches(c.Fingerprint)",
		new:    "record.LeaseLive(c.Now)",
		caught: []test{{"persistence/dynamostore", "TestALookDecidesOnlyWhatStays"}},
	},
	{
		name:   "a claim that may have been applied is answered by what was there before it",
		file:   "persistence/dynamostore/crowded.go",
		old:    "s.glance(ctx, c, !tried.unwritten())",
		new:    "s.glance(ctx, c, false)",
		caught: []test{{"persistence/dynamostore", "TestAClaimThatMayHaveBeenAppliedIsNotAnsweredByWhatWasThereBefore"}},
	},
	{
		name:   "an invocation of an execution is kept out by the one before it",
		file:   "persistence/dynamostore/crowded.go",
		old:    "judgement == persistence.Held && (record.Status.Finished() || underWay)",
		new:    "record.Status.Finished() || underWay",
		caught: []test{{"persistence/dynamostore", "TestAnExecutionInACrowdIsNotAnsweredByItself"}},
	},
	{
		name:   "a claim of a key that is too hot to read holds its environment",
		file:   "persistence/dynamostore/crowded.go",
		old:    `"KeyRangeThroughputExceeded"`,
		new:    `"never"`,
		caught: []test{{"persistence/dynamostore", "TestAClaimOfAKeyThatIsTooHotToReadIsGivenUpAtOnce"}},
	},
	{
		name:   "the SDK pauses for what is throttled",
		file:   "persistence/dynamostore/crowded.go",
		old:    "return !throttled(err) && r.Retryer.IsErrorRetryable(err)",
		new:    "return r.Retryer.IsErrorRetryable(err)",
		caught: []test{{"persistence/dynamostore", "TestTheClientsRetryerIsAskedAllTheSame"}},
	},
	{
		name:   "a throttled claim is as patient as a completion",
		file:   "persistence/dynamostore/crowded.go",
		old:    "claimTries      = 4",
		new:    "claimTries      = 40",
		caught: []test{{"persistence/dynamostore", "TestAThrottledClaimIsGivenUpSoonerThanACompletion"}, {"idempotent", "TestCallersOfAThrottledTableComeBackApart"}},
	},
	{
		name:   "a throttled completion asks as seldom as a claim",
		file:   "persistence/dynamostore/retry.go",
		old:    "pause = min(pause, maxThrottledPause)",
		new:    "pause = min(pause, maxPause)",
		caught: []test{{"persistence/dynamostore", "TestAThrottledClaimIsGivenUpSoonerThanACompletion"}},
	},
	{
		name:   "callers of a throttled table come back together",
		file:   "idempotent/acquire.go",
		old:    "failed.after = askAgain + jitter(2*askAgain)",
		new:    "failed.after = askAgain",
		caught: []test{{"idempotent", "TestCallersOfAThrottledTableComeBackApart"}},
	},
}
