package dynamostore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// CompleteWith implements [storekit.Transactor]: the writes are [Write] values,
// and the record's own update is the first of the transaction.
//
// That an owner finds its record finished by itself means that its writes were
// applied with it: an owner is one run and completes with one set of writes, and what
// was refused or did not fit was not applied. A caller who completes without writes
// first has decided that they don't happen.
func (s *Store) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	admitted, err := s.admit(l.Key, writes)
	if err != nil {
		return err
	}
	return s.completeWith(ctx, l, o, admitted)
}

// CheckpointWith implements [storekit.Transactor]. A step that is there was
// written with its own writes, for the same reason.
func (s *Store) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	admitted, err := s.admit(l.Key, writes)
	if err != nil {
		return err
	}
	return s.checkpointWith(ctx, l, step, output, admitted)
}

// CompleteAtOnce implements [storekit.Transactor]. Without writes it is a PutItem.
func (s *Store) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []storekit.Write) (persistence.Record, error) {
	admitted, err := s.admit(c.Key, writes)
	if err := errors.Join(s.checkClaim(c), o.Check(), err); err != nil {
		return persistence.Record{}, err
	}
	finished := o.Of(c.Fresh().Lease())
	finished.Attempt = 1
	content, err := s.schema.stored(finished)
	if err != nil {
		return persistence.Record{}, err
	}
	if content.size > maxItem {
		return persistence.Record{}, persistence.ErrTooLarge
	}
	write := s.insert(c, s.schema.encode(finished, content))
	write.with = admitted
	write.holds = func(found item) bool {
		_, judgement, err := s.judge(c, found)
		return err == nil && judgement == persistence.Vacant
	}
	for range maxRounds {
		applied, found, err := s.apply(ctx, write)
		switch {
		case err != nil:
			return persistence.Record{}, fault("complete", err)
		case applied:
			return finished, nil
		}
		record, judgement, err := s.judge(c, found)
		switch {
		case err != nil:
			return persistence.Record{}, fault("complete", err)
		case judgement == persistence.Owned && !record.Status.Finished():
			return persistence.Record{}, fmt.Errorf("%w: the claim was acquired before", persistence.ErrInvalid)
		case judgement != persistence.Vacant:
			return record, nil
		}
		// What was in the way is gone.
	}
	return persistence.Record{}, fault("complete", errContended)
}

// Commit implements [storekit.Transactor].
func (s *Store) Commit(ctx context.Context, writes []storekit.Write) error {
	admitted, err := wholeTransaction.admit(writes)
	if err != nil {
		return err
	}
	return s.commit(ctx, admitted)
}

// Apply carries writes out by themselves, outside a guarded call: all of them or
// none, in one transaction, or in a single request if there is only one and it is
// [Write.Repeatable]. Its errors are those of [storekit.Transactor].
//
// It is safe to repeat only as far as the writes' own conditions make it so.
func Apply(ctx context.Context, api API, writes ...Write) error {
	if err := wholeTransaction.check(writes); err != nil {
		return err
	}
	return newWire(api, defaultRequestTimeout).commit(ctx, writes)
}

// commit carries writes out without a record.
func (w wire) commit(ctx context.Context, writes []Write) (err error) {
	watching, tried := watched(ctx)
	switch {
	case len(writes) == 0:
		return nil
	case len(writes) == 1 && writes[0].Repeatable && writes[0].ConditionCheck == nil:
		_, err = w.alone(watching, writes[0].sent(), "", request.persist)
	default:
		err = w.together(watching, sent(writes)...)
	}
	if refused := refusal(err, writes, 0); refused != nil {
		return fault("commit", tried.believe(refused))
	}
	return fault("commit", tried.judge(err))
}

func sent(writes []Write) []Write {
	copies := make([]Write, len(writes))
	for i, w := range writes {
		copies[i] = w.sent()
	}
	return copies
}

// admit returns the writes that are to be carried out with the record of a key.
func (s *Store) admit(key string, writes []storekit.Write) ([]Write, error) {
	admitted, err := besideRecord.admit(writes)
	if err != nil {
		return nil, err
	}
	record := s.schema.key(key)
	for i, w := range admitted {
		if w.isOn(aws.ToString(s.table), record) {
			return nil, fmt.Errorf("%w: write %d is on the record itself", persistence.ErrInvalid, i)
		}
	}
	return sent(admitted), nil
}

// refusal returns the error of a request that was refused for the sake of the
// application's writes, of which the first has that index; nil if it was not. What
// DynamoDB refuses as a whole is their fault as well: it does not depend on what is
// in the tables, and the record's write is right.
func refusal(err error, writes []Write, first int) error {
	if len(writes) == 0 || err == nil {
		return nil
	}
	if index, reason, known := decisive(err); known {
		if index < first || busy(err) {
			return nil
		}
		return &persistence.RefusedError{Index: index - first, Err: writes[index-first].because(reason)}
	}
	if failure, ok := errors.AsType[smithy.APIError](err); ok && failure.ErrorCode() == validation {
		return errors.Join(persistence.ErrInvalid, err)
	}
	return nil
}

// ErrCondition matches every [*ConditionError].
var ErrCondition = errors.New("dynamostore: the condition of a write does not hold")

// ConditionError says that the condition of a write did not hold. It comes inside a
// [*persistence.RefusedError].
type ConditionError struct {
	// Table that the write was on.
	Table string
	// Item that is there; nil if there is none, or the endpoint does not tell.
	Item map[string]types.AttributeValue
}

func (e *ConditionError) Error() string {
	return fmt.Sprintf("dynamostore: the condition of a write on %s does not hold", e.Table)
}

// Is matches [ErrCondition].
func (e *ConditionError) Is(target error) bool { return target == ErrCondition }

// ItemError says that DynamoDB could not carry a write out on the item as it is: the
// item would be too large, say, or an attribute has the wrong type. It comes inside a
// [*persistence.RefusedError].
type ItemError struct {
	// Table that the write was on.
	Table string
	// Code is DynamoDB's, such as "ValidationError" or
	// "ItemCollectionSizeLimitExceeded".
	Code string
	// Message is DynamoDB's.
	Message string
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("dynamostore: a write on %s: %s: %s", e.Table, e.Code, e.Message)
}

// because says why the write was refused.
func (w Write) because(reason types.CancellationReason) error {
	table := w.target().table
	if code := aws.ToString(reason.Code); code != failedCondition {
		return &ItemError{Table: table, Code: code, Message: aws.ToString(reason.Message)}
	}
	there := reason.Item
	if len(there) == 0 {
		there = nil
	}
	if w.OnRefused != nil {
		if err := w.OnRefused(there); err != nil {
			return err
		}
	}
	return &ConditionError{Table: table, Item: there}
}
