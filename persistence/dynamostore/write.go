package dynamostore

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// conditional is one conditional write of the record of a key.
type conditional struct {
	key  string
	send request // for the item after the write, where that was asked for
}

// apply sends a write. It returns the item that is there then: after the write,
// where that was asked for, or the one that was in the way of its condition, or
// nil where there is none.
func (s *Store) apply(ctx context.Context, w conditional) (applied bool, found item, err error) {
	found, err = retryBusy(ctx, w.send)
	if err == nil {
		return true, found, nil
	}
	found, failed := conditionFailed(err)
	switch {
	case !failed:
		return false, nil, err
	case len(found) > 0:
		return false, found, nil
	}
	// Nothing was in the way, or the endpoint does not say what.
	found, err = s.get(ctx, w.key, aws.Bool(true))
	return false, found, err
}

func (s *Store) get(ctx context.Context, key string, consistent *bool) (item, error) {
	input := &dynamodb.GetItemInput{TableName: s.table, Key: s.schema.key(key), ConsistentRead: consistent}
	return retryBusy(ctx, func(ctx context.Context) (item, error) {
		output, err := s.api.GetItem(ctx, input, s.limited...)
		if err != nil || len(output.Item) == 0 {
			return nil, err
		}
		return output.Item, nil
	})
}

// The placeholders of all expressions. Every name goes through one, so names may
// be reserved words.
const (
	phKey         = "#k"
	phStatus      = "#s"
	phOwner       = "#o"
	phLease       = "#l"
	phExpire      = "#x"
	phFingerprint = "#f"
	phResult      = "#r"
	phEncoding    = "#e"
	phSteps       = "#t"
	phAttempt     = "#a"
	phStep        = "#n"
)

// vacant is true of a missing record and of an expired one whose lease is over:
// the condition's form of persistence.Record.Expired. A lease that is missing, or
// is no number, makes its comparison false.
var vacant = aws.String("attribute_not_exists(#k) OR #x < :now AND NOT #l >= :nowms")

// mine is true of the record that a lease was given for.
const mine = "#o = :owner AND #s = :processing"

