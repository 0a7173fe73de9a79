package dynamotest

type queryInput struct {
	readManyRequest
	KeyCondition     *string `json:"KeyConditionExpression"`
	KeyConditions    map[string]legacyTest
	QueryFilter      map[string]legacyTest
	ScanIndexForward *bool
}

func (in *queryInput) apply(c *call) (any, error) {
	expressions := []expressionParameter{in.filterParameter(), in.keyParameter(), in.projectionParameter()}
	if err := firstError(in.checkShape, in.checkMixture(expressions), in.checkSelect); err != nil {
		return nil, err
	}
	if in.KeyCondition == nil && in.KeyConditions == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	legacy, err := in.legacyFilter(in.QueryFilter)
	if err != nil {
		return nil, err
	}
	p, err := in.placeholders(expressions...)
	if err != nil {
		return nil, err
	}
	terms, err := in.keyTerms(p)
	if err != nil {
		return nil, err
	}
	run, err := in.open(c, p, legacy)
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

func (in *queryInput) checkShape() error {
	var faults constraints
	in.check(&faults)
	faults.addIf(in.Limit != nil && *in.Limit < 1, notShown, "Limit", "Member must have value greater than or equal to 1")
	checkLegacyTests(&faults, in.KeyConditions, "keyConditions")
	checkLegacyTests(&faults, in.QueryFilter, "queryFilter")
	return faults.err()
}

// checkMixture refuses legacy parameters beside expressions, but for key conditions beside a filter or projection.
func (in *queryInput) checkMixture(expressions []expressionParameter) func() error {
	legacy := in.legacyParameters("QueryFilter", in.QueryFilter != nil)
	if in.KeyCondition != nil {
		legacy = append(legacy, legacyParameter{"KeyConditions", in.KeyConditions != nil})
	}
	return checkMixture(expressions, legacy...)
}

func (in *queryInput) keyParameter() expressionParameter {
	return expressionParameter{"KeyConditionExpression", in.KeyCondition}
}

func (in *queryInput) keyTerms(p *placeholders) ([]keyTerm, error) {
	if in.KeyCondition == nil {
		return legacyKeyTerms(in.KeyConditions)
	}
	return parse(p, in.keyParameter(), (*parser).keyTerms)
}

func (run *reading) refuseKeysInFilter() error {
	for _, name := range run.filter.mentions {
		switch {
		case !run.from.keys.has(name):
		case run.Filter == nil:
			return invalid("QueryFilter can only contain non-primary key attributes: Primary key attribute: %s", name)
		default:
			return invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
		}
	}
	return nil
}
