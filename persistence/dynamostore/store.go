package dynamostore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// API is what the store needs of a DynamoDB client. *dynamodb.Client has it, and
// so do DAX clients.
type API interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Store keeps records in a DynamoDB table. It is safe for concurrent use; one store
// serves any number of operations. All that it remembers is which keys were throttled a
// moment ago.
type Store struct {
	wire
	table   *string
	schema  schema
	crowded crowded
}

var (
	_ persistence.Store        = (*Store)(nil)
	_ persistence.Checkpointer = (*Store)(nil)
	_ persistence.Renewer      = (*Store)(nil)
	_ storekit.Sizer           = (*Store)(nil)
	_ storekit.Transactor      = (*Store)(nil)
	_ persistence.Reader       = (*Store)(nil)
	_ storekit.Literal         = (*Store)(nil)
)

// New returns a store on the table that config describes. It joins all faults of
// the config into one error ([ErrConfig]), and sends no request.
func New(api API, config Config) (*Store, error) {
	if storekit.IsNil(api) {
		return nil, fmt.Errorf("%w: no client", ErrConfig)
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	return &Store{
		wire:   newWire(api, config.RequestTimeout),
		table:  aws.String(config.Table),
		schema: newSchema(config),
	}, nil
}

type item = map[string]types.AttributeValue

// Complete implements [persistence.Store].
func (s *Store) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return s.completeWith(ctx, l, o, nil)
}

func (s *Store) completeWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []Write) error {
	if err := errors.Join(l.Check(), o.Check()); err != nil {
		return err
	}
	finished, err := s.schema.stored(o.Of(l))
	if err != nil {
		return err
	}
	if finished.size > maxItem {
		return persistence.ErrTooLarge
	}
	write := s.complete(l, o, finished)
	if len(writes) > 0 {
		write.with, write.holds = writes, s.schema.ofLease(l)
	}
	applied, found, err := s.apply(ctx, write)
	if err != nil {
		return fault("complete", err)
	}
	switch {
	case applied, s.schema.settledBy(found, l.Owner) && s.schema.records(found, o, finished):
		return nil
	case s.schema.settledBy(found, l.Owner):
		return s.settled("complete", found)
	default:
		return persistence.ErrLeaseLost
	}
}

// settled is the error of an owner that finds its record settled otherwise.
func (s *Store) settled(op string, found item) error {
	record, err := s.schema.decode(found)
	if err != nil {
		return fault(op, err)
	}
	return &persistence.SettledError{Record: record}
}

// Release implements [persistence.Store].
func (s *Store) Release(ctx context.Context, l persistence.Lease) error {
	if err := l.Check(); err != nil {
		return err
	}
	write := s.remove(l)
	if len(l.Steps) > 0 {
		write = s.suspend(l)
	}
	for range maxRounds {
		applied, found, err := s.apply(ctx, write)
		switch {
		case err != nil:
			return fault("release", err)
		case applied, found == nil:
			return nil
		case s.schema.settledBy(found, l.Owner):
			return s.settled("release", found)
		case s.schema.owner(found) != l.Owner:
			return persistence.ErrLeaseLost
		case s.schema.status(found) == persistence.StatusPartial:
			return nil
		case s.schema.status(found) != persistence.StatusProcessing:
			return persistence.ErrLeaseLost
		}
		// There are steps that the lease does not know of; or there was no record a
		// moment ago, and an acquiring write that was late is back.
		if write = s.remove(l); s.schema.hasSteps(found) {
			write = s.suspend(l)
		}
	}
	return fault("release", errContended)
}

// Read implements [persistence.Reader] with an eventually consistent read: a
// finished record never changes, so a stale answer costs a write at worst.
func (s *Store) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	if err := (persistence.Lease{Key: key}).CheckKey(); err != nil {
		return persistence.Record{}, false, err
	}
	found, err := s.get(ctx, key, aws.Bool(false))
	if err != nil || found == nil {
		return persistence.Record{}, false, fault("read", err)
	}
	record, err := s.schema.decode(found)
	if err != nil {
		return persistence.Record{}, false, fault("read", err)
	}
	return record, true, nil
}
