package dynamotest

import "slices"

type (
	// readManyRequest is what Query and Scan have in common.
	readManyRequest struct {
		Table      *string `json:"TableName"`
		Index      *string `json:"IndexName"`
		Filter     *string `json:"FilterExpression"`
		Projection *string `json:"ProjectionExpression"`
		expressionAttributes
		AttributesToGet        []string
		ConditionalOperator    string
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
	checkIndexName(faults, r.Index, false, "")
	checkEnum(faults, r.Select, "select", "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")
	checkEnum(faults, r.ReturnConsumedCapacity, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
	checkConditionalOperator(faults, r.ConditionalOperator)
}

// legacyParameters are those that Query and Scan both have, and the filter, whose name differs.
func (r readManyRequest) legacyParameters(filter string, given bool) []legacyParameter {
	return []legacyParameter{
		{"AttributesToGet", r.AttributesToGet != nil}, {filter, given}, {"ConditionalOperator", r.ConditionalOperator != ""},
	}
}

// checkSelect refuses selections that contradict the rest of the request.
func (r readManyRequest) checkSelect() error {
	selection := "ProjectionExpression"
	if r.AttributesToGet != nil {
		selection = "AttributesToGet"
	}
	selects := r.Projection != nil || r.AttributesToGet != nil
	switch {
	case selects && r.Select != "" && r.Select != "SPECIFIC_ATTRIBUTES":
		return invalid("Cannot specify the %s when choosing to get %s", selection, map[string]string{
			"COUNT": "only the Count", "ALL_ATTRIBUTES": "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES": "ALL_PROJECTED_ATTRIBUTES",
		}[r.Select])
	case !selects && r.Select == "SPECIFIC_ATTRIBUTES":
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
	fetches    bool // whole items from the table, since the local index lacks something
	partition  span // the partition or segment read
	selected   span // what of it by the sort key
	backwards  bool // against the order of the keys
	filter     filter
	projection projection
}

// filter is a parsed filter and the attributes it looks at.
type filter struct {
	condition
	mentions []string
}

func (p *parser) filter() filter {
	c := p.condition()
	return filter{c, p.mentions}
}

// legacyFilter is the filter that QueryFilter or ScanFilter states; without a condition if there is none.
func (r readManyRequest) legacyFilter(tests map[string]legacyTest) (filter, error) {
	c, err := joined(tests, r.ConditionalOperator)
	return filter{c, sortedKeys(tests)}, err
}

// open reads the remaining expressions and finds what is to be read.
func (r readManyRequest) open(c *call, p *placeholders, legacy filter) (*reading, error) {
	run := &reading{readManyRequest: r, partition: everywhere, selected: everywhere}
	var err error
	if run.filter, err = parse(p, r.filterParameter(), (*parser).filter); err != nil {
		return nil, err
	}
	if run.filter.condition == nil {
		run.filter = legacy
	}
	if run.filter.condition == nil {
		run.filter.condition = unrestricted{}
	}
	if run.projection, err = parse(p, r.projectionParameter(), (*parser).projection); err != nil {
		return nil, err
	}
	if run.projection == nil {
		if run.projection, err = legacySelection(r.AttributesToGet); err != nil {
			return nil, err
		}
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
	run.from = &run.index.collection
	return run, run.reach()
}

// reach finds out whether the index has what the request asks for. What a local index lacks is fetched from the table,
// but not to be filtered; what a global one lacks is out of reach.
func (run *reading) reach() error {
	x := run.index
	var selected []string
	for _, at := range run.projection {
		selected = append(selected, at[0].name)
	}
	lacksSelected, lacksFiltered := x.lacks(selected), x.lacks(run.filter.mentions)
	everything := run.Select == "ALL_ATTRIBUTES" && x.projection.Type != projectAll
	switch {
	case lacksFiltered != nil:
		return invalidParameter("Secondary index %s does not project one or more filter attributes: %s", x.name, names(lacksFiltered, plain))
	case x.local:
		run.fetches = everything || lacksSelected != nil
	case bool(run.ConsistentRead):
		return invalid("Consistent reads are not supported on global secondary indexes")
	case everything:
		return invalidParameter("Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", x.name)
	case lacksSelected != nil:
		return invalidParameter("Global secondary index %s does not project %s", x.name, names(lacksSelected, plain))
	}
	return nil
}

func plain(name string) string { return name }

// lacks are those of the attributes that the index does not hold.
func (x *index) lacks(attributes []string) []string {
	if x.projection.Type == projectAll {
		return nil
	}
	var lacking []string
	held := x.allKeys()
	for _, name := range attributes {
		if !held.has(name) && !slices.Contains(x.projection.Includes, name) && !slices.Contains(lacking, name) {
			lacking = append(lacking, name)
		}
	}
	return lacking
}

// page reads from the starting key, nil for the beginning, to the end, the limit or 1 MB.
func (run *reading) page(c *call, start wireItem) (any, error) {
	rest, err := run.rest(start)
	if err != nil {
		return nil, err
	}
	limits := c.limitsOf(run.table, run.index)
	if err := c.admit(run.table, run.index, run.beginning(rest), fetching); err != nil {
		return nil, err
	}
	var out readManyOutput
	selected := []wireItem{}
	shares := make(map[*partition]float64)
	size, fetched := 0, 0
	for r := range run.from.within(rest, run.backwards) {
		size += r.size
		if limits != nil {
			_, p := limits.at(run.asInTable(r.place))
			shares[p] += float64(r.size)
		}
		out.ScannedCount++
		if run.filter.holds(r.item) {
			found := run.whole(c, r.item, &fetched)
			out.Count++
			selected = append(selected, run.projection.of(found).wire())
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
	if limits != nil {
		limits.share(run.beginning(rest), cost, shares)
	}
	out.ConsumedCapacity = c.consumed.reportOne(run.ReturnConsumedCapacity)
	if run.Select != "COUNT" {
		out.Items = &selected
	}
	return out, nil
}

// whole is what is read of an entry: itself, or the item of the table that it stands for, which costs another read; all
// those that a page fetches are rounded up at once.
func (run *reading) whole(c *call, entry item, fetched *int) item {
	if !run.fetches {
		return entry
	}
	at := run.table.items.place(entry)
	found := run.table.items.get(at)
	before := Capacity{}
	if *fetched > 0 {
		before = run.ConsistentRead.capacity(*fetched)
	}
	*fetched += found.size
	c.take(run.table, nil, at, run.ConsistentRead.capacity(*fetched).Plus(before.times(-1)))
	return found.item
}

// beginning is the first place that is read of the rest.
func (run *reading) beginning(rest span) place {
	if run.backwards {
		return run.asInTable(rest.high)
	}
	return run.asInTable(rest.low)
}

// asInTable is the place of an entry as limits know it: a local index shares those of the table's partition key.
func (run *reading) asInTable(p place) place {
	if run.index == nil || !run.index.local {
		return p
	}
	return place{p.partition, p.keys[:min(len(p.keys), len(run.table.keys.hashes()))], ahead}
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
