package main

import "slices"

// mutants is the list of them all.
var mutants = slices.Concat(storeMutants, callMutants, stepMutants, ruleMutants, frontMutants, durableMutants, crowdMutants, aheadMutants, resumeMutants)

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

// What breaks the protocol of a call, and its keys and adapters.
var callMutants = []mutant{
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
		old:    "return g.config.FailOpen &&\n",
		new:    "return true &&\n",
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
		old:    "kept := t.release(ctx, err)",
		new:    "var kept []string\n\t\t_ = t.complete(ctx, err)",
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
		caught: []test{{"idempotent", "TestReport32TwoOperationsNeverShareARecord"}},
	},
	{
		name:   "an empty key is a key",
		file:   "jmespath_key.go",
		old:    "	if value == \"\" {\n		return \"\", &SelectionError{Reason: \"the key is empty\", kind: ErrMissing}\n	}\n",
		new:    "",
		caught: []test{{".", "TestCallersKeyIsTheKeyOfTheSameString"}},
	},
}
