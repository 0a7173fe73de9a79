package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
)

// The findings below are what is not as promised, and empty if all is.

// answered finds fault with another status than the given one.
func answered(b Beat, status int) string {
	if b.Answer.Status == status {
		return ""
	}
	return fmt.Sprintf("%s answered %d instead of %d: %s%s", b.Environment, b.Answer.Status, status, b.Answer.Failure, b.Answer.Body)
}

// ownAnswer finds fault with an answer that says it is an earlier one.
func ownAnswer(b Beat) string {
	if !b.Answer.Replayed {
		return ""
	}
	return fmt.Sprintf("%s says that its answer is a replay", b.Environment)
}

// sameAnswer finds fault with an answer whose status or body differs from those of
// the first one.
func sameAnswer(b, first Beat) string {
	if b.Answer.Status == first.Answer.Status && b.Answer.Body == first.Answer.Body {
		return ""
	}
	return fmt.Sprintf("%s answered %d %q instead of %d %q", b.Environment, b.Answer.Status, b.Answer.Body, first.Answer.Status, first.Answer.Body)
}

// markedAsReplay finds fault with an answer that does not say it is an earlier one.
func markedAsReplay(b Beat) string {
	if b.Answer.Replayed {
		return ""
	}
	return fmt.Sprintf("%s does not say that its answer is a replay", b.Environment)
}

// toldToWait finds fault with an answer that does not say when to come back.
func toldToWait(b Beat) string {
	if b.Answer.RetryAfter > 0 {
		return ""
	}
	return fmt.Sprintf("%s did not say when to retry", b.Environment)
}

// killed finds fault with a run that ended in any other way than by its time-out;
// failure is what Lambda says of it.
func killed(w Work, failure string) string {
	if strings.Contains(failure, "timed out") {
		return ""
	}
	return fmt.Sprintf("%s was not killed, but ended with %q", w.Environment, failure)
}

// crashed finds fault with a run whose process was not killed in the middle of it.
func crashed(w Work, failure string) string {
	if failure == sigkill {
		return ""
	}
	return fmt.Sprintf("%s has not crashed, but ended with %q", w.Environment, failure)
}

// sigkill is what is said of a run whose process was killed.
const sigkill = "killed (SIGKILL)"

// delivered finds fault with a batch of other messages than the given ones.
func delivered(b Batch, want ...string) string {
	got := idsOf(b.Messages)
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("the queue delivered %q instead of %q", got, want)
}

// comesBack finds fault with a batch of which other messages come back than the
// given ones.
func comesBack(b Batch, want ...string) string {
	var failed []Message
	for _, m := range b.Messages {
		if m.Failed {
			failed = append(failed, m)
		}
	}
	got := idsOf(failed)
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("of the batch of %s %q come back instead of %q: %s", b.Environment, got, want, b.Failure)
}

func idsOf(messages []Message) []string {
	var ids []string
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return ids
}

// took finds fault with other requests on the idempotency table than the given
// ones, in order. A failed condition is marked: see refused.
func took(w Work, want ...string) string {
	return compareRequests(w, protocolOf(w), want)
}

// tookInAnyOrder does so for what runs at the same time.
func tookInAnyOrder(w Work, want ...string) string {
	return compareRequests(w, slices.Sorted(slices.Values(protocolOf(w))), slices.Sorted(slices.Values(want)))
}

func protocolOf(w Work) []string {
	var protocol []string
	for _, r := range w.Requests {
		if r.ofRecords() {
			protocol = append(protocol, r.String())
		}
	}
	return protocol
}

func compareRequests(w Work, got, want []string) string {
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("%s took the requests %q instead of %q", w.Environment, got, want)
}

// refused is how a request whose condition failed is written.
func refused(operation string) string { return operation + conditionFailed }

const conditionFailed = " ✗"

// String is the operation and, if it failed, why.
func (r Request) String() string {
	switch r.Error {
	case "":
		return r.Operation
	case "ConditionalCheckFailedException", "TransactionCanceledException":
		return refused(r.Operation)
	default:
		return r.Operation + " " + r.Error
	}
}

// untouched finds fault with a request to any other table than the idempotency
// table: the handler has run.
func untouched(w Work) string {
	for _, r := range w.Requests {
		if !r.ofRecords() {
			return fmt.Sprintf("%s ran the handler: it sent %s to %s", w.Environment, r, r.Table)
		}
	}
	return ""
}

// done finds fault with effects had more or less often than the given number.
func (s *stage) done(w wish, times int) string {
	for _, e := range w.effects() {
		if got := s.count(e); got != times {
			return fmt.Sprintf("for %s there are %s instead of %d", w.name(), counted(got, e.kind), times)
		}
	}
	return ""
}

// recorded finds fault with a record that is missing, or in another state.
func (s *stage) recorded(w wish, status persistence.Status, attempt int) string {
	switch record, found := s.record(w); {
	case !found:
		return fmt.Sprintf("%s has no record", w.name())
	case record.Status != string(status) || record.Attempt != attempt:
		return fmt.Sprintf("the record of %s is %s in attempt %d instead of %s in attempt %d", w.name(), record.Status, record.Attempt, status, attempt)
	default:
		return ""
	}
}

// unrecorded finds fault with a record that is there.
func (s *stage) unrecorded(w wish) string {
	if record, found := s.record(w); found {
		return fmt.Sprintf("%s has a record that is %s", w.name(), record.Status)
	}
	return ""
}

// unchanged finds fault with a record that is not as it was.
func (s *stage) unchanged(w wish, was Record) string {
	if record, found := s.record(w); !found || record != was {
		return fmt.Sprintf("the record of %s is %+v instead of %+v", w.name(), record, was)
	}
	return ""
}

// finished finds fault with a record that has other steps than the given ones, in the
// order in which they were recorded.
func (s *stage) finished(w wish, want ...string) string {
	var got []string
	for _, row := range s.steps(w) {
		got = append(got, row.Name)
	}
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("the record of %s has the steps %q instead of %q", w.name(), got, want)
}

// inStock finds fault with another quantity of goods in stock.
func (s *stage) inStock(want int) string {
	if got := s.stock(); got != want {
		return fmt.Sprintf("there are %d %s in stock instead of %d", got, goods, want)
	}
	return ""
}

// paid finds fault with a start that has paid another number of employees, or was
// told of others that were.
func paid(s Start, now, before int) string {
	if s.Failure == "" && s.Paid == now && s.Before == before && s.Left == 0 {
		return ""
	}
	return fmt.Sprintf("%s has paid %d, and %d were before (%s), instead of %d and %d", s.Environment, s.Paid, s.Before, s.Failure, now, before)
}

// unfinished finds fault with a start that does not say that somebody is left.
func unfinished(s Start) string {
	if strings.HasPrefix(s.Failure, "UnfinishedError: ") {
		return ""
	}
	return fmt.Sprintf("%s does not say that somebody is left: %q", s.Environment, s.Failure)
}

// queued finds fault with another number of messages in the queue.
func (s *stage) queued(want int) string {
	if got := s.queue.Len(); got != want {
		return fmt.Sprintf("the queue holds %s instead of %d", counted(got, "message"), want)
	}
	return ""
}

// dead finds fault with other messages in the dead-letter queue than the given ones.
func (s *stage) dead(want ...string) string {
	var got []string
	for _, letter := range s.queue.DeadLetters() {
		got = append(got, letter.Body)
	}
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("the dead-letter queue holds %q instead of %q", got, want)
}
