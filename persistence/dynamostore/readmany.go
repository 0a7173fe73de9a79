package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// BatchAPI is what reading many records at once needs of a DynamoDB client in addition to
// [API]. *dynamodb.Client has it, and so do DAX clients. Its permission is
// dynamodb:BatchGetItem on the table.
type BatchAPI interface {
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

var _ storekit.BatchReader = (*Store)(nil)

const (
	// keysARequest is how many keys a BatchGetItem may have (DynamoDB's API reference).
	keysARequest = 100
	// mostRead is how much of what is read is kept, in bytes of results: as much as one answer
	// of BatchGetItem brings. What is left out may be claimed.
	mostRead = 16 << 20
)

// ReadMany implements [storekit.BatchReader] with eventually consistent BatchGetItems, each
// of up to 100 keys: half a read unit for each record of up to 4 KB, and for each that is not
// there. Keys that DynamoDB leaves unprocessed are asked for again, after a pause, for as long as some
// of them come, and then a few times more.
//
// It reads whole items: a projection costs the same units, and the result of a failure, and
// what OnReplay sees, are told by no other attribute.
func (s *Store) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	api, ok := s.api.(BatchAPI)
	if !ok {
		return nil, fmt.Errorf("dynamostore: %T has no BatchGetItem: %w", s.api, errors.ErrUnsupported)
	}
	var records []persistence.Record
	read := 0
	for chunk := range slices.Chunk(s.readable(keys), keysARequest) {
		if read >= mostRead {
			return records, nil
		}
		err := s.readChunk(ctx, api, chunk, func(found item) {
			if r, err := s.schema.decode(found); err == nil {
				records, read = append(records, r), read+len(r.Result)
			}
		})
		if err != nil {
			return records, fault("read", err)
		}
	}
	return records, nil
}

// readable returns the keys that a record can have, each once: DynamoDB would refuse all of a
// request for any other.
func (s *Store) readable(keys []string) []string {
	seen := make(map[string]bool, len(keys))
	readable := make([]string, 0, len(keys))
	for _, key := range keys {
		if seen[key] || len(key) > s.schema.maxKey() || (persistence.Lease{Key: key}).CheckKey() != nil {
			continue
		}
		seen[key] = true
		readable = append(readable, key)
	}
	return readable
}

// readChunk reads the records of some keys, in one request as a rule. What is unprocessed did
// not fit into the answer, or the table was too busy for it.
func (s *Store) readChunk(ctx context.Context, api BatchAPI, keys []string, found func(item)) error {
	items := make([]item, len(keys))
	for i, key := range keys {
		items[i] = s.schema.key(key)
	}
	left := map[string]types.KeysAndAttributes{*s.table: {Keys: items, ConsistentRead: aws.Bool(false)}}
	for try, pause := 1, firstPause; ; try, pause = try+1, min(2*pause, maxThrottledPause) {
		var output *dynamodb.BatchGetItemOutput
		_, err := request(func(ctx context.Context) (_ item, err error) {
			output, err = api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: left, ReturnConsumedCapacity: capacity(ctx)}, s.limited...)
			return nil, err
		}).once(ctx)
		switch {
		case err == nil:
			for i := range output.ConsumedCapacity {
				charge(ctx, &output.ConsumedCapacity[i])
			}
			for _, answer := range output.Responses {
				for _, i := range answer {
					found(i)
				}
				if len(answer) > 0 {
					try, pause = 0, firstPause // it gets on: large records of one partition come a few at a time
				}
			}
			if left = output.UnprocessedKeys; len(left) == 0 {
				return nil
			}
			err = errUnprocessed
		case !busy(err):
			return err
		}
		if try == readTries || !rest(ctx, pause) {
			return err
		}
	}
}

// readTries is how often keys are asked for in vain that the table is too busy for: whoever looks
// ahead can also go without.
const readTries = 4

// errUnprocessed is that of keys that DynamoDB has not come to.
var errUnprocessed = errors.New("some of the keys are unprocessed still")
