// Package kpl takes records apart in which the Kinesis Producer Library, or an
// aggregator like it, has packed several:
//
//	handler, err := eventguard.Kinesis(guard, eventguard.Config{Split: kpl.Split}, place)
//
// The format is that of the library's aggregation-format.md: four magic bytes, a protocol
// buffer, and the buffer's MD5 digest. What is not in it is a record as it is.
package kpl

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the format's own checksum
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"google.golang.org/protobuf/encoding/protowire"
)

// ErrFormat says that a record has the magic bytes and the digest of an aggregate, and
// is none.
var ErrFormat = errors.New("kpl: not an aggregated record")

// MostRecords is how many records an aggregate may hold. With the library's default
// AggregationMaxSize of 51,200 bytes there is no room for as many; where that is set
// higher and records are small, set AggregationMaxCount to it.
const MostRecords = 10_000

// ErrTooMany says that an aggregate holds more than [MostRecords].
var ErrTooMany = fmt.Errorf("kpl: more than %d records in one", MostRecords)

var magic = []byte{0xF3, 0x89, 0x9A, 0xC2}

// Split returns the records that are aggregated in one, in their order, with their own
// data and partition keys. A record that is no aggregate is returned as it is; one whose
// digest does not match is none, as for the Kinesis Client Library. The error is an
// [ErrFormat] or [ErrTooMany]. The parts' data is part of the record's.
//
// After a shard was split, an aggregate can hold parts whose partition keys belong to the
// other shard; like those, they come with the record that they are in.
func Split(record events.KinesisEventRecord) ([]events.KinesisEventRecord, error) {
	message, ok := aggregated(record.Kinesis.Data)
	if !ok {
		return []events.KinesisEventRecord{record}, nil
	}
	keys, users, err := parseAggregate(message)
	switch {
	case errors.Is(err, ErrTooMany):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	parts := make([]events.KinesisEventRecord, len(users))
	for i, user := range users {
		if user.key >= uint64(len(keys)) {
			return nil, fmt.Errorf("%w: record %d has partition key %d of %d", ErrFormat, i, user.key, len(keys))
		}
		parts[i] = record
		parts[i].Kinesis.Data, parts[i].Kinesis.PartitionKey = user.data, keys[user.key]
	}
	return parts, nil
}

// aggregated returns the protocol buffer of an aggregate.
func aggregated(data []byte) ([]byte, bool) {
	if len(data) < len(magic)+md5.Size || !bytes.HasPrefix(data, magic) {
		return nil, false
	}
	message, digest := data[len(magic):len(data)-md5.Size], data[len(data)-md5.Size:]
	sum := md5.Sum(message) //nolint:gosec // see the import
	return message, bytes.Equal(sum[:], digest)
}

// The numbers of the fields.
const (
	fieldPartitionKeys = 1 // of an aggregate
	fieldRecords       = 3
	fieldKeyIndex      = 1 // of a record in it
	fieldData          = 3
)

// user is a record of a producer.
type user struct {
	key  uint64 // index of its partition key
	data []byte
}

func parseAggregate(message []byte) (keys []string, users []user, err error) {
	err = fields(message, func(number protowire.Number, _ uint64, value []byte) error {
		switch number {
		case fieldPartitionKeys:
			keys = append(keys, string(value))
		case fieldRecords:
			if len(users) == MostRecords {
				return ErrTooMany
			}
			u, err := parseUser(value)
			if err != nil {
				return err
			}
			users = append(users, u)
		}
		return nil
	})
	return keys, users, err
}

func parseUser(message []byte) (user, error) {
	u := user{data: []byte{}}
	hasKey, hasData := false, false
	err := fields(message, func(number protowire.Number, whole uint64, value []byte) error {
		switch number {
		case fieldKeyIndex:
			u.key, hasKey = whole, value == nil
		case fieldData:
			u.data, hasData = value, value != nil
		}
		return nil
	})
	if err == nil && (!hasKey || !hasData) {
		err = errors.New("a record without partition key or data")
	}
	return u, err
}

// fields calls field for each field of a message: value is nil for numbers.
func fields(message []byte, field func(number protowire.Number, whole uint64, value []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var whole uint64
		var value []byte
		switch kind {
		case protowire.VarintType:
			whole, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		default: // the format has none of the others
			number, n = 0, protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := field(number, whole, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
