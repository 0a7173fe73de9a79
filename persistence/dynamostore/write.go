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
	key      string
	write    Write
	returned types.ReturnValue // the item that the answer to an update brings
	with     []Write           // of the application, in one transaction with it
	holds    func(item) bool   // the condition, of one that can be in a transaction
}

// apply sends a write. It returns the item that is there then: after the write,
// where that was asked for, or the one that was in the way of its condition, or
// nil where there is none.
func (s *Store) apply(ctx context.Context, w conditional) (applied bool, found item, err error) {
	watching, tried := watched(ctx)
	if len(w.with) == 0 {
		found, err = s.alone(ctx, w.write, w.returned)
	} else {
		err = tried.judge(s.together(watching, append([]Write{w.write}, w.with...)...))
	}
	if err == nil {
		return true, found, nil
	}
	if refused := refusal(err, w.with, 1); refused != nil {
		return false, nil, tried.believe(refused)
	}
	found, failed := conditionFailed(err)
	silent := len(w.with) > 0 && unexplained(err)
	switch {
	case !failed && !silent:
		return false, nil, err
	case len(found) > 0:
		return false, found, nil
	}
	// Nothing was in the way, or the endpoint does not say what.
	cause := err
	found, err = s.get(ctx, w.key, aws.Bool(true))
	if err == nil && silent && w.holds(found) {
		err = cause // it was not the record
	}
	return false, found, err
}

func (s *Store) get(ctx context.Context, key string, consistent *bool) (item, error) {
	input := &dynamodb.GetItemInput{TableName: s.table, Key: s.schema.key(key), ConsistentRead: consistent}
	look := request(func(ctx context.Context) (item, error) {
		output, err := s.api.GetItem(ctx, input, s.limited...)
		if err != nil || len(output.Item) == 0 {
			return nil, err
		}
		return output.Item, nil
	})
	if aws.ToBool(consistent) { // it tells what has become of a write
		return look.persist(ctx)
	}
	return look.retryBusy(ctx)
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
	phSettledBy   = "#b"
)

// vacant is true of a missing record and of an expired one whose lease is over:
// the condition's form of persistence.Record.Expired. A lease that is missing, or
// is no number, makes its comparison false.
var vacant = aws.String("attribute_not_exists(#k) OR #x < :now AND NOT #l >= :nowms")

// mine is true of the record that a lease was given for.
const mine = "#o = :owner AND #s = :processing"

// insert writes a record for a claim, all of it, in place of a vacant one.
func (s *Store) insert(c persistence.Claim, record item) conditional {
	return conditional{key: c.Key, write: Write{Put: &types.Put{
		TableName:                s.table,
		Item:                     record,
		ConditionExpression:      vacant,
		ExpressionAttributeNames: s.schema.ofVacant,
		ExpressionAttributeValues: item{
			":now":   number(c.Now.Unix()),
			":nowms": number(c.Now.UnixMilli()),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}}
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
	u.remove(phResult) // in case that somebody has reset a finished record by hand
	u.remove(phEncoding)
	w := u.of(s, c.Key)
	w.returned = types.ReturnValueAllNew
	return w
}

// complete finishes the record of a lease.
func (s *Store) complete(l persistence.Lease, o persistence.Outcome, finished stored) conditional {
	u := s.mine(l)
	u.set(phStatus, ":status", text(string(o.Status)))
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
	w := u.of(s, l.Key)
	w.holds = func(found item) bool { return s.schema.isOf(found, l) }
	return w
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
	u.sets = append(u.sets, phSteps+"."+phStep+" = :output")
	u.values[":output"] = content(output)
	w := u.of(s, l.Key)
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
	return conditional{key: l.Key, write: Write{Delete: &types.Delete{
		TableName:                           s.table,
		Key:                                 s.schema.key(l.Key),
		ConditionExpression:                 u.condition(),
		ExpressionAttributeNames:            u.names(),
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}}
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
	u.sets = append(u.sets, placeholder+" = "+valueName)
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

func (u *update) condition() *string { return aws.String(strings.Join(u.conditions, " AND ")) }

func (u *update) names() map[string]string { return u.schema.names(u.used...) }

func (u *update) of(s *Store, key string) conditional {
	expression := "SET " + strings.Join(u.sets, ", ")
	if len(u.removes) > 0 {
		expression += " REMOVE " + strings.Join(u.removes, ", ")
	}
	return conditional{key: key, write: Write{Update: &types.Update{
		TableName:                           s.table,
		Key:                                 s.schema.key(key),
		UpdateExpression:                    aws.String(expression),
		ConditionExpression:                 u.condition(),
		ExpressionAttributeNames:            u.names(),
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}}
}
