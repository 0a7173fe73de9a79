package dynamotest

import (
	"fmt"
	"slices"
	"strings"
)

// The parameters that expressions replaced in 2014, which older libraries still send ("Legacy conditional parameters" of
// the developer guide). They are turned into what the expressions that replaced them are parsed into.
type (
	// legacyTest is one test of a filter or key condition.
	legacyTest struct {
		Operator string      `json:"ComparisonOperator"`
		Values   []wireValue `json:"AttributeValueList"`
	}
	// expectation is one test of Expected, which has a shorter form too: a value, or that there is none.
	expectation struct {
		legacyTest
		Value  *wireValue
		Exists *bool
	}
	// legacyExpectation are the legacy parameters of all writes of one item.
	legacyExpectation struct {
		Expected            map[string]expectation
		ConditionalOperator string
	}
	attributeUpdate struct {
		Action string
		Value  *wireValue
	}
)

// legacyParameter is one of the legacy parameters a request could have.
type legacyParameter struct {
	name  string
	given bool
}

// checkMixture refuses legacy parameters beside expressions.
func checkMixture(expressions []expressionParameter, legacy ...legacyParameter) func() error {
	return func() error {
		var given, present []string
		for _, p := range legacy {
			if p.given {
				given = append(given, p.name)
			}
		}
		for _, x := range expressions {
			if x.text != nil {
				present = append(present, x.name)
			}
		}
		if len(given) == 0 || len(present) == 0 {
			return nil
		}
		return invalid("Can not use both expression and non-expression parameters in the same request: "+
			"Non-expression parameters: {%s} Expression parameters: {%s}", strings.Join(given, ", "), strings.Join(present, ", "))
	}
}

func (l legacyExpectation) parameters() []legacyParameter {
	return []legacyParameter{{"ConditionalOperator", l.ConditionalOperator != ""}, {"Expected", l.Expected != nil}}
}

func (l legacyExpectation) check(faults *constraints) {
	checkConditionalOperator(faults, l.ConditionalOperator)
	for _, name := range sortedKeys(l.Expected) {
		l.Expected[name].check(faults, "expected."+name+".member.")
	}
}

func checkConditionalOperator(faults *constraints, operator string) {
	checkEnum(faults, operator, "conditionalOperator", "OR", "AND")
}

// legacyOperators are the comparison operators, with the number of their operands (at least that many for IN) and the
// types these may have; all types if none are said.
var legacyOperators = map[string]struct {
	operands int
	kinds    []kind
}{
	"EQ":           {operands: 1},
	"NE":           {operands: 1},
	"LE":           {1, orderedKinds},
	"LT":           {1, orderedKinds},
	"GE":           {1, orderedKinds},
	"GT":           {1, orderedKinds},
	"IN":           {1, orderedKinds},
	"BETWEEN":      {2, orderedKinds},
	"CONTAINS":     {1, []kind{kindString, kindNumber, kindBinary, kindBool, kindNull}},
	"NOT_CONTAINS": {1, []kind{kindString, kindNumber, kindBinary, kindBool, kindNull}},
	"BEGINS_WITH":  {1, []kind{kindString, kindBinary}},
	"NULL":         {operands: 0},
	"NOT_NULL":     {operands: 0},
}

var orderedKinds = []kind{kindString, kindNumber, kindBinary}

func (t legacyTest) check(faults *constraints, prefix string) {
	checkEnum(faults, t.Operator, prefix+"comparisonOperator",
		"IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS")
}

