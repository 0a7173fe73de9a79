package dynamostore

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// The arrows of a record's life, each as one conditional write.

// insert writes a record for a claim, all of it, in place of a vacant one.
func (s *Store) insert(c persistence.Claim, record item) conditional {
	return conditional{key: c.Key, write: Write{Put: &types.Put{
		TableName:                s.table,
		Item:                     record,
		ConditionExpression:      vacant,
		ExpressionAttributeNames: s.schema.ofVacant,
		ExpressionAttributeValues: item{
			":now":   number(c.Now.Unix()),
			":nowms": s.schema.millisOf(c, record),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}}
}

// millisOf is the claim's time: as a rule the one that its record has started at.
func (s *schema) millisOf(c persistence.Claim, record item) types.AttributeValue {
	if started, ok := record[s.attr.StartedAt]; ok && c.Run.StartedAt.Equal(c.Now) && s.format == nil {
		return started
	}
	return number(c.Now.UnixMilli())
}

// takeOver makes the stale record just seen the claim's own: a compare-and-swap
// on its owner, status and lease, so that of many callers one wins and an owner
// who is late after all is not overwritten. The steps stay, also one that the late
// owner has added since: hence the item is asked for as it is after the write.
func (s *Store) takeOver(c persistence.Claim, seen item) conditional {
	u := update{schema: &s.schema, values: item{}}
	u.unchanged(phOwner, seen)
	u.unchanged(phStatus, seen)
	u.unchanged(phLease, seen)
	u.set(phStatus, ":processing", s.schema.running)
	u.set(phOwner, ":owner", text(c.Owner))
	u.set(phLease, ":lease", number(millis(c.LeaseUntil)))
	u.set(phExpire, ":expire", number(s.schema.seconds(c.ExpiresAt)))
	u.set(phAttempt, ":attempt", number(int64(s.schema.attempt(seen)+1)))
	if c.Fingerprint != "" {
		u.set(phFingerprint, ":fingerprint", text(c.Fingerprint))
	}
	u.takeOverRun(c, seen)
	u.remove(phResult) // in case that somebody has reset a finished record by hand
	u.remove(phEncoding)
	w := u.of(s, c.Key)
	w.returned = types.ReturnValueAllNew
	return w
}

// takeOverRun puts the run of a claim in the place of the one before, and its event, where
// it has one.
func (u *update) takeOverRun(c persistence.Claim, seen item) {
	if u.schema.format != nil {
		return
	}
	claimed := item{}
	u.schema.encodeRun(claimed, c.Fresh())
	for _, a := range []struct{ placeholder, value string }{{phStartedAt, ":startedAt"}, {phFunction, ":function"}, {phRequestID, ":requestID"}, {phEvent, ":event"}} {
		name := u.schema.nameOf[a.placeholder]
		value, claims := claimed[name]
		_, there := seen[name]
		switch {
		case claims:
			u.set(a.placeholder, a.value, value)
		case there && a.placeholder != phEvent && c.Run != (persistence.Run{}):
			u.remove(a.placeholder)
		}
	}
}

// complete finishes the record of a lease.
func (s *Store) complete(l persistence.Lease, o persistence.Outcome, finished stored) conditional {
	u := s.mine(l)
	u.set(phStatus, ":status", statusOf(o.Status))
	if o.ExpiresAt.IsZero() {
		u.remove(phExpire)
	} else {
		u.set(phExpire, ":expire", number(s.schema.seconds(o.ExpiresAt)))
	}
	if finished.encoding != "" {
		u.set(phEncoding, ":encoding", text(finished.encoding))
	}
	if finished.result != nil {
		u.set(phResult, ":result", finished.result)
	}
	if s.schema.format != nil {
		u.set(phSettledBy, ":owner", text(l.Owner)) // the lease stays, as they leave it
	} else {
		u.remove(phLease)
	}
	if len(l.Event) > 0 {
		u.remove(phEvent)
	}
	return u.of(s, l.Key)
}

// ofLease is the condition of what completes the record of a lease.
func (s *schema) ofLease(l persistence.Lease) func(found item) bool {
	return func(found item) bool { return s.isOf(found, l) }
}

// suspend gives the record of a lease up and keeps its steps.
func (s *Store) suspend(l persistence.Lease) conditional {
	u := s.mine(l)
	u.set(phStatus, ":status", text(string(persistence.StatusPartial)))
	u.remove(phLease)
	return u.of(s, l.Key)
}

// renewal moves the end of a lease on, and nothing else. What was seen is the owner's
// record, or nil where it is not known.
func (s *Store) renewal(l persistence.Lease, seen item) conditional {
	u := s.mine(l)
	u.renew(l, seen)
	return u.of(s, l.Key)
}

// firstStep adds the first of the steps.
func (s *Store) firstStep(l persistence.Lease, seen item, step string, output []byte) conditional {
	u := s.mine(l)
	u.renew(l, seen)
	u.require("attribute_not_exists(" + phSteps + ")")
	u.set(phSteps, ":steps", &types.AttributeValueMemberM{Value: item{step: content(output)}})
	w := u.of(s, l.Key)
	w.holds = func(found item) bool {
		return s.schema.isOf(found, l) && s.schema.movesOn(l, seen, found) && !s.schema.hasSteps(found)
	}
	return w
}

// furtherStep adds a step to others. One that is there stays as it is.
func (s *Store) furtherStep(l persistence.Lease, seen item, step string, output []byte) conditional {
	u := s.mine(l)
	u.renew(l, seen)
	u.require("attribute_exists(" + phSteps + ")")
	u.require("attribute_not_exists(" + phSteps + "." + phStep + ")")
	u.sets = append(u.sets, assignment{phSteps + "." + phStep, ":output"})
	u.values[":output"] = content(output)
	w := u.of(s, l.Key)
	w.write.Update.ExpressionAttributeNames = maps.Clone(w.write.Update.ExpressionAttributeNames) // it is the shape's
	w.write.Update.ExpressionAttributeNames[phStep] = step
	w.holds = func(found item) bool {
		return s.schema.isOf(found, l) && s.schema.movesOn(l, seen, found) &&
			s.schema.hasSteps(found) && !s.schema.hasStep(found, step)
	}
	return w
}

// remove deletes the record of a lease, unless it has steps.
func (s *Store) remove(l persistence.Lease) conditional {
	u := s.mine(l)
	u.require("attribute_not_exists(" + phSteps + ")")
	shape := u.shape()
	return conditional{key: l.Key, write: Write{Delete: &types.Delete{
		TableName:                           s.table,
		Key:                                 s.schema.key(l.Key),
		ConditionExpression:                 shape.condition,
		ExpressionAttributeNames:            shape.names,
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}}
}
