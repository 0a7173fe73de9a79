package dynamostore

import "github.com/ikkai-go/idempotency/persistence"

// SizeOf is how large the store reckons a record's item to be, in bytes.
func (s *Store) SizeOf(r persistence.Record) int { return s.schema.stored(r).size }
