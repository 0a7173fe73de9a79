package main

import "slices"

// mutants is the list of them all.
var mutants = slices.Concat(callMutants, stepMutants, ruleMutants, frontMutants)

// mutant is a deliberate breakage of the shipped code.
type mutant struct {
	name string // what is broken, as a reviewer would put it
	file string
	old  string // occurs once in the file
	new  string
	// caught are tests that must fail.
	caught []test
}

// test names a test function of a package.
type test struct{ pkg, name string }

// What breaks the protocol of a call, its stores and its adapters.
var callMutants = []mutant{
	// What a found record means.
	{
		name:   "the last millisecond of a lease is not the owner's",
		file:   "persistence/record.go",
		old:    "r.LeaseUntil.UnixMilli() < now.UnixMilli()",
		new:    "r.LeaseUntil.UnixMilli() <= now.UnixMilli()",
		caught: []test{{"persistence", "TestMemoryKeepsTheContract"}, {"persistence", "TestMemoryIsLinearizable"}},
	},
	{
		name:   "the last second of a record is not its own",
		file:   "persistence/record.go",
		old:    "r.ExpiresAt.Unix() < now.Unix()",
		new:    "r.ExpiresAt.Unix() <= now.Unix()",
		caught: []test{{"persistence", "TestMemoryKeepsTheContract"}, {"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "leases in seconds are compared with now in milliseconds",
		file:   "persistence/record.go",
		old:    "r.LeaseUntil.UnixMilli() < now.UnixMilli()",
		new:    "r.LeaseUntil.Unix() < now.UnixMilli()",
		caught: []test{{"persistence", "TestReports3And4ALeaseAndAnExpiryEndInTheirOwnUnits"}, {"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "a running record without a lease is abandoned",
		file:   "persistence/record.go",
		old:    "return !r.pastExpiry(now)",
		new:    "return false",
		caught: []test{{"persistence", "TestReports3And4ALeaseAndAnExpiryEndInTheirOwnUnits"}, {"idempotent", "TestReport04ARecordWithoutALeaseIsLockedUntilItExpires"}},
	},
	{
		name:   "an expiry ends a live lease",
		file:   "persistence/record.go",
		old:    "return r.pastExpiry(now) && (r.LeaseUntil.IsZero() || r.pastLease(now))",
		new:    "return r.pastExpiry(now)",
		caught: []test{{"persistence", "TestOnlyARunningRecordHasALiveLease"}},
	},
	{
		name:   "a stale record is taken over by another payload",
		file:   "persistence/claim.go",
		old:    "found.Status.Finished(), found.Mismatches(c.Fingerprint):",
		new:    "found.Status.Finished():",
		caught: []test{{"persistence", "TestMemoryKeepsTheContract"}, {"idempotent", "TestNoSeedBreaksAPromise"}},
	},
	{
		name:   "a taken-over record forgets its steps",
		file:   "persistence/claim.go",
		old:    "	r.Steps = stale.Steps\n",
		new:    "",
		caught: []test{{"persistence", "TestATakeOverKeepsTheStepsAndCountsTheAttempt"}},
	},
	{
		name:   "an outcome that is not known is run again",
		file:   "persistence/claim.go",
		old:    "case found.Status == StatusProcessing && !c.RefuseUnknown:",
		new:    "case found.Status == StatusProcessing:",
		caught: []test{{"idempotent", "TestAnUnknownOutcomeIsRefusedWhereConfigured"}},
	},
	{
		name:   "the reference store releases finished records",
		file:   "persistence/memory.go",
		old:    "	case r.Status.Finished():\n		return &SettledError{Record: r.Clone()}\n	case len(r.Steps) == 0:",
		new:    "	case len(r.Steps) == 0:",
		caught: []test{{"persistence", "TestMemoryKeepsTheContract"}},
	},

	// The cache.
	{
		name:   "the cache keeps records in progress",
		file:   "persistence/cached/store.go",
		old:    "if !r.Status.Finished() || footprint(r) > c.limits.Bytes {",
		new:    "if footprint(r) > c.limits.Bytes {",
		caught: []test{{"persistence/cached", "TestReport17OnlyFinalStatesAreCachedAndNothingIsShared"}},
	},
	{
		name:   "the cache replays expired records",
		file:   "persistence/cached/store.go",
		old:    "hit && !r.Expired(claim.Now)",
		new:    "hit",
		caught: []test{{"persistence/cached", "TestAnExpiredHitGoesToTheStoreAndIsForgotten"}},
	},
	{
		name:   "the cache hands out its own memory",
		file:   "persistence/cached/store.go",
		old:    "return e.Value.(persistence.Record).Clone(), true",
		new:    "return e.Value.(persistence.Record), true",
		caught: []test{{"persistence/cached", "TestReport17OnlyFinalStatesAreCachedAndNothingIsShared"}},
	},
	{
		name:   "the cache remembers outcomes that were not stored",
		file:   "persistence/cached/store.go",
		old:    "case err == nil && c.end(l):",
		new:    "case c.end(l):",
		caught: []test{{"persistence/cached", "TestCachedRemembersNoOutcomeThatTheStoreRefused"}},
	},
	{
		name:   "the cache forgets what an owner is told",
		file:   "persistence/cached/store.go",
		old:    "		c.remember(settled.Record)\n",
		new:    "",
		caught: []test{{"persistence/cached", "TestCachedRemembersWhatAnOwnerIsTold"}},
	},

	// The conditions of DynamoDB writes.
	{
		name:   "completing and releasing do not ask for the owner",
		file:   "persistence/dynamostore/write.go",
		old:    `const mine = "#o = :owner AND #s = :processing"`,
		new:    `const mine = "(#o = :owner OR attribute_exists(#o)) AND #s = :processing"`,
		caught: []test{{"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}, {"idempotent", "TestAZombieCannotTouchTheWinner"}},
	},
	{
		name:   "completing and releasing do not ask whether the record is running",
		file:   "persistence/dynamostore/write.go",
		old:    `const mine = "#o = :owner AND #s = :processing"`,
		new:    `const mine = "#o = :owner AND (#s = :processing OR attribute_exists(#s))"`,
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}},
	},
	{
		name:   "the condition lets a record expire within its last second",
		file:   "persistence/dynamostore/write.go",
		old:    "#x < :now AND NOT #l >= :nowms",
		new:    "#x <= :now AND NOT #l >= :nowms",
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}},
	},
	{
		name:   "the condition overwrites an expired record with a live lease",
		file:   "persistence/dynamostore/write.go",
		old:    "#x < :now AND NOT #l >= :nowms",
		new:    "#x < :now AND (NOT #l >= :nowms OR attribute_exists(#k))",
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}},
	},
	{
		name:   "the condition compares leases in milliseconds with now in seconds",
		file:   "persistence/dynamostore/transition.go",
		old:    `":nowms": number(c.Now.UnixMilli())`,
		new:    `":nowms": number(c.Now.Unix())`,
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}},
	},
	{
		name:   "any record may be overwritten",
		file:   "persistence/dynamostore/write.go",
		old:    `attribute_not_exists(#k) OR #x < :now`,
		new:    `attribute_exists(#x) OR attribute_not_exists(#k) OR #x < :now`,
		caught: []test{{"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}, {"idempotent", "TestTwoHundredCallersOfOneKeyRunOnce"}},
	},
	{
		name:   "a take-over does not compare what it has seen",
		file:   "persistence/dynamostore/transition.go",
		old:    "	u.unchanged(phOwner, seen)\n	u.unchanged(phStatus, seen)\n	u.unchanged(phLease, seen)\n",
		new:    "	u.unchanged(phStatus, seen)\n",
		caught: []test{{"persistence/dynamostore", "TestTheStoreIsLinearizable"}},
	},
	{
		name:   "a take-over keeps the ended lease",
		file:   "persistence/dynamostore/transition.go",
		old:    "	u.set(phLease, \":lease\", number(millis(c.LeaseUntil)))\n",
		new:    "",
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}, {"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "a completed record keeps its lease",
		file:   "persistence/dynamostore/transition.go",
		old:    "	} else {\n		u.remove(phLease)\n	}\n	if len(l.Event) > 0 {\n",
		new:    "	}\n	if len(l.Event) > 0 {\n",
		caught: []test{{"persistence/dynamostore", "TestGoldenRequests"}, {"idempotent", "TestRecordsHaveTheSizeThatTheModelSays"}},
	},
	{
		name:   "a completed record expires as if it had not run",
		file:   "persistence/dynamostore/transition.go",
		old:    "		u.set(phExpire, \":expire\", number(s.schema.seconds(o.ExpiresAt)))\n	}\n	if finished",
		new:    "	}\n	if finished",
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}},
	},
	{
		name:   "a release deletes finished steps",
		file:   "persistence/dynamostore/transition.go",
		old:    "	u.require(\"attribute_not_exists(\" + phSteps + \")\")\n	return conditional{key: l.Key, write: Write{Delete:",
		new:    "	return conditional{key: l.Key, write: Write{Delete:",
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}},
	},
	{
		name:   "a failed condition without its item is not looked into",
		file:   "persistence/dynamostore/write.go",
		old:    "	found, err = s.get(ctx, w.key, aws.Bool(true))\n",
		new:    "	found, err = nil, nil\n",
		caught: []test{{"persistence/dynamostore", "TestReport11AFailedConditionWithoutItsItemIsReadBack"}},
	},
	{
		name:   "the look after a failed condition may be stale",
		file:   "persistence/dynamostore/write.go",
		old:    "s.get(ctx, w.key, aws.Bool(true))",
		new:    "s.get(ctx, w.key, aws.Bool(false))",
		caught: []test{{"persistence/dynamostore", "TestReport11AFailedConditionWithoutItsItemIsReadBack"}},
	},
	{
		name:   "an earlier completion of one's own is not recognised",
		file:   "persistence/dynamostore/store.go",
		old:    "case applied, s.schema.settledBy(found, l.Owner) && s.schema.records(found, o, finished):",
		new:    "case applied:",
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKeptWithLostReplies"}, {"idempotent", "TestAnyOneRequestMayGoWrong"}},
	},
	{
		name:   "another outcome of one's own passes for this one",
		file:   "persistence/dynamostore/found.go",
		old:    "		reflect.DeepEqual(i[s.attr.Result], finished.result)",
		new:    "		(true || reflect.DeepEqual(i[s.attr.Result], finished.result))",
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}},
	},
	{
		name:   "a refusal is believed although an earlier try may still arrive",
		file:   "persistence/dynamostore/unwritten.go",
		old:    "if _, refused := errors.AsType[*persistence.RefusedError](refusal); !refused || t.arrived() {",
		new:    "if _, refused := errors.AsType[*persistence.RefusedError](refusal); !refused || t.arrived() || refused {",
		caught: []test{{"persistence/dynamostore", "TestARefusalIsNotBelievedWhileAnEarlierTryMayArrive"}},
	},
	{
		name:   "a renewal between look and take-over is run over",
		file:   "persistence/dynamostore/transition.go",
		old:    "	u.unchanged(phStatus, seen)\n	u.unchanged(phLease, seen)\n	u.set(phStatus",
		new:    "	u.unchanged(phStatus, seen)\n	u.set(phStatus",
		caught: []test{{"persistence/dynamostore", "TestARenewalBetweenLookAndTakeOverKeepsTheRecord"}},
	},
	{
		name:   "a renewal may move a lease back",
		file:   "persistence/dynamostore/update.go",
		old:    `const forward = "#l <= :lease AND #x <= :expire"`,
		new:    `const forward = "(#l <= :lease OR #x <= :expire)"`,
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}},
	},
	{
		name:   "writes that recognise themselves are given up when the SDK gives up",
		file:   "persistence/dynamostore/retry.go",
		old:    "limited bool) (item, error) {\n	return send.repeat(ctx, func(try int, err error) bool {\n		return (limited || try < busyTries) && passing(err)\n",
		new:    "limited bool) (item, error) {\n	return send.repeat(ctx, func(try int, err error) bool {\n		return limited && try < busyTries && busy(err)\n",
		caught: []test{{"persistence/dynamostore", "TestAfterManyFailedCallsACompletionIsStillSentAgain"}},
	},
	{
		name:   "another owner's completion passes for one's own",
		file:   "persistence/dynamostore/store.go",
		old:    "case applied, s.schema.settledBy(found, l.Owner) && s.schema.records(found, o, finished):",
		new:    "case applied, s.schema.status(found).Finished():",
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}, {"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "a late acquire is suspended by its own release",
		file:   "persistence/dynamostore/store.go",
		old:    "if write = s.remove(l); s.schema.hasSteps(found) {",
		new:    "if write = s.remove(l); true {",
		caught: []test{{"persistence/dynamostore", "TestALateAcquireDuringItsReleaseIsRemoved"}},
	},
	{
		name:   "a lost lease passes for released",
		file:   "persistence/dynamostore/store.go",
		old:    "		case s.schema.owner(found) != l.Owner:\n			return persistence.ErrLeaseLost\n		case s.schema.status(found) == persistence.StatusPartial:",
		new:    "		case s.schema.owner(found) != l.Owner:\n			return nil\n		case s.schema.status(found) == persistence.StatusPartial:",
		caught: []test{{"persistence/dynamostore", "TestTheContractIsKept"}},
	},
	{
		name:   "leases are rounded down",
		file:   "persistence/dynamostore/value.go",
		old:    "return t.Add(time.Millisecond - 1).UnixMilli()",
		new:    "return t.UnixMilli()",
		caught: []test{{"persistence/dynamostore", "TestPartsOfAUnitAreRoundedUp"}},
	},
	{
		name:   "records of a newer format are guessed at",
		file:   "persistence/dynamostore/schema.go",
		old:    "written && v > version",
		new:    "written && v > version && false",
		caught: []test{{"persistence/dynamostore", "TestItemsOfOthers"}},
	},
	{
		name:   "a conflict with a transaction is an error",
		file:   "persistence/dynamostore/errors.go",
		old:    `	"TransactionConflict", "TransactionConflictException",` + "\n",
		new:    "",
		caught: []test{{"persistence/dynamostore", "TestReport10TransactionsReportFailedConditionsAndConflicts"}},
	},

	// The engine.
	{
		name:   "any running record passes for one's own",
		file:   "idempotent/acquire.go",
		old:    "return r.Owner == c.Owner && r.Status == persistence.StatusProcessing",
		new:    "return r.Status == persistence.StatusProcessing",
		caught: []test{{"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}, {"idempotent", "TestRequestsAndCapacityOfEveryPath"}},
	},
	{
		name:   "a finished record is replayed to another payload",
		file:   "idempotent/acquire.go",
		old:    "case r.Mismatches(c.Fingerprint):",
		new:    "case !r.Status.Finished() && r.Mismatches(c.Fingerprint):",
		caught: []test{{"idempotent", "TestReport15EveryWayToMeetARecordComparesThePayload"}},
	},
	{
		name:   "a rejected duplicate deletes the record",
		file:   "idempotent/acquire.go",
		old:    "		got.waited = wait.elapsed()\n		got.reportWait(ctx, g)\n",
		new:    "		_ = g.store.Release(ctx, record.Lease())\n		got.waited = wait.elapsed()\n		got.reportWait(ctx, g)\n",
		caught: []test{{"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "a claim of unknown fate is not given up",
		file:   "idempotent/acquire.go",
		old:    "		_ = g.store.Release(giving, c.Fresh().Lease()) // most likely there is nothing to release\n",
		new:    "",
		caught: []test{{"idempotent", "TestALostAcquireIsGivenUp"}},
	},
	{
		name:   "the function runs though the store can't be reached",
		file:   "idempotent/acquire.go",
		old:    "return g.config.OnStoreFault == FailOpen &&\n",
		new:    "return g.config.OnStoreFault <= FailOpen &&\n",
		caught: []test{{"idempotent", "TestReport44WithTheStoreDownNothingRunsUnlessConfigured"}, {"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "the lease leaves no room for clock skew",
		file:   "idempotent/hold.go",
		old:    "whole := b.deadline.Add(g.config.ClockSkew)",
		new:    "whole := b.deadline",
		caught: []test{{"idempotent", "TestReport42OddDeadlines"}},
	},
	{
		name:   "the clock is not read again before the run",
		file:   "idempotent/hold.go",
		old:    "if err == nil && !wallClock().Before(h.until()) {",
		new:    "if err != nil && !wallClock().Before(h.until()) {",
		caught: []test{{"idempotent", "TestAFrozenEnvironmentDoesNotStartAfterItsLease"}},
	},
	{
		name:   "a run may use its lease to the last, by a clock that is behind",
		file:   "idempotent/hold.go",
		old:    "until := h.end().Add(-h.guard.config.ClockSkew)",
		new:    "until := h.end()",
		caught: []test{{"idempotent", "TestReport42OddDeadlines"}},
	},
	{
		name:   "the outcome is written under the function's own context",
		file:   "idempotent/budget.go",
		old:    "context.WithDeadline(context.WithoutCancel(ctx), limit)",
		new:    "context.WithDeadline(ctx, limit)",
		caught: []test{{"idempotent", "TestALateOwnerStillFinishesWhatNobodyTookOver"}},
	},
	{
		name:   "a success is released",
		file:   "idempotent/tenure.go",
		old:    "	err := t.complete(ctx, nil)\n	switch {",
		new:    "	err := error(nil)\n	t.release(ctx, nil)\n	switch {",
		caught: []test{{"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "a failure is completed",
		file:   "idempotent/tenure.go",
		old:    "return t.unfinished(ctx, err, t.release(ctx, err))",
		new:    "return cmp.Or(t.complete(ctx, err), err)",
		caught: []test{{"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "a panic leaves the record as it is",
		file:   "idempotent/tenure.go",
		old:    "	default:\n		t.release(ctx, errUnwound)\n",
		new:    "	default:\n",
		caught: []test{{"idempotent", "TestReport41PanicsGoOnAndLeaveNoLock"}, {"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "a lost lease passes for success",
		file:   "idempotent/tenure.go",
		old:    "		return t.superseded(err)\n",
		new:    "		return nil\n",
		caught: []test{{"idempotent", "TestAZombieCannotTouchTheWinner"}, {"internal/proof/explore", "TestEveryInterleavingKeepsThePromises"}},
	},
	{
		name:   "a result too large is released",
		file:   "idempotent/tenure.go",
		old:    "		outcome.ResultOmitted = true\n		err = t.guard.complete(settling, t.lease(), outcome, writes)\n",
		new:    "		err = t.guard.store.Release(settling, t.lease())\n",
		caught: []test{{"idempotent", "TestReport14AResultTooLargeToStoreIsNotRunAgain"}},
	},
	{
		name:   "a result that can't be stored is stored empty",
		file:   "idempotent/commit.go",
		old:    "ResultOmitted: e.omit != nil || ",
		new:    "ResultOmitted: ",
		caught: []test{{"idempotent", "TestReport41APanicAfterTheEffectDoesNotRunItAgain"}},
	},
	{
		name:   "records expire up to a second early",
		file:   "idempotent/clock.go",
		old:    "return ceil(now.Add(g.config.TTL), time.Second)",
		new:    "return now.Add(g.config.TTL).Truncate(time.Second)",
		caught: []test{{"idempotent", "TestReport03ExpiryIsInWholeSecondsAndTheLeaseInWholeMilliseconds"}},
	},
	{
		name:   "a replay may be another invocation's bytes",
		file:   "idempotent/handler.go",
		old:    "		e.result = bytes.Clone(response)\n		pool.Put(i)\n",
		new:    "		e.result = response\n		pool.Put(i)\n",
		caught: []test{{"idempotent", "TestAResponseOfAFunctionIsItsOwn"}},
	},
	{
		name:   "a permanent failure is run again",
		file:   "idempotent/permanent.go",
		old:    "if !ok || permanent == nil || errors.Is(err, journal.ErrNotUndone) {",
		new:    "if ok || permanent == nil {",
		caught: []test{{"idempotent", "TestRequestsAndCapacityOfEveryPath"}, {"idempotent", "TestNoSeedBreaksAPromise"}},
	},

	// Keys.
	{
		name:   "operations share their keys",
		file:   "jmespath_key.go",
		old:    "append(append(key[:0], operation...), '#')",
		new:    "append(append(key[:0], operation[:0]...), '#')",
		caught: []test{{".", "TestReport32_TheOperationIsPartOfTheKey"}},
	},
	{
		name:   "an empty key is a key",
		file:   "jmespath_key.go",
		old:    "	if value == \"\" {\n		return \"\", &SelectionError{Reason: \"the key is empty\", kind: ErrMissing}\n	}\n",
		new:    "",
		caught: []test{{".", "TestCallersKeyIsTheKeyOfTheSameString"}},
	},
}
