package dynamostore

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// update collects the parts of a conditional write.
type update struct {
	schema     *schema
	used       []string // placeholders of names
	conditions []string
	sets       []assignment
	removes    []string
	values     item

	// Room for what most writes need, so that it is allocated once.
	update types.Update
	room   struct {
		used       [8]string
		conditions [2]string
		sets       [4]assignment
		removes    [2]string
	}
}

// assignment sets the attribute of a path of placeholders to a named value.
type assignment struct{ path, value string }

// mine begins a write of the record of a lease, with room for what completing it
// takes.
func (s *Store) mine(l persistence.Lease) *update {
	u := &update{schema: &s.schema, values: make(item, 8)}
	u.used, u.conditions, u.sets, u.removes = u.room.used[:0], u.room.conditions[:0], u.room.sets[:0], u.room.removes[:0]
	u.used = append(u.used, phOwner, phStatus)
	u.conditions = append(u.conditions, mine)
	u.values[":owner"] = text(l.Owner)
	u.values[":processing"] = s.schema.running
	return u
}

func (u *update) require(condition string) {
	u.used = append(u.used, phSteps)
	u.conditions = append(u.conditions, condition)
}

// unchanged requires an attribute to be as it was seen, or to be missing still.
func (u *update) unchanged(placeholder string, seen item) {
	u.used = append(u.used, placeholder)
	value, exists := seen[u.schema.nameOf[placeholder]]
	if !exists {
		u.conditions = append(u.conditions, "attribute_not_exists("+placeholder+")")
		return
	}
	seenValue := ":seen" + placeholder[1:]
	u.conditions = append(u.conditions, placeholder+" = "+seenValue)
	u.values[seenValue] = value
}

func (u *update) set(placeholder, valueName string, value types.AttributeValue) {
	u.used = append(u.used, placeholder)
	u.sets = append(u.sets, assignment{placeholder, valueName})
	u.values[valueName] = value
}

func (u *update) remove(placeholder string) {
	u.used = append(u.used, placeholder)
	u.removes = append(u.removes, placeholder)
}

// forward is true of a record whose lease and expiry a renewal moves on.
const forward = "#l <= :lease AND #x <= :expire"

// renew moves the end of the lease and the expiry on where the lease asks for that. What
// they are is not known at first, and need not be: they are as they were acquired, unless
// another renewal came between. That one leaves something to be seen.
func (u *update) renew(l persistence.Lease, seen item) {
	if l.Until.IsZero() {
		return
	}
	if seen == nil {
		u.conditions = append(u.conditions, forward)
		until, expiresAt := l.Renewal()
		u.set(phLease, ":lease", number(millis(until)))
		u.set(phExpire, ":expire", number(u.schema.seconds(expiresAt)))
		return
	}
	u.unchanged(phLease, seen)
	u.unchanged(phExpire, seen)
	there := u.schema.times(seen)
	then := l.Renewed(there)
	if !then.LeaseUntil.Equal(there.LeaseUntil) {
		u.set(phLease, ":lease", number(millis(then.LeaseUntil)))
	}
	if !then.ExpiresAt.Equal(there.ExpiresAt) {
		u.set(phExpire, ":expire", number(u.schema.seconds(then.ExpiresAt)))
	}
}

func (u *update) of(s *Store, key string) conditional {
	shape := u.shape()
	u.update = types.Update{
		TableName:                           s.table,
		Key:                                 s.schema.key(key),
		UpdateExpression:                    shape.expression,
		ConditionExpression:                 shape.condition,
		ExpressionAttributeNames:            shape.names,
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	return conditional{key: key, write: Write{Update: &u.update}}
}
