package dynamostore

import (
	"bytes"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// What an item that was found says about the lease that asks.

// isOf tells whether an item is the PROCESSING record of a lease.
func (s *schema) isOf(i item, l persistence.Lease) bool {
	return s.owner(i) == l.Owner && s.status(i) == persistence.StatusProcessing
}

// settledBy tells whether an owner has finished the record of an item.
func (s *schema) settledBy(i item, owner string) bool {
	if !s.status(i).Finished() {
		return false
	}
	if s.format != nil {
		return textOf(i[s.format.SettledBy]) == owner
	}
	return s.owner(i) == owner
}

// renews tells whether a renewal changes anything about the owner's item.
func (s *schema) renews(l persistence.Lease, i item) bool {
	there := s.times(i)
	then := l.Renewed(there)
	return !then.LeaseUntil.Equal(there.LeaseUntil) || !then.ExpiresAt.Equal(there.ExpiresAt)
}

// movesOn tells whether a renewal's own condition holds for an item: see update.renew.
func (s *schema) movesOn(l persistence.Lease, seen, found item) bool {
	if l.Until.IsZero() {
		return true
	}
	there := s.times(found)
	if seen != nil {
		before := s.times(seen)
		return there.LeaseUntil.Equal(before.LeaseUntil) && there.ExpiresAt.Equal(before.ExpiresAt)
	}
	until, expiresAt := l.Renewal()
	return !there.LeaseUntil.IsZero() && !there.LeaseUntil.After(until) &&
		!there.ExpiresAt.IsZero() && there.ExpiresAt.Unix() <= s.seconds(expiresAt)
}

func (s *schema) hasSteps(i item) bool {
	_, exists := i[s.attr.Steps]
	return exists
}

func (s *schema) hasStep(i item, name string) bool {
	steps, ok := i[s.attr.Steps].(*types.AttributeValueMemberM)
	if !ok {
		return false
	}
	_, exists := steps.Value[name]
	return exists
}

// hasOther tells whether an item has a step with another output.
func (s *schema) hasOther(i item, name string, output []byte) bool {
	if !s.hasStep(i, name) {
		return false
	}
	there, ok := contentOf(i[s.attr.Steps].(*types.AttributeValueMemberM).Value[name])
	return !ok || !bytes.Equal(there, output)
}

// records tells whether a finished item says what an outcome says, in the form that it
// would be kept in.
func (s *schema) records(i item, o persistence.Outcome, finished stored) bool {
	return s.status(i) == o.Status &&
		textOf(i[s.attr.ResultEncoding]) == finished.encoding &&
		reflect.DeepEqual(i[s.attr.Result], finished.result)
}
