package main

// What breaks the stores in front of others, and the blobs.
var frontMutants = []mutant{
	{
		name:   "a zombie's blob has the winner's name",
		file:   "persistence/overflow/blobs.go",
		old:    "sha256.Sum256(append(digest[:], owner...))",
		new:    "sha256.Sum256(digest[:])",
		caught: []test{{"persistence/overflow", "TestAZombieLeavesTheWinnersBlobAloneAndRemovesItsOwn"}, {"persistence/overflow", "TestAReferenceLeadsNowhereFromAnotherRecord"}},
	},
	{
		name:   "a blob is not compared with its digest",
		file:   "persistence/overflow/store.go",
		old:    "return content, to.check(content)",
		new:    "return content, nil",
		caught: []test{{"persistence/overflow", "TestALostResultIsAnOmittedOne"}},
	},
	{
		name:   "a blob out of reach lets the function run",
		file:   "persistence/overflow/store.go",
		old:    `fmt.Errorf("%w: its result is not to be had: %w", persistence.ErrUnreadable, err)`,
		new:    `fmt.Errorf("its result is not to be had: %w", err)`,
		caught: []test{{"persistence/overflow", "TestNothingRunsWhereALargeResultIsNotToBeHad"}},
	},
	{
		name:   "a blob that can't be written leaves the record running",
		file:   "persistence/overflow/store.go",
		old:    "return &unwrittenError{err}",
		new:    "return err",
		caught: []test{{"persistence/overflow", "TestALargeResultThatCanNotBeWrittenIsReturnedOnceAndNeverRunAgain"}},
	},
	{
		name:   "a result that looks like a reference is taken for one",
		file:   "persistence/overflow/store.go",
		old:    "if _, is, _ := readReference(result); is {",
		new:    "if _, is, _ := readReference(result); is && len(result) == 0 {",
		caught: []test{{"persistence/overflow", "TestAResultThatLooksLikeAReferenceIsReplayed"}},
	},
	{
		name:   "every refusal of S3 is a lost result",
		file:   "persistence/s3overflow/errors.go",
		old:    `ok && answer.ErrorCode() == "NoSuchKey"`,
		new:    `ok && answer.ErrorCode() != ""`,
		caught: []test{{"persistence/s3overflow", "TestRefusalsAreFaults"}},
	},
	{
		name:   "a sealed result opens in another record of its key",
		file:   "persistence/sealed/sealer.go",
		old:    "return Place{Key: l.Key, Owner: l.Owner, Status: status}",
		new:    "return Place{Key: l.Key, Status: status}",
		caught: []test{{"persistence/sealed", "TestAResultOpensInItsOwnRecordOnly"}},
	},
	{
		name:   "a sealed output opens in another step",
		file:   "persistence/sealed/sealer.go",
		old:    "return Place{Key: key, Step: step}",
		new:    "return Place{Key: key, Step: step[:0]}",
		caught: []test{{"persistence/sealed", "TestAnOutputOpensInItsOwnStepOnly"}},
	},
	{
		name:   "a value that is not sealed is replayed",
		file:   "persistence/sealed/value.go",
		old:    "case s.config.Unsealed == AcceptUnsealed:",
		new:    "case s.config.Unsealed <= AcceptUnsealed:",
		caught: []test{{"persistence/sealed", "TestAResultOpensInItsOwnRecordOnly"}},
	},
	{
		name:   "a record that does not open stays locked",
		file:   "persistence/sealed/store.go",
		old:    "_ = s.Front.Release(ctx, r.Lease())",
		new:    "_, _ = ctx, r",
		caught: []test{{"persistence/sealed", "TestAnOutputOpensInItsOwnStepOnly"}},
	},
	{
		name:   "a lease hands the steps on in the clear",
		file:   "persistence/sealed/record.go",
		old:    "steps[name] = blank[:end:end]",
		new:    "steps[name] = append(output[:len(output):len(output)], blank[len(output):end]...)",
		caught: []test{{"persistence/sealed", "TestNothingReachesTheStoreInTheClear"}},
	},
	{
		name:   "the reserve is reckoned unsealed",
		file:   "persistence/sealed/record.go",
		old:    "l.Reserve += (l.Reserve + leastReserved - 1) / leastReserved * s.overhead",
		new:    "l.Reserve += 0 * leastReserved",
		caught: []test{{"persistence/sealed", "TestTheReserveHoldsForSealedSteps"}},
	},
}
