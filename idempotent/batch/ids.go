package batch

import (
	"fmt"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/idempotent"
)

// maxIDFaults is how many bad IDs are named; a wrong ID function makes all of them bad.
const maxIDFaults = 10

// idFaults returns what is wrong with the items' IDs. Bytes that are not UTF-8 would
// all be the same in JSON.
func idFaults(ids []string) []error {
	var faults []error
	count, first := 0, make(map[string]int, len(ids))
	for i, id := range ids {
		var problem string
		before, known := first[id]
		switch {
		case id == "":
			problem = fmt.Sprintf("is empty for items[%d]", i)
		case !utf8.ValidString(id):
			problem = fmt.Sprintf("is %q for items[%d], and must be UTF-8", id, i)
		case known:
			problem = fmt.Sprintf("is %q for both items[%d] and items[%d]", id, before, i)
		default:
			first[id] = i
			continue
		}
		if count++; count <= maxIDFaults {
			faults = append(faults, &idempotent.ConfigError{Field: "Batch.ID", Problem: problem})
		}
	}
	if more := count - maxIDFaults; more > 0 {
		faults = append(faults, &idempotent.ConfigError{Field: "Batch.ID", Problem: fmt.Sprintf("is wrong for %d more items", more)})
	}
	return faults
}
