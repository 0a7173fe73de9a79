package dynamostore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// conditional is one conditional write of the record of a key.
type conditional struct {
	key      string
	write    Write
	returned types.ReturnValue // the item that the answer to an update brings
	with     []Write           // of the application, in one transaction with it
	holds    func(item) bool   // the condition, of one that can be in a transaction
	patience patience          // of one that is alone; nil persists
}

// apply sends a write. It returns the item that is there then: after the write,
// where that was asked for, or the one that was in the way of its condition, or
// nil where there is none.
func (s *Store) apply(ctx context.Context, w conditional) (applied bool, found item, err error) {
	var tried *tries // of a transaction
	if len(w.with) == 0 {
		repeat := w.patience
		if repeat == nil {
			repeat = request.persist
		}
		found, err = s.alone(ctx, w.write, w.returned, repeat)
	} else {
		var watching context.Context
		watching, tried = watched(ctx)
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
	look := s.look(key, consistent)
	if aws.ToBool(consistent) { // it tells what has become of a write
		return look.persist(ctx)
	}
	return look.retryBusy(ctx)
}

// look is a request for the item of a key.
func (s *Store) look(key string, consistent *bool) request {
	input := &dynamodb.GetItemInput{TableName: s.table, Key: s.schema.key(key), ConsistentRead: consistent}
	return func(ctx context.Context) (item, error) {
		input.ReturnConsumedCapacity = capacity(ctx)
		output, err := s.api.GetItem(ctx, input, s.limited...)
		if err != nil || output == nil {
			return nil, err
		}
		charge(ctx, output.ConsumedCapacity)
		if len(output.Item) == 0 {
			return nil, nil
		}
		return output.Item, nil
	}
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
	phVersion     = "#v"
	phStartedAt   = "#d"
	phFunction    = "#u"
	phRequestID   = "#i"
	phEvent       = "#y"
	phSortKey     = "#z"
)

// vacant is true of a missing record and of an expired one whose lease is over:
// the condition's form of persistence.Record.Expired. A lease that is missing, or
// is no number, makes its comparison false.
var vacant = aws.String("attribute_not_exists(#k) OR #x < :now AND NOT #l >= :nowms")

// mine is true of the record that a lease was given for.
const mine = "#o = :owner AND #s = :processing"
