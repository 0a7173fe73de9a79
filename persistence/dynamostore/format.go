package dynamostore

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// Format is how another toolkit writes the records of a table that both use. What
// this store writes beyond that are attributes of its own, which the other toolkit has
// to ignore. All fields are required. Package idempotent/powertools has the formats of
// Powertools for AWS Lambda.
//
// The other toolkit may write without regard to the owner. A lease that is lost that
// way is noticed when its owner comes to complete or to release it.
type Format struct {
	// InProgress is the status of a run under way. The others are the same as here.
	InProgress string

	// Expiry is the number of epoch seconds that stands for a time in ExpireAt.
	Expiry func(time.Time) int64

	// Encode returns the attribute that holds a result. Its error says why it can't
	// hold it; the store's is then [persistence.ErrTooLarge].
	Encode func(result []byte) (types.AttributeValue, error)

	// Decode returns the result that an attribute holds, which is nil where a
	// finished record has none.
	Decode func(types.AttributeValue) ([]byte, error)

	// SettledBy is the name of an attribute in which this store keeps the owner that
	// has finished the record. The owner that took it does not tell: the other
	// toolkit finishes records without looking at it.
	SettledBy string
}

// check returns what is wrong with a format.
func (f *Format) check(c Config) error {
	switch {
	case f.InProgress == "", f.Expiry == nil, f.Encode == nil, f.Decode == nil, f.SettledBy == "":
		return fmt.Errorf("%w: a field of Format is missing", ErrConfig)
	case c.Compress:
		return fmt.Errorf("%w: Compress is not for a table with a Format: the other toolkit can't read compressed results", ErrConfig)
	default:
		return nil
	}
}

// storedAs decides in which form the result of a finished record is kept in a format
// of others.
func (s *schema) storedAs(f *Format, r persistence.Record, size int) (stored, error) {
	value, err := f.Encode(r.Result)
	if err != nil {
		return stored{}, fmt.Errorf("%w: the format can't hold the result: %w", persistence.ErrTooLarge, err)
	}
	return stored{result: value, size: size - len(r.Result) + sizeOfValue(value)}, nil
}

// HoldsEnvelopes implements [storekit.Literal]: the format of another toolkit has
// none.
func (s *Store) HoldsEnvelopes() bool { return s.schema.format == nil }
