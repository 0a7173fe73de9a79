package dynamotest

import (
	"cmp"
	"hash/fnv"
	"math/bits"
	"slices"
)

// keyAttribute is one attribute of a primary key.
type keyAttribute struct {
	name string
	kind kind
	sort bool // of the sort (range) key, not of the partition (hash) key
}

// keySchema is the key of a table or index: the partition (hash) key and, maybe, the sort (range) key. In a table and a
// local index each is one attribute, in a global index up to four.
type keySchema []keyAttribute

// hashes is the partition key.
func (k keySchema) hashes() keySchema {
	if first := slices.IndexFunc(k, func(a keyAttribute) bool { return a.sort }); first >= 0 {
		return k[:first]
	}
	return k
}

// has reports whether an attribute is part of the key.
func (k keySchema) has(name string) bool {
	return slices.ContainsFunc(k, func(a keyAttribute) bool { return a.name == name })
}

// of is the key part of an item.
func (k keySchema) of(i item) item {
	key := make(item, len(k))
	for _, a := range k {
		if v, ok := i[a.name]; ok {
			key[a.name] = v
		}
	}
	return key
}

// checkKey refuses anything but exactly the key attributes.
func (k keySchema) checkKey(key item) error {
	if len(key) != len(k) {
		return keyError{errKeySchema}
	}
	for _, a := range k {
		v, ok := key[a.name]
		if !ok || v.kind != a.kind {
			return keyError{errKeySchema}
		}
		if err := a.check(v); err != nil {
			return err
		}
	}
	return nil
}

var errKeySchema = invalid("The provided key element does not match the schema")

// keyError is an item or key that does not fit its table. Alone it is the request's error, in a transaction it is one
// action's reason.
type keyError struct{ *apiError }

func (e keyError) Unwrap() error { return e.apiError }

// checkItem refuses an item whose key attributes are missing or unfit.
func (k keySchema) checkItem(i item) error {
	for _, a := range k {
		v, ok := i[a.name]
		if !ok {
			return keyError{invalidParameter("Missing the key %s in the item", a.name)}
		}
		if v.kind != a.kind {
			return keyError{invalidParameter("Type mismatch for key %s expected: %s actual: %s", a.name, a.kind, v.kind)}
		}
		if err := a.check(v); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a value that is no key of a table.
func (a keyAttribute) check(v value) error {
	if a.kind != kindNumber && v.text == "" {
		return emptyKeyValue(a)
	}
	return a.checkSize(v)
}

// checkSize refuses a value that is too long for a key of a table or index.
func (a keyAttribute) checkSize(v value) error {
	switch {
	case !a.sort && len(v.text) > maxHashKeySize:
		return invalidParameter("Size of hashkey has exceeded the maximum size limit of2048 bytes")
	case a.sort && len(v.text) > maxSortKeySize:
		return invalidParameter("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
	}
	return nil
}

func emptyKeyValue(a keyAttribute) error {
	content := "string"
	if a.kind == kindBinary {
		content = "binary"
	}
	return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", content, a.name)
}

// place is where an item stands in the order of a table or index: partitions by a hash of their key, as if at
// random but always the same, and inside them by the sort key. For an index the table's key breaks ties.
type place struct {
	partition uint64
	keys      []value
	edge      edge
}

// edge makes a place stand between rows: ahead of all those, or behind all those, whose keys begin with its own.
type edge int

const (
	ahead  edge = -1
	behind edge = 1
)

// partitionOf is the hash of the values of a partition key.
func partitionOf(hashes []value) uint64 {
	h := fnv.New64a()
	for _, v := range hashes {
		_, _ = h.Write([]byte(v.String())) // never fails
	}
	return h.Sum64()
}

func (p place) compare(q place) int {
	if p.partition != q.partition {
		return cmp.Compare(p.partition, q.partition)
	}
	for i := range min(len(p.keys), len(q.keys)) {
		if order := p.keys[i].compare(q.keys[i]); order != 0 {
			return order
		}
	}
	switch {
	case len(p.keys) < len(q.keys):
		return int(p.edge)
	case len(p.keys) > len(q.keys):
		return -int(q.edge)
	default:
		return cmp.Compare(p.edge, q.edge)
	}
}

// under are the places of a partition whose keys begin with these: all of it, or what has one sort key.
func under(partition uint64, keys []value) span {
	return span{place{partition, keys, ahead}, place{partition, keys, behind}}
}

// segment is one of so many equal shares of all partitions.
func segment(number, of int) span {
	share := everywhere
	if number > 0 {
		share.low.partition, _ = bits.Div64(uint64(number), 0, uint64(of))
	}
	if number+1 < of {
		next, _ := bits.Div64(uint64(number+1), 0, uint64(of))
		share.high = place{partition: next, edge: ahead}
	}
	return share
}
