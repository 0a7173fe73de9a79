package dynamotest

import "time"

// table is one table: its schema, its items, its indexes.
type table struct {
	name        string
	id          string
	keys        keySchema
	attributes  []attributeDefinition
	billingMode string
	throughput  throughput
	indexes     []*index
	created     time.Time
	class       string // of its storage; "" for the usual one
	protected   bool   // against deletion
	encrypted   *encryption
	tags        map[string]string
	ttl         string // the TTL attribute; "" while TTL is disabled
	items       collection
	stream      *stream // nil if there never was one
}

// get is the item with that key; nil if there is none.
func (t *table) get(key item) item { return t.items.get(t.items.place(key)).item }

// put stores the item in the stead of the one with the same key, in the table and in all indexes; nil deletes that.
func (t *table) put(key, after item) { t.replace(key, after, false) }

// expire deletes an item, as DynamoDB itself does when its time is over.
func (t *table) expire(i item) { t.replace(i, nil, true) }

func (t *table) replace(key, after item, timeToLive bool) {
	before := t.get(key)
	t.items.replace(before, after)
	for _, x := range t.indexes {
		x.replace(x.entry(before), x.entry(after))
	}
	t.stream.record(before, after, timeToLive)
}

// checkItem refuses an item that can't be stored in the table, whatever is stored there already.
func (t *table) checkItem(i item) error {
	if err := t.keys.checkItem(i); err != nil {
		return err
	}
	for _, x := range t.indexes {
		if err := x.checkItem(i); err != nil {
			return err
		}
	}
	return nil
}

// index is a secondary index: what its collection holds is what the index's keys and projection leave of the table's items.
type index struct {
	collection
	name       string
	local      bool // a local index shares the table's partition key, capacity and consistency
	projection indexProjection
	throughput throughput
}

// indexProjection says which attributes an index carries beside the keys.
type indexProjection struct {
	Type     string   `json:"ProjectionType"`
	Includes []string `json:"NonKeyAttributes,omitempty"`
}

// entry is what the index holds of an item; nil if the item has not all of the index's keys.
func (x *index) entry(i item) item {
	if i == nil {
		return nil
	}
	for _, a := range x.keys {
		if i[a.name].kind != a.kind {
			return nil
		}
	}
	if x.projection.Type == "ALL" {
		return i
	}
	held := x.allKeys().of(i)
	for _, name := range x.projection.Includes {
		if v, ok := i[name]; ok {
			held[name] = v
		}
	}
	return held
}

// checkItem refuses an item whose attributes have the names of the index's keys but not their types.
func (x *index) checkItem(i item) error {
	for _, a := range x.keys {
		if v, ok := i[a.name]; ok {
			if err := x.checkValue(a, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkValue refuses what an attribute of the index's key can't be.
func (x *index) checkValue(a keyAttribute, v value) error {
	switch {
	case v.kind != a.kind:
		return keyError{invalidParameter("Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", a.name, a.kind, v.kind, x.name)}
	case a.kind != kindNumber && v.text == "":
		return keyError{invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
			"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: %s, IndexKey: %s", x.name, a.name)}
	default:
		return a.checkSize(v)
	}
}

// checkUpdate refuses an update that sets an attribute of an index's key to a constant which it can't be, whatever the
// item is.
func (t *table) checkUpdate(u update) error {
	for _, x := range t.indexes {
		for _, a := range x.keys {
			for _, change := range u {
				v, isConstant := change.source.(constant)
				if !isConstant || change.clause == "DELETE" || len(change.target) > 1 || change.target[0].name != a.name {
					continue
				}
				if err := x.checkValue(a, value(v)); err != nil {
					return err
				}
			}
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
