package dynamostore

import "github.com/ikkai-go/idempotency/persistence"

// SizeOf is how large the store reckons a record's item to be, in bytes.
func (s *Store) SizeOf(r persistence.Record) int {
	content, err := s.schema.stored(r)
	if err != nil {
		panic(err)
	}
	return content.size
}

// SizeOfItem is how large the store reckons an item of the application to be at
// least, in bytes.
var SizeOfItem = sizeOfItem
