package lincheck

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ikkai-go/idempotency/persistence"
)

// The calls of these histories are about one key. A claim made at a second holds
// the lease for ten of them and the record for sixty; an outcome is kept until
// the second that it names.

func sec(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

func claims(owner string, now float64) claim {
	from := sec(now).Truncate(time.Second)
	return claim{persistence.Claim{
		Key: "k", Owner: owner, Fingerprint: "A", Now: sec(now),
		LeaseUntil: from.Add(10 * time.Second), ExpiresAt: from.Add(time.Minute),
	}}
}

func lease(owner string) persistence.Lease { return persistence.Lease{Key: "k", Owner: owner} }

func completes(owner, result string, until float64) completion {
	return completion{lease(owner), persistence.Outcome{
		Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: sec(until),
	}}
}

func fails(owner, message string, until float64) completion {
	c := completes(owner, message, until)
	c.outcome.Status = persistence.StatusFailed
	return c
}

func releases(owner string) release { return release{lease(owner)} }

func finishes(owner, step string) checkpoint { return checkpoint{lease(owner), step, "done"} }

// running is the record of an owner that claimed at a second.
func running(owner string, since float64, attempt int) record {
	return record{
		key: "k", status: persistence.StatusProcessing, owner: owner, fingerprint: "A",
		leaseUntil: sec(since + 10).UnixMilli(), expiresAt: sec(since + 60).Unix(), attempt: attempt,
	}
}

func done(owner, result string, until float64) record {
	return record{
		key: "k", status: persistence.StatusCompleted, owner: owner, fingerprint: "A",
		result: result, expiresAt: sec(until).Unix(), attempt: 1,
	}
}

func with(r record, step string) record {
	r.steps = map[string]string{step: "done"}
	return r
}

func givenUp(r record) record {
	r.status, r.leaseUntil = persistence.StatusPartial, 0
	return r
}

// told is a call with its start, its end, and its answer.
func told(from, to int64, c call, a answer) porcupine.Operation {
	return porcupine.Operation{Call: from, Return: to, Input: c, Output: a}
}

func shown(r record) answer { return answer{shown: r} }

var (
	ok        = answer{}
	lost      = answer{verdict: leaseLost}
	noAnswer  = answer{verdict: unanswered}
	nothing   = shown(record{})
	look      = reading{"k"}
	refusing  = func(c claim) claim { c.RefuseUnknown = true; return c }
	otherLoad = func(c claim) claim { c.Fingerprint = "B"; return c }
)

type story struct {
	name  string
	calls []porcupine.Operation
}

var explicable = []story{
	{"of two claims at once, the one that was called last is first", []porcupine.Operation{
		told(1, 4, claims("a", 0), shown(running("b", 0, 1))),
		told(2, 3, claims("b", 0), shown(running("b", 0, 1))),
	}},
	{"a claim is repeated", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, claims("a", 0), shown(running("a", 0, 1))),
		told(5, 6, completes("a", "paid", 20), ok),
		told(7, 8, claims("a", 0), shown(done("a", "paid", 20))),
	}},
	{"an outcome is replayed, also a second time and to another payload", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), ok),
		told(5, 6, completes("a", "paid again", 30), answer{settled, done("a", "paid", 20)}),
		told(7, 8, claims("b", 1), shown(done("a", "paid", 20))),
		told(9, 10, otherLoad(claims("c", 1)), shown(done("a", "paid", 20))),
	}},
	{"the last millisecond of a lease, and the next one", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, claims("b", 10.0009), shown(running("a", 0, 1))),
		told(5, 6, claims("c", 10.001), shown(running("c", 10, 2))),
	}},
	{"the last second of a record, and the next one", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), ok),
		told(5, 6, claims("b", 20.999), shown(done("a", "paid", 20))),
		told(7, 8, claims("c", 21), shown(running("c", 21, 1))),
	}},
	{"a clock that is slow meets a lease that a fast one has ended", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, claims("fast", 11), shown(running("fast", 11, 2))),
		told(5, 6, claims("slow", 1), shown(running("fast", 11, 2))),
	}},
	{"an ended lease that is not to be taken over", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, refusing(claims("b", 11)), shown(running("a", 0, 1))),
		told(5, 6, otherLoad(claims("c", 11)), shown(running("a", 0, 1))),
	}},
	{"steps outlive their owner", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, finishes("a", "reserve"), ok),
		told(5, 6, releases("a"), ok),
		told(7, 8, look, shown(givenUp(with(running("a", 0, 1), "reserve")))),
		told(9, 10, claims("b", 1), shown(with(running("b", 1, 2), "reserve"))),
		told(11, 12, finishes("a", "charge"), lost),
	}},
	{"a late owner completes while another takes over, and is second", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 6, completes("a", "late", 20), lost),
		told(4, 5, claims("b", 11), shown(running("b", 11, 2))),
	}},
	{"a late owner completes while another takes over, and is first", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 6, completes("a", "late", 20), ok),
		told(4, 5, claims("b", 11), shown(done("a", "late", 20))),
	}},
	{"a completion without an answer was carried out", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), noAnswer),
		told(5, 6, look, shown(done("a", "paid", 20))),
	}},
	{"a completion without an answer was not carried out", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), noAnswer),
		told(5, 6, look, shown(running("a", 0, 1))),
	}},
	{"a claim whose first try was taken over before its second", []porcupine.Operation{
		told(1, 4, claims("a", 0), noAnswer),
		told(1, 4, claims("a", 0), shown(running("fast", 11, 2))),
		told(2, 3, claims("fast", 11), shown(running("fast", 11, 2))),
	}},
	{"giving up what is not there", []porcupine.Operation{
		told(1, 2, releases("a"), ok),
		told(3, 4, look, nothing),
		told(5, 6, claims("a", 0), shown(running("a", 0, 1))),
		told(7, 8, releases("a"), ok),
		told(9, 10, releases("a"), ok),
		told(11, 12, completes("a", "paid", 20), lost),
	}},
}

