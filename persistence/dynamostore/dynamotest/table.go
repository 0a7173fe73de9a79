package dynamotest

import (
	"slices"
	"time"
)

// table is one table: its schema, its items in key order, its indexes.
type table struct {
	name        string
	id          string
	keys        keySchema
	attributes  []attributeDefinition
	billingMode string
	throughput  throughput
	indexes     []*index
	created     time.Time
	ttl         string // the TTL attribute; "" while TTL is disabled
	rows        rows
}

// rows are items in the order of their places.
type rows []row

type row struct {
	place place
	item  item
}

// find is where the row of that place is, or would be inserted.
func (r rows) find(at place) (int, bool) {
	return slices.BinarySearchFunc(r, at, func(r row, at place) int { return r.place.compare(at) })
}

// get is the item with that key; nil if there is none.
func (t *table) get(key item) item {
	at, found := t.rows.find(t.keys.place(key))
	if !found {
		return nil
	}
	return t.rows[at].item
}

// put stores the item in place of the one with the same key; nil deletes that.
func (t *table) put(key, i item) {
	at, found := t.rows.find(t.keys.place(key))
	switch {
	case i == nil && found:
		t.rows = slices.Delete(t.rows, at, at+1)
	case i == nil:
	case found:
		t.rows[at].item = i
	default:
		t.rows = slices.Insert(t.rows, at, row{t.keys.place(i), i})
	}
}

// size is the size of all items in bytes.
func (r rows) size() int {
	total := 0
	for _, r := range r {
		total += r.item.size()
	}
	return total
}

// index is a global secondary index. It has no rows of its own: they are read off the table's.
type index struct {
	name       string
	keys       keySchema
	projection indexProjection
	throughput throughput
}

// indexProjection says which attributes an index carries beside the keys.
type indexProjection struct {
	Type     string   `json:"ProjectionType"`
	Includes []string `json:"NonKeyAttributes,omitempty"`
}

// entry is what the index holds of an item; nil if the item has not all of the index's keys.
func (x *index) entry(t *table, i item) item {
	for _, a := range x.keys {
		if i[a.name].kind != a.kind {
			return nil
		}
	}
	if x.projection.Type == "ALL" {
		return i
	}
	held := t.keys.of(i)
	for _, a := range x.keys {
		held[a.name] = i[a.name]
	}
	for _, name := range x.projection.Includes {
		if v, ok := i[name]; ok {
			held[name] = v
		}
	}
	return held
}

// rows are the index's entries in its own order.
func (x *index) rows(t *table) rows {
	var entries rows
	for _, r := range t.rows {
		if held := x.entry(t, r.item); held != nil {
			entries = append(entries, row{x.keys.place(held, r.place.keys...), held})
		}
	}
	slices.SortFunc(entries, func(a, b row) int { return a.place.compare(b.place) })
	return entries
}

// checkItem refuses an item whose attributes have the names of the index's keys but not their types.
func (x *index) checkItem(i item) error {
	for _, a := range x.keys {
		v, ok := i[a.name]
		switch {
		case !ok:
		case v.kind != a.kind:
			return invalidParameter("Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", a.name, a.kind, v.kind, x.name)
		case a.kind != kindNumber && v.text == "":
			return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
				"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: %s, IndexKey: %s", x.name, a.name)
		}
	}
	return nil
}

// index is the table's index of that name.
func (t *table) index(name string) (*index, error) {
	for _, x := range t.indexes {
		if x.name == name {
			return x, nil
		}
	}
	return nil, invalid("The table does not have the specified index: %s", name)
}