// insert writes the fresh record of a claim, all of it, in place of a vacant one.
func (s *Store) insert(c persistence.Claim) conditional {
	input := &dynamodb.PutItemInput{
		TableName:                s.table,
		Item:                     s.schema.encode(c.Fresh()),
		ConditionExpression:      vacant,
		ExpressionAttributeNames: s.schema.ofVacant,
		ExpressionAttributeValues: item{
			":now":   number(c.Now.Unix()),
			":nowms": number(c.Now.UnixMilli()),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	return conditional{c.Key, func(ctx context.Context) (item, error) {
		_, err := s.api.PutItem(ctx, input, s.limited...)
		return nil, err
	}}
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
	u.set(phStatus, ":processing", processing)
	u.set(phOwner, ":owner", text(c.Owner))
	u.set(phLease, ":lease", number(millis(c.LeaseUntil)))
	u.set(phExpire, ":expire", number(seconds(c.ExpiresAt)))
	u.set(phAttempt, ":attempt", number(int64(s.schema.attempt(seen)+1)))
	if c.Fingerprint != "" {
		u.set(phFingerprint, ":fingerprint", text(c.Fingerprint))
	}
	u.remove(phResult) // in case that somebody has reset a finished record by hand
	u.remove(phEncoding)
	input := u.input(s, c.Key)
	input.ReturnValues = types.ReturnValueAllNew
	return s.updating(c.Key, input)
}

// complete finishes the record of a lease.
func (s *Store) complete(l persistence.Lease, o persistence.Outcome, finished stored) conditional {
	u := s.mine(l)
	u.set(phStatus, ":status", text(string(o.Status)))
	u.set(phExpire, ":expire", number(seconds(o.ExpiresAt)))
	if finished.encoding != "" {
		u.set(phEncoding, ":encoding", text(finished.encoding))
	}
	if finished.result != nil {
		u.set(phResult, ":result", finished.result)
	}
	u.remove(phLease)
	return u.of(s, l.Key)
}

// suspend gives the record of a lease up and keeps its steps.
func (s *Store) suspend(l persistence.Lease) conditional {
	u := s.mine(l)
	u.set(phStatus, ":status", text(string(persistence.StatusPartial)))
	u.remove(phLease)
	return u.of(s, l.Key)
}

// firstStep adds the first of the steps.
func (s *Store) firstStep(l persistence.Lease, step string, output []byte) conditional {
	u := s.mine(l)
	u.require("attribute_not_exists(" + phSteps + ")")
	u.set(phSteps, ":steps", &types.AttributeValueMemberM{Value: item{step: content(output)}})
	return u.of(s, l.Key)
}

// furtherStep adds a step to others. One that is there stays as it is.
func (s *Store) furtherStep(l persistence.Lease, step string, output []byte) conditional {
	u := s.mine(l)
	u.require("attribute_exists(" + phSteps + ")")
	u.sets = append(u.sets, "#t.#n = if_not_exists(#t.#n, :output)")
	u.values[":output"] = content(output)
	w := u.input(s, l.Key)
	w.ExpressionAttributeNames[phStep] = step
	return s.updating(l.Key, w)
}

// remove deletes the record of a lease, unless it has steps.
func (s *Store) remove(l persistence.Lease) conditional {
	u := s.mine(l)
	u.require("attribute_not_exists(" + phSteps + ")")
	input := &dynamodb.DeleteItemInput{
		TableName:                           s.table,
		Key:                                 s.schema.key(l.Key),
		ConditionExpression:                 u.condition(),
		ExpressionAttributeNames:            u.names(),
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	return conditional{l.Key, func(ctx context.Context) (item, error) {
		_, err := s.api.DeleteItem(ctx, input, s.limited...)
		return nil, err
	}}
}

// update collects the parts of a conditional write.
type update struct {
	schema     *schema
	used       []string // placeholders of names
	conditions []string
	sets       []string
	removes    []string
	values     item
}

// mine begins a write of the record of a lease, with room for what completing it
// takes.
func (s *Store) mine(l persistence.Lease) *update {
	u := &update{
		schema:     &s.schema,
		used:       make([]string, 0, 8),
		conditions: make([]string, 0, 2),
		sets:       make([]string, 0, 4),
		values:     make(item, 8),
	}
	u.used = append(u.used, phOwner, phStatus)
	u.conditions = append(u.conditions, mine)
	u.values[":owner"] = text(l.Owner)
	u.values[":processing"] = processing
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
	u.sets = append(u.sets, placeholder+" = "+valueName)
	u.values[valueName] = value
}

func (u *update) remove(placeholder string) {
	u.used = append(u.used, placeholder)
	u.removes = append(u.removes, placeholder)
}

func (u *update) condition() *string { return aws.String(strings.Join(u.conditions, " AND ")) }

func (u *update) names() map[string]string { return u.schema.names(u.used...) }

func (u *update) input(s *Store, key string) *dynamodb.UpdateItemInput {
	expression := "SET " + strings.Join(u.sets, ", ")
	if len(u.removes) > 0 {
		expression += " REMOVE " + strings.Join(u.removes, ", ")
	}
	return &dynamodb.UpdateItemInput{
		TableName:                           s.table,
		Key:                                 s.schema.key(key),
		UpdateExpression:                    aws.String(expression),
		ConditionExpression:                 u.condition(),
		ExpressionAttributeNames:            u.names(),
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

func (u *update) of(s *Store, key string) conditional { return s.updating(key, u.input(s, key)) }

func (s *Store) updating(key string, input *dynamodb.UpdateItemInput) conditional {
	return conditional{key, func(ctx context.Context) (item, error) {
		output, err := s.api.UpdateItem(ctx, input, s.limited...)
		if err != nil {
			return nil, err
		}
		return output.Attributes, nil
	}}
}