var inexplicable = []story{
	{"two claims own one record", []porcupine.Operation{
		told(1, 3, claims("a", 0), shown(running("a", 0, 1))),
		told(2, 4, claims("b", 0), shown(running("b", 0, 1))),
	}},
	{"two claims take over one record", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 6, claims("b", 11), shown(running("b", 11, 2))),
		told(4, 5, claims("c", 11), shown(running("c", 11, 2))),
	}},
	{"a claim is shown the past", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), ok),
		told(5, 6, claims("b", 1), shown(running("a", 0, 1))),
	}},
	{"a claim is shown the future", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, claims("b", 1), shown(done("a", "paid", 20))),
		told(5, 6, completes("a", "paid", 20), ok),
	}},
	{"a claim is shown another key's record", []porcupine.Operation{
		told(1, 2, claim{persistence.Claim{Key: "j", Owner: "b", Now: sec(0), LeaseUntil: sec(10), ExpiresAt: sec(60)}}, shown(running("b", 0, 1))),
	}},
	{"a claim is told of a lost lease", []porcupine.Operation{
		told(1, 2, claims("a", 0), lost),
	}},
	{"a claim is locked out by its own record", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, claims("a", 0), shown(running("a", 0, 2))),
	}},
	{"a live lease is taken over", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, claims("b", 10.0009), shown(running("b", 10, 2))),
	}},
	{"an unknown outcome is run again against the claim's will", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, refusing(claims("b", 11)), shown(running("b", 11, 2))),
	}},
	{"a finished record is run again in its last second", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), ok),
		told(5, 6, claims("b", 20.999), shown(running("b", 20, 1))),
	}},
	{"a second outcome is done, although another is there", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), ok),
		told(5, 6, completes("a", "paid again", 20), ok),
	}},
	{"an owner is told of an outcome that is not there", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), ok),
		told(5, 6, completes("a", "paid again", 20), answer{settled, done("a", "paid before", 20)}),
	}},
	{"a second outcome replaces the first", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), ok),
		told(5, 6, completes("a", "paid again", 20), ok),
		told(7, 8, look, shown(done("a", "paid again", 20))),
	}},
	{"an owner that was replaced completes", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, claims("b", 11), shown(running("b", 11, 2))),
		told(5, 6, completes("a", "late", 20), ok),
	}},
	{"an owner that was replaced gives up", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, claims("b", 11), shown(running("b", 11, 2))),
		told(5, 6, releases("a"), ok),
	}},
	{"an owner loses its lease to nobody", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), lost),
	}},
	{"a take-over loses a step", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, finishes("a", "reserve"), ok),
		told(5, 6, claims("b", 11), shown(running("b", 11, 2))),
	}},
	{"a release loses a step", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, finishes("a", "reserve"), ok),
		told(5, 6, releases("a"), ok),
		told(7, 8, claims("b", 1), shown(running("b", 1, 1))),
	}},
	{"a failure is run again", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, fails("a", "declined", 20), ok),
		told(5, 6, claims("b", 1), shown(running("b", 1, 2))),
	}},
	{"a record that was given up is completed", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, finishes("a", "reserve"), ok),
		told(5, 6, releases("a"), ok),
		told(7, 8, completes("a", "paid", 20), ok),
	}},
	{"another payload takes over", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, otherLoad(claims("b", 11)), shown(running("b", 11, 2))),
	}},
	{"a take-over starts to count anew", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, claims("b", 11), shown(running("b", 11, 1))),
	}},
	{"a finished record is released", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), ok),
		told(5, 6, releases("a"), ok),
		told(7, 8, look, nothing),
	}},
	{"read shows a run as finished", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, look, shown(done("a", "", 20))),
	}},
	{"a completion without an answer is carried out and undone", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), noAnswer),
		told(5, 6, look, shown(done("a", "paid", 20))),
		told(7, 8, look, shown(running("a", 0, 1))),
	}},
	{"a completion without an answer is carried out after its end", []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(3, 4, completes("a", "paid", 20), noAnswer),
		told(5, 6, look, shown(running("a", 0, 1))),
		told(7, 8, look, shown(done("a", "paid", 20))),
	}},
	{"a first try that nobody has lost", []porcupine.Operation{
		told(1, 4, claims("a", 0), shown(running("fast", 11, 2))),
		told(2, 3, claims("fast", 11), shown(running("fast", 11, 2))),
	}},
}

