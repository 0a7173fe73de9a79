package dynamotest

import "fmt"

type scanInput struct {
	readManyRequest
	ScanFilter    map[string]legacyTest
	Segment       *int
	TotalSegments *int
}

func (in *scanInput) apply(c *call) (any, error) {
	expressions := []expressionParameter{in.filterParameter(), in.projectionParameter()}
	mixture := checkMixture(expressions, in.legacyParameters("ScanFilter", in.ScanFilter != nil)...)
	if err := firstError(in.checkShape, mixture, in.checkSelect, in.checkSegments); err != nil {
		return nil, err
	}
	legacy, err := in.legacyFilter(in.ScanFilter)
	if err != nil {
		return nil, err
	}
	p, err := in.placeholders(expressions...)
	if err != nil {
		return nil, err
	}
	run, err := in.open(c, p, legacy)
	if err != nil {
		return nil, err
	}
	if in.Segment != nil {
		run.partition = segment(*in.Segment, *in.TotalSegments)
		run.selected = run.partition
	}
	return run.page(c, in.Start)
}

func (in *scanInput) checkShape() error {
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
	checkLegacyTests(&faults, in.ScanFilter, "scanFilter")
	return faults.err()
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
