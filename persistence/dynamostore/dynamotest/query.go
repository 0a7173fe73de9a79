package dynamotest

import "fmt"

type (
	queryInput struct {
		readManyRequest
		KeyCondition     *string `json:"KeyConditionExpression"`
		ScanIndexForward *bool
	}
	scanInput struct {
		readManyRequest
		Segment       *int
		TotalSegments *int
	}
	// readManyRequest is what Query and Scan have in common.
	readManyRequest struct {
		Table      *string `json:"TableName"`
		Index      *string `json:"IndexName"`
		Filter     *string `json:"FilterExpression"`
		Projection *string `json:"ProjectionExpression"`
		expressionAttributes
		legacyParameters
		Start                  wireItem `json:"ExclusiveStartKey"`
		Limit                  *int
		Select                 string
		ConsistentRead         consistentRead
		ReturnConsumedCapacity string
	}
	readManyOutput struct {
		Items            *[]wireItem `json:",omitempty"` // absent if only the count was asked for
		Count            int
		ScannedCount     int
		LastEvaluatedKey wireItem      `json:",omitempty"`
		ConsumedCapacity *wireCapacity `json:",omitempty"`
	}
)

func (r readManyRequest) subjects() []string { return nonNil(r.Table) }

func (r readManyRequest) filterParameter() expressionParameter {
	return expressionParameter{"FilterExpression", r.Filter}
}

func (r readManyRequest) projectionParameter() expressionParameter {
	return expressionParameter{"ProjectionExpression", r.Projection}
}

