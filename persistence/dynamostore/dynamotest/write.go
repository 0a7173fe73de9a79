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

// conditional is what all writes of one item have in common on the wire.
type conditional struct {
	Table     *string `json:"TableName"`
	Condition *string `json:"ConditionExpression"`
	expressionAttributes
	OnFailure string    `json:"ReturnValuesOnConditionCheckFailure"`
	expected  condition // what the legacy parameters state instead of the expression
}

type (
	putRequest struct {
		conditional
		Item wireItem `json:"Item"`
	}
	updateRequest struct {
		conditional
		Key    wireItem `json:"Key"`
		Update *string  `json:"UpdateExpression"`
		legacy update   // what the legacy parameters describe instead of the expression
	}
	deleteRequest struct {
		conditional
		Key wireItem `json:"Key"`
	}
	checkRequest struct {
		conditional
		Key wireItem `json:"Key"`
	}
)

func (r conditional) subjects() []string { return nonNil(r.Table) }

// nonNil is the table that the request names, if it names one.
func nonNil(name *string) []string {
	if name == nil {
		return nil
	}
	return []string{plainTableName(*name)}
}

func (r conditional) conditionParameter() expressionParameter {
	return expressionParameter{"ConditionExpression", r.Condition}
}

// check finds faults in the shape of the request; prefix is where it stands in a larger one.
func (r conditional) check(faults *constraints, prefix string) {
	checkTableName(faults, r.Table, prefix)
	checkEnum(faults, r.OnFailure, prefix+"returnValuesOnConditionCheckFailure", "ALL_OLD", "NONE")
}

func (r putRequest) check(faults *constraints, prefix string) {
	r.conditional.check(faults, prefix)
	faults.addIf(r.Item == nil, "null", prefix+"item", "Member must not be null")
}

func (r updateRequest) check(faults *constraints, prefix string) {
	r.conditional.check(faults, prefix)
	faults.addIf(r.Key == nil, "null", prefix+"key", "Member must not be null")
}

func (r deleteRequest) check(faults *constraints, prefix string) {
	r.conditional.check(faults, prefix)
	faults.addIf(r.Key == nil, "null", prefix+"key", "Member must not be null")
}

func (r checkRequest) check(faults *constraints, prefix string) {
	deleteRequest(r).check(faults, prefix)
	faults.addIf(r.Condition == nil, "null", prefix+"conditionExpression", "Member must not be null")
}

// begin reads the condition and makes the placeholders for it and the request's other expressions.
func (r conditional) begin(more ...expressionParameter) (*placeholders, condition, error) {
	p, err := r.placeholders(append(more, r.conditionParameter())...)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := parse(p, r.conditionParameter(), (*parser).condition)
	switch {
	case parsed == nil && r.expected != nil:
		parsed = r.expected
	case parsed == nil:
		parsed = unrestricted{}
	}
	return p, parsed, err
}

// prepare turns the request into a write.
func (r putRequest) prepare(c *call) (w write, err error) {
	p, parsed, err := r.begin()
	if err != nil {
		return w, err
	}
	if err := p.unused(); err != nil {
		return w, err
	}
	put, err := r.Item.item()
	if err != nil {
		return w, err
	}
	t, err := c.table(*r.Table)
	if err != nil {
		return w, err
	}
	if err := t.checkItem(put); err != nil {
		return w, err
	}
	if put.size() > maxItemSize {
		return w, invalid("Item size has exceeded the maximum allowed size")
	}
	return write{
		table:     t,
		key:       t.keys.of(put),
		condition: parsed,
		change:    func(item) (item, error) { return put, nil },
		showOld:   r.OnFailure == "ALL_OLD",
	}, nil
}

// prepare turns the request into a write.
func (r deleteRequest) prepare(c *call) (write, error) {
	w, err := checkRequest(r).prepare(c)
	w.change = func(item) (item, error) { return nil, nil }
	return w, err
}

// prepare turns the request into a write that changes nothing.
func (r checkRequest) prepare(c *call) (w write, err error) {
	p, parsed, err := r.begin()
	if err != nil {
		return w, err
	}
	if err := p.unused(); err != nil {
		return w, err
	}
	t, key, err := c.locate(*r.Table, r.Key)
	if err != nil {
		return w, err
	}
	return write{
		table:     t,
		key:       key,
		condition: parsed,
		change:    func(old item) (item, error) { return old, nil },
		showOld:   r.OnFailure == "ALL_OLD",
	}, nil
}

// prepare turns the request into a write.
func (r updateRequest) prepare(c *call) (write, error) {
	w, _, err := r.prepareUpdate(c)
	return w, err
}

// prepareUpdate turns the request into a write and tells which places it updates.
func (r updateRequest) prepareUpdate(c *call) (w write, places []path, err error) {
	expression := expressionParameter{"UpdateExpression", r.Update}
	p, parsed, err := r.begin(expression)
	if err != nil {
		return w, nil, err
	}
	changes, err := parse(p, expression, (*parser).update)
	if err != nil {
		return w, nil, err
	}
	if err := p.unused(); err != nil {
		return w, nil, err
	}
	t, key, err := c.locate(*r.Table, r.Key)
	if err != nil {
		return w, nil, err
	}
	if r.legacy != nil {
		changes = r.legacy
	}
	for _, target := range changes.targets() {
		if t.keys.has(target[0].name) {
			return w, nil, keyError{invalidParameter("Cannot update attribute %s. This attribute is part of the key", target[0].name)}
		}
	}
	if err := t.checkUpdate(changes); err != nil {
		return w, nil, err
	}
	change := func(old item) (item, error) {
		apply := update.apply
		if r.legacy != nil {
			apply = update.applyLegacy
		}
		after, err := apply(changes, old, key)
		if err != nil {
			return nil, err
		}
		if after.size() > maxItemSize {
			return nil, invalid("Item size to update has exceeded the maximum allowed size")
		}
		return after, nil
	}
	return write{table: t, key: key, condition: parsed, change: change, showOld: r.OnFailure == "ALL_OLD"}, changes.targets(), nil
}

// locate finds the table and checks the key against it.
func (c *call) locate(name string, wired wireItem) (*table, item, error) {
	key, err := wired.item()
	if err != nil {
		return nil, nil, err
	}
	t, err := c.table(name)
	if err != nil {
		return nil, nil, err
	}
	return t, key, t.keys.checkKey(key)
}
