package dynamostore

import (
	"math"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// size is how large a record's item is for DynamoDB, in bytes, with its result as
// it is: the lengths of names and values, with the rules of the developer guide
// ("DynamoDB item sizes and formats"). An attempt that is not known, as to who
// completes, counts as one of two digits at most.
func (s *schema) size(r persistence.Record) int {
	n := len(s.attr.Key) + len(r.Key) +
		len(s.attr.Status) + len(r.Status) +
		len(s.attr.Owner) + len(r.Owner) +
		len(s.attr.Attempt) + sizeOf(int64(max(r.Attempt, 1))) +
		len(s.attr.Version) + sizeOf(version)
	if partition, composite := s.partition.(*types.AttributeValueMemberS); composite {
		n += len(s.attr.SortKey) + len(partition.Value)
	}
	if !r.Status.Finished() || !r.ExpiresAt.IsZero() {
		n += len(s.attr.ExpireAt) + sizeOf(s.seconds(r.ExpiresAt))
	}
	if r.Status == persistence.StatusProcessing {
		n += len(s.attr.LeaseUntil) + sizeOf(millis(r.LeaseUntil))
	} else if s.format != nil {
		n += len(s.attr.LeaseUntil) + sizeOf(math.MaxInt64) + len(s.format.SettledBy) + len(r.Owner)
	}
	if r.Fingerprint != "" {
		n += len(s.attr.Fingerprint) + len(r.Fingerprint)
	}
	switch {
	case r.ResultOmitted:
		n += len(s.attr.ResultEncoding) + len(encodingOmitted)
	case r.Status.Finished():
		n += len(s.attr.Result) + len(r.Result)
	}
	if s.format == nil {
		n += s.sizeOfRun(r)
	}
	if len(r.Steps) > 0 {
		n += s.sizeOfNoSteps()
		for name, output := range r.Steps {
			n += len(name) + len(output) + storekit.StepOverhead
		}
	}
	return n
}

// sizeOfRun is what a record says of its run, and the event that it keeps.
func (s *schema) sizeOfRun(r persistence.Record) (n int) {
	if !r.StartedAt.IsZero() {
		n += len(s.attr.StartedAt) + sizeOf(r.StartedAt.UnixMilli())
	}
	if r.Function != "" {
		n += len(s.attr.Function) + len(r.Function)
	}
	if r.RequestID != "" {
		n += len(s.attr.RequestID) + len(r.RequestID)
	}
	if len(r.Event) > 0 {
		n += len(s.attr.Event) + len(r.Event)
	}
	return n
}

// sizeOfNoSteps is what the steps take besides each of them.
func (s *schema) sizeOfNoSteps() int { return len(s.attr.Steps) + sizeOfCollection }

// sizeOf is the size of a whole number: a byte for each pair of digits, without
// the pairs of zeros at its end, one more, and another for a minus.
func sizeOf(n int64) int {
	size := 1
	if n < 0 {
		size++
		n = -n
	}
	for n != 0 && n%100 == 0 {
		n /= 100
	}
	for ; n > 0; n /= 100 {
		size++
	}
	return size
}