// operands are the test's values, if the operator takes such.
func (t legacyTest) operands() ([]operand, error) {
	rule := legacyOperators[t.Operator]
	if len(t.Values) != rule.operands && (t.Operator != "IN" || len(t.Values) == 0) {
		return nil, invalidParameter("Invalid number of argument(s) for the %s ComparisonOperator", t.Operator)
	}
	var operands []operand
	for _, wired := range t.Values {
		v, err := wired.value()
		if err != nil {
			return nil, err
		}
		if rule.kinds != nil && !slices.Contains(rule.kinds, v.kind) {
			return nil, invalidParameter("ComparisonOperator %s is not valid for %s AttributeValue type", t.Operator, v.kind)
		}
		if len(operands) > 0 && value(operands[0].(constant)).kind != v.kind {
			return nil, invalidParameter("AttributeValues inside AttributeValueList must be of same type")
		}
		operands = append(operands, constant(v))
	}
	if t.Operator == "BETWEEN" && value(operands[0].(constant)).compare(value(operands[1].(constant))) > 0 {
		return nil, invalid("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
	}
	return operands, nil
}

// comparators are the expression grammar's spellings.
var comparators = map[string]string{"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}

// of is the test as a condition on an attribute.
func (t legacyTest) of(attribute string) (condition, error) {
	operands, err := t.operands()
	if err != nil {
		return nil, err
	}
	subject := path{nameStep(attribute)}
	switch t.Operator {
	case "IN":
		return membership{subject, operands}, nil
	case "BETWEEN":
		return between{subject, operands[0], operands[1]}, nil
	case "CONTAINS":
		return containment{subject, operands[0]}, nil
	case "NOT_CONTAINS":
		return negation{containment{subject, operands[0]}}, nil
	case "BEGINS_WITH":
		return prefixTest{subject, operands[0]}, nil
	case "NULL":
		return negation{existence{subject}}, nil
	case "NOT_NULL":
		return existence{subject}, nil
	default:
		return comparison{comparators[t.Operator], subject, operands[0]}, nil
	}
}

// of is the expectation as a condition on an attribute.
func (e expectation) of(attribute string) (condition, error) {
	exists := e.Exists == nil || *e.Exists
	switch {
	case e.Values != nil && e.Value != nil:
		return nil, invalidParameter("Value and AttributeValueList cannot be used together for Attribute: %s", attribute)
	case e.Exists != nil && e.Operator != "":
		return nil, invalidParameter("Exists and ComparisonOperator cannot be used together for Attribute: %s", attribute)
	case e.Values != nil && e.Operator == "":
		return nil, invalidParameter("AttributeValueList can only be used with a ComparisonOperator for Attribute: %s", attribute)
	case e.Operator != "":
		test := e.legacyTest
		if e.Value != nil {
			test.Values = []wireValue{*e.Value}
		}
		return test.of(attribute)
	case e.Value != nil && !exists:
		return nil, invalidParameter("Value cannot be used when Exists is set to false for Attribute: %s", attribute)
	case e.Value == nil && exists:
		given := "null"
		if e.Exists != nil {
			given = "set to true"
		}
		return nil, invalidParameter("Value must be provided when Exists is %s for Attribute: %s", given, attribute)
	case exists:
		return legacyTest{"EQ", []wireValue{*e.Value}}.of(attribute)
	default:
		return legacyTest{Operator: "NULL"}.of(attribute)
	}
}

// condition is the condition that Expected states; nil for none.
func (l legacyExpectation) condition() (condition, error) {
	return joined(l.Expected, l.ConditionalOperator)
}

// joined is the condition that all of the tests make together, or any if the operator is OR; nil if there are none.
func joined[T interface {
	of(string) (condition, error)
}](tests map[string]T, operator string) (condition, error) {
	switch {
	case operator != "" && tests == nil:
		return nil, invalid("ConditionalOperator cannot be used without Filter or Expected")
	case operator != "" && len(tests) < 2:
		return nil, invalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")
	}
	var all condition
	for _, name := range sortedKeys(tests) {
		c, err := tests[name].of(name)
		switch {
		case err != nil:
			return nil, err
		case all == nil:
			all = c
		case operator == "OR":
			all = disjunction{all, c}
		default:
			all = conjunction{all, c}
		}
	}
	return all, nil
}

// keyTerms are legacy key conditions in the form of a KeyConditionExpression's.
func legacyKeyTerms(tests map[string]legacyTest) ([]keyTerm, error) {
	if len(tests) == 0 {
		return nil, invalid("Conditions can be of length 1 or 2 only")
	}
	var terms []keyTerm
	for _, name := range sortedKeys(tests) {
		operands, err := tests[name].operands()
		if err != nil {
			return nil, err
		}
		term := keyTerm{attribute: name, operator: comparators[tests[name].Operator], operands: operands}
		switch tests[name].Operator {
		case "EQ", "LE", "LT", "GE", "GT":
		case "BETWEEN":
			term.operator = "BETWEEN"
		case "BEGINS_WITH":
			term.operator = "begins_with"
		default:
			return nil, invalid("Attempted conditional constraint is not an indexable operation")
		}
		terms = append(terms, term)
	}
	return terms, nil
}

func checkLegacyTests(faults *constraints, tests map[string]legacyTest, parameter string) {
	for _, name := range sortedKeys(tests) {
		at := fmt.Sprintf("%s.%s.member.", parameter, name)
		faults.addIf(tests[name].Operator == "", "null", at+"comparisonOperator", "Member must not be null")
		tests[name].check(faults, at)
	}
}
