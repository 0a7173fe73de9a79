// Package simulation runs the real engine on the real DynamoDB store and the real
// SDK client through hours of bad days in seconds, and replays any of them.
//
// A seed decides everything: the operations and how they are guarded, who calls
// what and when, how long each thing takes, which request or reply is lost, held
// back or refused, which process freezes or dies at which point, how far its clock
// is off, what the function does, how much of the SDK's quota is used up, whose tenant's
// request it is, and when Lambda kills the process. Time is virtual (testing/synctest), and nobody
// wakes at the same instant as anybody else, so that of all goroutines one runs at
// a time and a seed gives the same run every time, to the nanosecond.
//
// The side effect of [Orders] is a ledger. It is checked at every line, and so is the
// table at every write: see [Rule] for what must hold. That of [Transfers] is in a
// table of accounts, and at every write of either table the money is counted. Once the
// faults have stopped, a last call for each key shows that nobody is locked out.
//
// What is simulated is what the toolkit promises to withstand. Anything else, such
// as clocks further apart than the allowance or a protocol without a condition, is
// a [Flaw], and exists so that tests can see the rules being broken.
package simulation
