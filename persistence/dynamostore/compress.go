package dynamostore

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// encodingGzip marks a result that is stored as gzip (RFC 1952), which ends in a
// checksum: what somebody has damaged is not taken for a result.
const encodingGzip = "gzip"

// maxExpanded is how large a result may be that is stored compressed, in bytes.
// More than the 6 MB that a Lambda function may answer with (its developer guide,
// "Lambda quotas"), and little enough for the smallest environment: whoever can
// write to the table can make a small item that expands to any size.
const maxExpanded = 8 << 20

// stored is a record as it goes into an item.
type stored struct {
	result   types.AttributeValue // nil where there is none
	encoding string               // of the result; empty where it is as it was
	size     int                  // of the whole item, in bytes
}

// stored decides in which form a record's result is kept: compressed if the
// config says so and the item then takes fewer write units. An item that does not
// fit into DynamoDB takes more units than any that does.
func (s *schema) stored(r persistence.Record) (stored, error) {
	size := s.size(r)
	switch {
	case r.ResultOmitted:
		return stored{encoding: encodingOmitted, size: size}, nil
	case !r.Status.Finished():
		return stored{size: size}, nil
	case s.format != nil:
		return s.storedAs(s.format, r, size)
	}
	if s.compress && size > writeUnit && len(r.Result) <= maxExpanded {
		rest := size - len(r.Result) + len(s.attr.ResultEncoding) + len(encodingGzip)
		oneUnitLess := (size - 1) / writeUnit * writeUnit
		if packed, ok := compress(r.Result, min(oneUnitLess, maxItem)-rest); ok {
			return stored{
				result:   &types.AttributeValueMemberB{Value: packed},
				encoding: encodingGzip,
				size:     rest + len(packed),
			}, nil
		}
	}
	return stored{result: content(r.Result), size: size}, nil
}

// compressors are kept because each takes the better part of a megabyte.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// compress returns b as gzip, if that takes no more than limit bytes. It stops as
// soon as it takes more.
func compress(b []byte, limit int) ([]byte, bool) {
	out := bounded{limit: limit}
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(&out)
	_, err := w.Write(b)
	if err == nil {
		err = w.Close()
	}
	return out.written, err == nil
}

// bounded is a writer that takes so many bytes and no more.
type bounded struct {
	written []byte
	limit   int
}

var errFull = errors.New("the limit is reached")

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.written)+len(p) > b.limit {
		return 0, errFull
	}
	b.written = append(b.written, p...)
	return len(p), nil
}

// expanders are kept because each takes 40 KB.
var expanders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// expand is the reverse of compress, for what may not have come from it.
func expand(b []byte) ([]byte, error) {
	r := expanders.Get().(*gzip.Reader)
	defer expanders.Put(r)
	if err := r.Reset(bytes.NewReader(b)); err != nil {
		return nil, fmt.Errorf("the compressed result can't be read: %w", err)
	}
	expanded, err := io.ReadAll(io.LimitReader(r, maxExpanded+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the compressed result can't be read: %w", err)
	case len(expanded) > maxExpanded:
		return nil, fmt.Errorf("the compressed result has more than %d bytes", maxExpanded)
	default:
		return expanded, nil
	}
}
