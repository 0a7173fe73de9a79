package dynamotest

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
