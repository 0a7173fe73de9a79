package dynamotest

import (
	"iter"

	"github.com/google/btree"
)

// collection is what a base table or a secondary index, local or global, holds: rows in the order of their places. Finding
// one, or the first of a span, costs the logarithm of how many there are.
type collection struct {
	keys  keySchema // what orders the rows: the partition key and maybe a sort key
	ties  keySchema // of an index, whose keys several items may share: the table's keys, which break the tie
	rows  *btree.BTreeG[row]
	bytes int // the size of all items
	heat  *heat
}

// row is an item where it stands.
type row struct {
	place place
	item  item
	size  int
}

// degree is the least number of children of a node of the tree.
const degree = 16

func newCollection(keys, ties keySchema) collection {
	return collection{keys: keys, ties: ties, rows: btree.NewG(degree, func(a, b row) bool { return a.place.compare(b.place) < 0 })}
}

// place is where an item with these key attributes stands.
func (c *collection) place(i item) place {
	at := place{keys: make([]value, 0, len(c.keys)+len(c.ties))}
	for _, schema := range []keySchema{c.keys, c.ties} {
		for _, a := range schema {
			at.keys = append(at.keys, i[a.name])
		}
	}
	at.partition = partitionOf(at.keys[:len(c.keys.hashes())])
	return at
}

// allKeys are the attributes that make up a place: those of the index, then those of the table, each once.
func (c *collection) allKeys() keySchema {
	all := append(keySchema{}, c.keys...)
	for _, a := range c.ties {
		if !all.has(a.name) {
			all = append(all, a)
		}
	}
	return all
}

// get is the row at that place; its item is nil if there is none.
func (c *collection) get(at place) row {
	found, _ := c.rows.Get(row{place: at})
	return found
}

// replace puts the item after in the stead of the item before; nil is none.
func (c *collection) replace(before, after item) {
	var added row
	if after != nil {
		added = row{c.place(after), after, after.size()}
	}
	if before != nil {
		if at := c.place(before); after == nil || at.compare(added.place) != 0 {
			removed, _ := c.rows.Delete(row{place: at})
			c.bytes -= removed.size
		}
	}
	if after != nil {
		replaced, _ := c.rows.ReplaceOrInsert(added)
		c.bytes += added.size - replaced.size
	}
}

// span is what lies between two places that stand between rows.
type span struct{ low, high place }

// everywhere is all there is.
var everywhere = span{place{edge: ahead}, place{partition: 1<<64 - 1, edge: behind}}

func (s span) has(p place) bool { return s.low.compare(p) < 0 && p.compare(s.high) < 0 }

// within gives the rows of a span in the order of their places, or against it.
func (c *collection) within(s span, backwards bool) iter.Seq[row] {
	return func(yield func(row) bool) {
		if backwards {
			c.rows.DescendRange(row{place: s.high}, row{place: s.low}, yield)
		} else {
			c.rows.AscendRange(row{place: s.low}, row{place: s.high}, yield)
		}
	}
}