func TestWhatTheContractExplains(t *testing.T) {
	for _, story := range explicable {
		t.Run(story.name, func(t *testing.T) {
			if v := (promise{}).judge(story.calls); v.result != porcupine.Ok {
				t.Error(v)
			}
		})
	}
}

func TestWhatTheContractDoesNotExplain(t *testing.T) {
	for _, story := range inexplicable {
		t.Run(story.name, func(t *testing.T) {
			if v := (promise{}).judge(story.calls); v.result != porcupine.Illegal {
				t.Error(v)
			}
		})
	}
}

// replaced is a record whose outcome was "old" until a claim with a fast clock
// made a new one.
var replaced = []porcupine.Operation{
	told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
	told(3, 4, completes("a", "old", 20), ok),
	told(5, 6, claims("fast", 30), shown(running("fast", 30, 1))),
}

func TestHowFaithfullyRecordsAreShown(t *testing.T) {
	unknownAttempt := done("a", "old", 20)
	unknownAttempt.attempt = 0
	for _, story := range []struct {
		name   string
		before []porcupine.Operation
		call   call
		answer answer
		from   Fidelity // the first that explains it
	}{
		{"a claim replays what is there", replaced[:2], claims("b", 1), shown(done("a", "old", 20)), Exact},
		{"a claim replays without the attempt", replaced[:2], claims("b", 1), shown(unknownAttempt), Outcome},
		{"a claim replays another result", replaced[:2], claims("b", 1), shown(done("a", "new", 20)), never},
		{"a claim with a slow clock replays what was there", replaced, claims("slow", 1), shown(done("a", "old", 20)), FormerOutcome},
		{"a claim replays what was there, and has expired", replaced, claims("b", 30), shown(done("a", "old", 20)), never},
		{"a claim replays what never was there", replaced, claims("slow", 1), shown(done("a", "new", 20)), never},
		{"a claim is shown a run that is over", replaced, claims("slow", 1), shown(running("a", 0, 1)), never},
		{"a read shows what is there", replaced, look, shown(running("fast", 30, 1)), Exact},
		{"a read shows what was there", replaced, look, shown(done("a", "old", 20)), FormerOutcome},
		{"a read shows what never was there", replaced, look, shown(done("a", "new", 20)), never},
		{"a read shows a run that is over", replaced, look, shown(running("a", 0, 1)), Outcome},
		{"a read shows nothing", replaced, look, nothing, Outcome},
	} {
		t.Run(story.name, func(t *testing.T) {
			calls := append(append([]porcupine.Operation(nil), story.before...), told(7, 8, story.call, story.answer))
			for _, f := range []Fidelity{Exact, Outcome, FormerOutcome} {
				v := promise{acquires: f, reads: f}.judge(calls)
				if explained := v.result == porcupine.Ok; explained != (f >= story.from) {
					t.Errorf("fidelity %d: explained %v: %v", f, explained, v)
				}
			}
		})
	}
}

// never is no fidelity.
const never = FormerOutcome + 1

func TestAPuzzleEndsWithTheAnswerThatIsTheContradiction(t *testing.T) {
	calls := []porcupine.Operation{
		told(1, 2, claims("a", 0), shown(running("a", 0, 1))),
		told(2, 3, claims("c", 1), shown(running("a", 0, 1))),
		told(3, 20, releases("b"), lost),
		told(4, 5, completes("a", "paid", 20), ok),
		told(6, 7, claims("b", 1), shown(running("b", 1, 2))),
		told(8, 9, look, shown(running("b", 1, 2))),
	}
	const want = `not linearizable: no order of 5 calls of k explains the answer marked with *. The last that may have changed something:
  1–2 client 0: acquire as a at 0s, lease until 10s, record until 1m0s, payload A → PROCESSING of a, attempt 1, lease until 10s, record until 1m0s, payload A
  3– client 0: release as b, which is under way
  4–5 client 0: complete as a: COMPLETED with "paid" until 20s → ok
* 6–7 client 0: acquire as b at 1s, lease until 11s, record until 1m1s, payload A → PROCESSING of b, attempt 2, lease until 11s, record until 1m1s, payload A
One explanation of all other answers leaves: COMPLETED of a, attempt 1, record until 20s, payload A, result "paid"`
	if got := (promise{}).judge(calls).String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
