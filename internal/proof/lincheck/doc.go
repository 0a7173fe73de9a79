// Package lincheck checks that a [persistence.Store] is linearizable: that
// whatever concurrent callers were told can be explained by carrying their calls
// out one after the other, each at some moment between its start and its end.
//
// [Run] lets a number of clients loose on a few keys, writes down what each of
// them called and was told, and gives the history to porcupine
// (github.com/anishathalye/porcupine), which looks for such an order in a
// sequential model. The model, in model.go, is the contract of the package
// persistence once more, made from its doc comments alone: it shares no decision
// with persistence.Claim.Judge, so that a mistake there is seen here.
//
//	func TestMyStoreIsLinearizable(t *testing.T) {
//		lincheck.Run(t, mystore.New(connect(t)), lincheck.Options{})
//	}
//
// # Time
//
// Time is data in the contract, so it is data here: the clients share a clock
// that only their turns move, in quarters of a second, and each of them is fast
// or slow by up to two seconds. Within one history leases end, records expire, and
// claims meet whose clocks disagree about both.
//
// # Lost answers
//
// A call that ends in a [*persistence.Fault] may have been carried out or not:
// both are tried. Where something below the store repeats requests, a call may
// even be carried out several times, each time in an atomic step. What loses an
// answer then says so with [Unanswered], and every loss is one more step that may
// have happened between the start and the end of its call.
//
// # What a passed run means
//
// That the histories of this run have an explanation; not that all have. A run
// counts what happened in it, in the words of the model, and fails where one of
// the contract's cases did not occur. A seed repeats the clients' dice. It does not
// repeat a history: who meets whom is up to the scheduler, and what a client does
// next depends on what it was told.
//
// The package is for tests only. No function may link it.
package lincheck