func (r readManyRequest) check(faults *constraints) {
	checkTableName(faults, r.Table, "")
	checkEnum(faults, r.Select, "select", "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")
	checkEnum(faults, r.ReturnConsumedCapacity, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
}

// checkSelect refuses selections that contradict the rest of the request.
func (r readManyRequest) checkSelect() error {
	switch {
	case r.Projection != nil && r.Select != "" && r.Select != "SPECIFIC_ATTRIBUTES":
		return invalid("Cannot specify the ProjectionExpression when choosing to get %s", map[string]string{
			"COUNT": "only the Count", "ALL_ATTRIBUTES": "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES": "ALL_PROJECTED_ATTRIBUTES",
		}[r.Select])
	case r.Projection == nil && r.Select == "SPECIFIC_ATTRIBUTES":
		return invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case r.Select == "ALL_PROJECTED_ATTRIBUTES" && r.Index == nil:
		return invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	}
	return nil
}

// reading is a Query or Scan under way.
type reading struct {
	readManyRequest
	table      *table
	index      *index // nil to read the table itself
	from       *collection
	partition  span // the partition or segment read
	selected   span // what of it by the sort key
	backwards  bool // against the order of the keys
	filter     filter
	projection projection
}

// filter is a parsed FilterExpression and the attributes it looks at.
type filter struct {
	condition
	mentions []string
}

func (p *parser) filter() filter {
	c := p.condition()
	return filter{c, p.mentions}
}

// open reads the remaining expressions and finds what is to be read.
func (r readManyRequest) open(c *call, p *placeholders) (*reading, error) {
	run := &reading{readManyRequest: r, partition: everywhere, selected: everywhere}
	var err error
	if run.filter, err = parse(p, r.filterParameter(), (*parser).filter); err != nil {
		return nil, err
	}
	if run.filter.condition == nil {
		run.filter.condition = unrestricted{}
	}
	if run.projection, err = parse(p, r.projectionParameter(), (*parser).projection); err != nil {
		return nil, err
	}
	if err := p.unused(); err != nil {
		return nil, err
	}
	if run.table, err = c.table(*r.Table); err != nil {
		return nil, err
	}
	run.from = &run.table.items
	if r.Index == nil {
		return run, nil
	}
	if run.index, err = run.table.index(*r.Index); err != nil {
		return nil, err
	}
	switch {
	case run.index.local:
	case bool(r.ConsistentRead):
		return nil, invalid("Consistent reads are not supported on global secondary indexes")
	case r.Select == "ALL_ATTRIBUTES" && run.index.projection.Type != "ALL":
		return nil, invalidParameter("Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", run.index.name)
	}
	run.from = &run.index.collection
	return run, nil
}

func (run *reading) refuseKeysInFilter() error {
	for _, name := range run.filter.mentions {
		if run.from.keys.has(name) {
			return invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
		}
	}
	return nil
}

// page reads from the starting key, nil for the beginning, to the end, the limit or 1 MB.
func (run *reading) page(c *call, start wireItem) (any, error) {
	rest, err := run.rest(start)
	if err != nil {
		return nil, err
	}
	var out readManyOutput
	selected := []wireItem{}
	size := 0
	for r := range run.from.within(rest, run.backwards) {
		size += r.size
		out.ScannedCount++
		if run.filter.holds(r.item) {
			out.Count++
			selected = append(selected, run.projection.of(r.item).wire())
		}
		if run.Limit != nil && out.ScannedCount == *run.Limit || size > maxPageSize {
			out.LastEvaluatedKey = run.from.allKeys().of(r.item).wire()
			break
		}
	}
	cost := run.ConsistentRead.capacity(size)
	if run.index != nil {
		c.consumed.addIndex(run.table.name, run.index, cost)
	} else {
		c.consumed.add(run.table.name, cost)
	}
	out.ConsumedCapacity = c.consumed.reportOne(run.ReturnConsumedCapacity)
	if run.Select != "COUNT" {
		out.Items = &selected
	}
	return out, nil
}

// rest is what is left to read behind the starting key, which may be nil.
func (run *reading) rest(start wireItem) (span, error) {
	rest := run.selected
	if start == nil {
		return rest, nil
	}
	key, err := start.item()
	if err != nil {
		return rest, invalid("The provided starting key is invalid: %s", asAPIError(err).message)
	}
	if run.from.allKeys().checkKey(key) != nil {
		return rest, invalid("The provided starting key is invalid")
	}
	at := run.from.place(key)
	if !run.partition.has(at) {
		return rest, invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	if !run.selected.has(at) {
		return rest, invalid("The provided starting key does not match the range key predicate")
	}
	if run.backwards {
		rest.high = at
		rest.high.edge = ahead
	} else {
		rest.low = at
		rest.low.edge = behind
	}
	return rest, nil
}

func (in *queryInput) apply(c *call) (any, error) {
	var faults constraints
	in.check(&faults)
	faults.addIf(in.Limit != nil && *in.Limit < 1, notShown, "Limit", "Member must have value greater than or equal to 1")
	keyParameter := expressionParameter{"KeyConditionExpression", in.KeyCondition}
	expressions := []expressionParameter{in.filterParameter(), keyParameter, in.projectionParameter()}
	if err := firstError(faults.err, in.refuseLegacy(expressions...), in.checkSelect); err != nil {
		return nil, err
	}
	if in.KeyCondition == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	p, err := in.placeholders(expressions...)
	if err != nil {
		return nil, err
	}
	terms, err := parse(p, keyParameter, (*parser).keyTerms)
	if err != nil {
		return nil, err
	}
	run, err := in.open(c, p)
	if err != nil {
		return nil, err
	}
	keys, err := bindKeyTerms(terms, run.from.keys)
	if err != nil {
		return nil, err
	}
	if err := run.refuseKeysInFilter(); err != nil {
		return nil, err
	}
	run.partition, run.selected = keys.partition, keys.selected
	run.backwards = in.ScanIndexForward != nil && !*in.ScanIndexForward
	return run.page(c, in.Start)
}

func (in *scanInput) apply(c *call) (any, error) {
	var faults constraints
	in.check(&faults)
	if in.Limit != nil {
		faults.addIf(*in.Limit < 1, quoted(fmt.Sprint(*in.Limit)), "limit", "Member must have value greater than or equal to 1")
	}
	if in.Segment != nil {
		faults.addIf(*in.Segment < 0, quoted(fmt.Sprint(*in.Segment)), "segment", "Member must have value greater than or equal to 0")
	}
	if in.TotalSegments != nil {
		shown := quoted(fmt.Sprint(*in.TotalSegments))
		faults.addIf(*in.TotalSegments < 1, shown, "totalSegments", "Member must have value greater than or equal to 1")
		faults.addIf(*in.TotalSegments > 1_000_000, shown, "totalSegments", "Member must have value less than or equal to 1000000")
	}
	expressions := []expressionParameter{in.filterParameter(), in.projectionParameter()}
	if err := firstError(faults.err, in.refuseLegacy(expressions...), in.checkSelect, in.checkSegments); err != nil {
		return nil, err
	}
	p, err := in.placeholders(expressions...)
	if err != nil {
		return nil, err
	}
	run, err := in.open(c, p)
	if err != nil {
		return nil, err
	}
	if in.Segment != nil {
		run.partition = segment(*in.Segment, *in.TotalSegments)
		run.selected = run.partition
	}
	return run.page(c, in.Start)
}

func (in *scanInput) checkSegments() error {
	switch {
	case in.Segment == nil && in.TotalSegments == nil:
		return nil
	case in.TotalSegments == nil:
		return invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case in.Segment == nil:
		return invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case *in.Segment >= *in.TotalSegments:
		return invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", *in.Segment, *in.TotalSegments)
	}
	return nil
}
