package dynamotest

import "slices"

// write is one change of one item, checked against everything but the item as it is: what PutItem, UpdateItem and
// DeleteItem do, alone or in a batch or transaction, and what a transaction's ConditionCheck asks.
type write struct {
	table     *table
	key       item
	condition condition
	change    func(old item) (item, error) // the item after the write; nil deletes it
	showOld   bool                         // a failed condition gives the item as it is
}

// outcome is the item after the write, or why it is not to be.
func (w write) outcome(old item) (item, error) {
	if !w.condition.holds(old) {
		if !w.showOld {
			old = nil
		}
		return nil, conditionFailed(old)
	}
	after, err := w.change(old)
	if err != nil {
		return nil, err
	}
	for _, x := range w.table.indexes {
		if err := x.checkItem(after); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// charge books the change's cost, also if it is not to be.
func (ch change) charge(c *call, factor float64) {
	at := ch.table.items.place(ch.key)
	c.take(ch.table, nil, at, writeCapacity(ch.old, ch.after).times(factor))
	for _, x := range ch.table.indexes {
		before, after := x.entry(ch.old), x.entry(ch.after)
		cost := indexCapacity(slices.Concat(x.keys, ch.table.keys), before, after)
		if cost != (Capacity{}) {
			c.take(ch.table, x, ch.placeIn(x), cost.times(factor))
		}
	}
}

// placeIn is where the change changes an index, which for a local one is where it changes the table.
func (ch change) placeIn(x *index) place {
	entry := x.entry(ch.after)
	switch {
	case x.local:
		return ch.table.items.place(ch.key)
	case entry == nil:
		return x.place(x.entry(ch.old))
	default:
		return x.place(entry)
	}
}

// change is a write whose outcome is known and that is not yet stored.
type change struct {
	write
	old, after item
}

// settle finds the write's outcome within the limits, and books its cost, which factor multiplies.
func (w write) settle(c *call, factor float64) (change, error) {
	at := w.table.items.place(w.key)
	if err := c.admit(w.table, nil, at, writing); err != nil {
		return change{}, err
	}
	old := w.table.items.get(at).item
	after, err := w.outcome(old)
	if err != nil {
		// Only a failed condition gets far enough in DynamoDB to cost something.
		if e := asAPIError(err); e.code() == "ConditionalCheckFailedException" {
			change{w, old, old}.charge(c, factor)
		}
		return change{}, err
	}
	ch := change{w, old, after}
	for _, x := range w.table.indexes {
		if x.local || (indexCapacity(nil, x.entry(old), x.entry(after)) == Capacity{}) {
			continue
		}
		if err := c.admit(w.table, x, ch.placeIn(x), writing); err != nil {
			return change{}, err
		}
	}
	ch.charge(c, factor)
	return ch, nil
}

// store is where all changes of items go.
func store(changes []change) {
	for _, ch := range changes {
		ch.table.put(ch.key, ch.after)
	}
}

// carryOut carries all of the writes out, which are about different items, or none of them.
func (c *call) carryOut(writes []write) ([]change, error) {
	changes := make([]change, len(writes))
	for i, w := range writes {
		var err error
		if changes[i], err = w.settle(c, 1); err != nil {
			return nil, err
		}
	}
	store(changes)
	return changes, nil
}
