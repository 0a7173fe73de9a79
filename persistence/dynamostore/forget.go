package dynamostore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

var _ storekit.Forgetter = (*Store)(nil)

// Forget implements [storekit.Forgetter] with one conditional DeleteItem.
func (s *Store) Forget(ctx context.Context, seen persistence.Record) error {
	if err := (persistence.Lease{Key: seen.Key}).CheckKey(); err != nil {
		return err
	}
	applied, there, err := s.apply(ctx, s.forget(seen))
	if err == nil && !applied && s.shows(there, seen) {
		// It is what was seen, and written in another way than by this package: a time with
		// fractions, an owner that is an empty text.
		applied, there, err = s.apply(ctx, s.forgetItem(seen.Key, there))
	}
	switch {
	case err != nil:
		return fault("forget", err)
	case applied, there == nil:
		return nil
	default:
		return persistence.ErrLeaseLost
	}
}

// forget deletes a record that is as it was seen.
func (s *Store) forget(seen persistence.Record) conditional {
	then := item{}
	if seen.Owner != "" {
		then[s.schema.attr.Owner] = text(seen.Owner)
	}
	if !seen.LeaseUntil.IsZero() {
		then[s.schema.attr.LeaseUntil] = number(millis(seen.LeaseUntil))
	}
	u := update{schema: &s.schema, values: item{}}
	u.unchanged(phOwner, then)
	u.unchanged(phLease, then)
	if seen.Owner == "" { // another run of another toolkit differs in its expiry, if in anything
		if !seen.ExpiresAt.IsZero() {
			then[s.schema.attr.ExpireAt] = number(seen.ExpiresAt.Unix())
		}
		u.unchanged(phExpire, then)
	}
	u.used = append(u.used, phStatus)
	u.values[":status"] = text(string(seen.Status))
	condition := phStatus + " = :status"
	if seen.Status == persistence.StatusProcessing {
		u.values[":running"], u.values[":inProgress"] = s.schema.running, text(inProgress)
		condition = phStatus + " IN (:status, :running, :inProgress)"
	}
	u.conditions = append(u.conditions, condition)
	return s.deletion(seen.Key, u)
}

// shows tells whether an item is the record that was seen.
func (s *Store) shows(there item, seen persistence.Record) bool {
	if there == nil {
		return false
	}
	r, err := s.schema.outline(there)
	return err == nil && r.Owner == seen.Owner && r.Status == seen.Status && r.LeaseUntil.Equal(seen.LeaseUntil) &&
		(r.Owner != "" || r.ExpiresAt.Equal(seen.ExpiresAt))
}

// forgetItem deletes a record that is as it was found.
func (s *Store) forgetItem(key string, found item) conditional {
	u := update{schema: &s.schema, values: item{}}
	u.unchanged(phOwner, found)
	u.unchanged(phStatus, found)
	u.unchanged(phLease, found)
	u.unchanged(phExpire, found)
	return s.deletion(key, u)
}

func (s *Store) deletion(key string, u update) conditional {
	shape := u.shape()
	return conditional{key: key, write: Write{Delete: &types.Delete{
		TableName:                           s.table,
		Key:                                 s.schema.key(key),
		ConditionExpression:                 shape.condition,
		ExpressionAttributeNames:            shape.names,
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}}
}
