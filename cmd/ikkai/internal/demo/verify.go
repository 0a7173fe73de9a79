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

// sameBytes finds fault with an answer whose status or body differs from that of the
// first one. A replay says in a header that it is one.
func sameBytes(b, first Beat) string {
	if b.Answer.Status == first.Answer.Status && b.Answer.Body == first.Answer.Body {
		return ""
	}
	return fmt.Sprintf("%s answered %q instead of %q", b.Environment, b.Answer.raw, first.Answer.raw)
}

// toldToWait finds fault with an answer that does not say when to come back.
func toldToWait(b Beat) string {
	if b.Answer.RetryAfter > 0 {
		return ""
	}
	return fmt.Sprintf("%s did not say when to retry", b.Environment)
}

// killed finds fault with a run that ended in any other way than by its time-out.
func killed(b Beat) string {
	if strings.Contains(b.Answer.Failure, "timed out") {
		return ""
	}
	return fmt.Sprintf("%s was not killed but answered %d: %s%s", b.Environment, b.Answer.Status, b.Answer.Failure, b.Answer.Body)
}

// took finds fault with other requests on the idempotency table than the given
// ones, in order. A failed condition is marked: see refused.
func took(b Beat, want ...string) string {
	var got []string
	for _, r := range b.Requests {
		if r.Table == idempotencyTable {
			got = append(got, r.String())
		}
	}
	if slices.Equal(got, want) {
		return ""
	}
	return fmt.Sprintf("%s took the requests %q instead of %q", b.Environment, got, want)
}

// refused is how a request whose condition failed is written.
func refused(operation string) string { return operation + conditionFailed }

const conditionFailed = " ✗"

// String is the operation and, if it failed, why.
func (r Request) String() string {
	switch r.Error {
	case "":
		return r.Operation
	case "ConditionalCheckFailedException":
		return refused(r.Operation)
	default:
		return r.Operation + " " + r.Error
	}
}

// untouched finds fault with a request to any other table than the idempotency
// table: the handler has run.
func untouched(b Beat) string {
	for _, r := range b.Requests {
		if r.Table != idempotencyTable {
			return fmt.Sprintf("%s ran the handler: it sent %s to %s", b.Environment, r, r.Table)
		}
	}
	return ""
}

// charged finds fault with another number of charges than the given one.
func (s *stage) charged(o Order, want int) string {
	if got := s.charges(o); got != want {
		return fmt.Sprintf("%s was charged %d times instead of %d", o.Key, got, want)
	}
	return ""
}

// recorded finds fault with a record that is missing, or in another state.
func (s *stage) recorded(o Order, status persistence.Status, attempt int) string {
	switch record, found := s.record(o); {
	case !found:
		return fmt.Sprintf("%s has no record", o.Key)
	case record.Status != string(status) || record.Attempt != attempt:
		return fmt.Sprintf("the record of %s is %s in attempt %d instead of %s in attempt %d", o.Key, record.Status, record.Attempt, status, attempt)
	default:
		return ""
	}
}

// unrecorded finds fault with a record that is there.
func (s *stage) unrecorded(o Order) string {
	if record, found := s.record(o); found {
		return fmt.Sprintf("%s has a record that is %s", o.Key, record.Status)
	}
	return ""
}

// unchanged finds fault with a record that is not as it was.
func (s *stage) unchanged(o Order, was Record) string {
	if record, found := s.record(o); !found || record != was {
		return fmt.Sprintf("the record of %s is %+v instead of %+v", o.Key, record, was)
	}
	return ""
}
