package dynamotest

import (
	"maps"
	"slices"
	"strings"
)

type (
	putItemInput struct {
		putRequest
		returnOptions
		legacyExpectation
	}
	updateItemInput struct {
		updateRequest
		returnOptions
		legacyExpectation
		AttributeUpdates map[string]attributeUpdate
	}
	deleteItemInput struct {
		deleteRequest
		returnOptions
		legacyExpectation
	}
	getItemInput struct {
		getRequest
		AttributesToGet        []string
		ConsistentRead         consistentRead
		ReturnConsumedCapacity string
	}
)

// returnOptions say what the reply to a write carries.
type returnOptions struct {
	ReturnValues                string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

type writeItemOutput struct {
	Attributes            wireItem           `json:",omitempty"`
	ConsumedCapacity      *wireCapacity      `json:",omitempty"`
	ItemCollectionMetrics *collectionMetrics `json:",omitempty"`
}

func (o returnOptions) check(faults *constraints) {
	checkEnum(faults, o.ReturnValues, "returnValues", "ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
	checkEnum(faults, o.ReturnConsumedCapacity, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
	checkEnum(faults, o.ReturnItemCollectionMetrics, "returnItemCollectionMetrics", "SIZE", "NONE")
}

// checkOldOnly refuses what only UpdateItem can return.
func (o returnOptions) checkOldOnly() error {
	if o.ReturnValues != "" && o.ReturnValues != "NONE" && o.ReturnValues != "ALL_OLD" {
		return invalid("ReturnValues can only be ALL_OLD or NONE")
	}
	return nil
}

// output is the reply to a write; places are those an update changed.
func (o returnOptions) output(c *call, ch change, places []path) writeItemOutput {
	var shown item
	switch o.ReturnValues {
	case "ALL_OLD":
		shown = ch.old
	case "ALL_NEW":
		shown = ch.after
	case "UPDATED_OLD":
		shown = projection(places).of(ch.old)
	case "UPDATED_NEW":
		shown = projection(places).of(ch.after)
	}
	out := writeItemOutput{Attributes: shown.wire(), ConsumedCapacity: c.consumed.reportOne(o.ReturnConsumedCapacity)}
	if o.ReturnItemCollectionMetrics == "SIZE" {
		out.ItemCollectionMetrics = ch.metrics()
	}
	return out
}

// carryOut runs a prepared write and shapes its answer; places are those that an
// update names.
func (o returnOptions) carryOut(c *call, w write, places []path) (any, error) {
	changes, err := c.carryOut([]write{w})
	if err != nil {
		return nil, err
	}
	return o.output(c, changes[0], places), nil
}

func (in *putItemInput) apply(c *call) (any, error) {
	var faults constraints
	in.putRequest.check(&faults, "")
	in.returnOptions.check(&faults)
	in.legacyExpectation.check(&faults)
	err := firstError(faults.err, in.checkOldOnly, checkMixture([]expressionParameter{in.conditionParameter()}, in.parameters()...))
	if err != nil {
		return nil, err
	}
	if in.expected, err = in.condition(); err != nil {
		return nil, err
	}
	w, err := in.prepare(c)
	if err != nil {
		return nil, err
	}
	return in.carryOut(c, w, nil)
}

func (in *deleteItemInput) apply(c *call) (any, error) {
	var faults constraints
	in.deleteRequest.check(&faults, "")
	in.returnOptions.check(&faults)
	in.legacyExpectation.check(&faults)
	err := firstError(faults.err, in.checkOldOnly, checkMixture([]expressionParameter{in.conditionParameter()}, in.parameters()...))
	if err != nil {
		return nil, err
	}
	if in.expected, err = in.condition(); err != nil {
		return nil, err
	}
	w, err := in.prepare(c)
	if err != nil {
		return nil, err
	}
	return in.carryOut(c, w, nil)
}

func (in *updateItemInput) apply(c *call) (any, error) {
	var faults constraints
	in.updateRequest.check(&faults, "")
	in.returnOptions.check(&faults)
	in.legacyExpectation.check(&faults)
	checkAttributeUpdates(&faults, in.AttributeUpdates)
	expressions := []expressionParameter{{"UpdateExpression", in.Update}, in.conditionParameter()}
	legacy := append([]legacyParameter{{"AttributeUpdates", in.AttributeUpdates != nil}}, in.parameters()...)
	err := firstError(faults.err, checkMixture(expressions, legacy...))
	if err != nil {
		return nil, err
	}
	if in.expected, err = in.condition(); err != nil {
		return nil, err
	}
	if in.legacy, err = legacyChanges(in.AttributeUpdates); err != nil {
		return nil, err
	}
	w, places, err := in.prepareUpdate(c)
	if err != nil {
		return nil, err
	}
	return in.carryOut(c, w, places)
}

// firstError runs the checks in order and stops at the first that complains.
func firstError(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// getRequest reads one item.
type getRequest struct {
	Table      *string  `json:"TableName"`
	Key        wireItem `json:"Key"`
	Projection *string  `json:"ProjectionExpression"`
	expressionAttributes
	attributes projection // what the legacy parameter names instead of the expression
}

type getItemOutput struct {
	Item             wireItem      `json:",omitzero"` // {} for an item of which nothing was selected
	ConsumedCapacity *wireCapacity `json:",omitempty"`
}

func (r getRequest) subjects() []string { return nonNil(r.Table) }

func (r getRequest) projectionParameter() expressionParameter {
	return expressionParameter{"ProjectionExpression", r.Projection}
}

func (r getRequest) check(faults *constraints, prefix string) {
	faults.addIf(r.Key == nil, "null", prefix+"key", "Member must not be null")
	checkTableName(faults, r.Table, prefix)
}

// read is the item, and what the request selects of it; the size of the item decides the cost.
func (r getRequest) read(c *call, cost func(bytes int) Capacity) (found, selected item, err error) {
	p, err := r.placeholders(r.projectionParameter())
	if err != nil {
		return nil, nil, err
	}
	selection, err := parse(p, r.projectionParameter(), (*parser).projection)
	if err != nil {
		return nil, nil, err
	}
	if selection == nil {
		selection = r.attributes
	}
	if err := p.unused(); err != nil {
		return nil, nil, err
	}
	t, key, err := c.locate(*r.Table, r.Key)
	if err != nil {
		return nil, nil, err
	}
	at := t.items.place(key)
	if err := c.admit(t, nil, at, fetching); err != nil {
		return nil, nil, err
	}
	found = t.items.get(at).item
	c.take(t, nil, at, cost(found.size()))
	return found, selection.of(found), nil
}

func (in *getItemInput) apply(c *call) (any, error) {
	var faults constraints
	in.check(&faults, "")
	checkEnum(&faults, in.ReturnConsumedCapacity, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
	err := firstError(faults.err, checkMixture([]expressionParameter{in.projectionParameter()}, legacyParameter{"AttributesToGet", in.AttributesToGet != nil}))
	if err != nil {
		return nil, err
	}
	if in.attributes, err = legacySelection(in.AttributesToGet); err != nil {
		return nil, err
	}
	_, selected, err := in.read(c, in.ConsistentRead.capacity)
	if err != nil {
		return nil, err
	}
	return getItemOutput{Item: selected.wire(), ConsumedCapacity: c.consumed.reportOne(in.ReturnConsumedCapacity)}, nil
}

// String is the item for human readers, e.g. id=a#1 count=2, its attributes in alphabetical order.
func (i item) String() string {
	parts := make([]string, 0, len(i))
	for _, name := range slices.Sorted(maps.Keys(i)) {
		parts = append(parts, name+"="+i[name].plain())
	}
	return strings.Join(parts, " ")
}
