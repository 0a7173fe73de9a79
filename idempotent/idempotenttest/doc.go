// Package idempotenttest proves a function of your own: that what it does for a request
// happens once, whatever dies, freezes or gets lost on the way, and that its answers are
// true.
//
//	func TestPaymentsHappenOnce(t *testing.T) {
//		idempotenttest.Prove(t, idempotenttest.Function{
//			New: func(e *idempotenttest.Environment) (any, error) {
//				return newFunction(e.Client(), e.Service("provider"))
//			},
//			Request: idempotenttest.APIGatewayV2(idempotenttest.HTTPRequest{Key: "k-1", Body: `{"amount":10}`}),
//			Other:   idempotenttest.APIGatewayV2(idempotenttest.HTTPRequest{Key: "k-2", Body: `{"amount":10}`}),
//			Setup:   func(_ testing.TB, db *dynamotest.DB) { db.MustCreateTable("payments", "id") },
//		})
//	}
//
// The function is the one that is deployed, made by the same code. DynamoDB is the embedded one of
// package dynamotest, the client is the SDK's own, and time is virtual ([testing/synctest]),
// so that a story that spans days takes milliseconds.
//
// # What is played
//
// Prove first runs the function once without any fault: that tells what a request does to
// the [Books], and at which requests to DynamoDB and calls of services something can go wrong.
// Then it plays, each in a world of its own:
//
//	replay       the request comes twice, to one environment or two; another request comes
//	crash        the process dies before or after each request, and so inside the function
//	lost         each request, and each reply, is lost once; is throttled; gets a 500
//	outage       from each request on, none is answered, or carried out, until the function ends
//	late         a copy of each write arrives when its sender is done
//	race         an environment is held up at each request while a duplicate runs in another
//	freeze       the same, until its lease is over and another one has done the request
//	expiry       the record has expired, and is still in the table or gone
//	two crashes  the process dies after each request, and so does the one that takes over
//
// In most of them the request is then sent again, as a patient client would: at once, in the midst of the
// lease, after it, and once more when it is done. A function of five requests makes for
// about a hundred cases, and takes a second or two. Of the pairs of crashes no more than fifty
// are played, evenly picked: a function of ten requests has more.
//
// # What must hold
//
//   - The effects of a request happen once: the books never say more than after one run.
//     After a record has expired the request is a new one, and may be done once more.
//   - An answer that says it is done ([Function.Settled]) is true: the books say so by then.
//     An error whose [idempotent.VerdictOf] is DoneNothing is true as well.
//   - A duplicate gets the first answer ([Function.Same]).
//   - Nobody is locked out for longer than a lease ([Function.Lease]).
//   - Another request is another request.
//   - What [Function.Holds] demands.
//
// The first breach ends a case, which is told as a story: what arrived, what was carried
// out, lost or refused, who died, and when. The story is that of the first case of the
// simplest kind that breaks the promise, with as few retries as it takes. A hint says what the
// breach may come from.
//
// # Services
//
// What the function calls beyond DynamoDB must be a [Service] of the environment, or be
// reached through [Environment.Outside], so that the process can die before and after
// the call, and the call or its reply be lost. A dead process stays where it is, at its
// next request or call. What it does without these is not stopped, as code runs on that
// touches nothing but its own memory.
//
// # Stories of one's own
//
// [Story] gives a [World] in virtual time, in which environments can be started, killed,
// frozen, cut off and started again. See its example.
//
// # What it can't see
//
//   - AWS itself: neither the embedded DynamoDB nor this package was run beside it.
//   - More than two faults at once, faults of which not one is at a request, and all
//     interleavings of two environments: it holds up one at a time. (The toolkit's own protocol is explored
//     without these limits, see docs/guarantees.md.)
//   - Clocks that differ: all environments have one.
//   - Effects that are not in the books.
//   - What goroutines do that outlive their invocation.
//   - Records in other stores than DynamoDB: then only calls of services can go wrong.
package idempotenttest
