package dynamotest

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Dump writes all tables and their items for human readers, tables and attributes in alphabetical order.
func (db *DB) Dump(w io.Writer) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(db.tables)) {
		t := db.tables[name]
		if _, err := fmt.Fprintf(w, "%s (%d items)\n", name, t.items.rows.Len()); err != nil {
			return err
		}
		for r := range t.items.within(everywhere, false) {
			if _, err := fmt.Fprintf(w, "  %s\n", r.item); err != nil {
				return err
			}
		}
	}
	return nil
}
