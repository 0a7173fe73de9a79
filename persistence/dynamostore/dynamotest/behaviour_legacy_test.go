package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// legacyItem is what the tests of legacyBehaviours are about.
var legacyItem = attrs{
	"sk": N("1"), "s": S("text"), "n": N("5"), "b": B("bytes"), "ss": SS("x", "y"), "ns": NS("1", "2"), "l": L(S("x"), N("1")), "flag": True,
}

// operation is one legacy test of an attribute, such as "n GT 4": with its values.
type operation struct {
	attribute string
	operator  types.ComparisonOperator
	values    []types.AttributeValue
	holds     bool
	refused   string
}

// legacyOperations: developer guide, "Legacy conditional parameters", QueryFilter and Expected.
var legacyOperations = []operation{
	{attribute: "n", operator: "EQ", values: []types.AttributeValue{N("5.0")}, holds: true},
	{attribute: "n", operator: "EQ", values: []types.AttributeValue{S("five")}},
	{attribute: "ss", operator: "EQ", values: []types.AttributeValue{SS("y", "x")}, holds: true},
	{attribute: "l", operator: "EQ", values: []types.AttributeValue{L(S("x"), N("1"))}, holds: true},
	{attribute: "n", operator: "NE", values: []types.AttributeValue{N("6")}, holds: true},
	{attribute: "n", operator: "NE", values: []types.AttributeValue{N("5")}},
	{attribute: "n", operator: "LT", values: []types.AttributeValue{N("10")}, holds: true},
	{attribute: "n", operator: "LE", values: []types.AttributeValue{N("5")}, holds: true},
	{attribute: "n", operator: "GT", values: []types.AttributeValue{N("5")}},
	{attribute: "n", operator: "GE", values: []types.AttributeValue{N("5")}, holds: true},
	{attribute: "s", operator: "GT", values: []types.AttributeValue{N("1")}},
	{attribute: "absent", operator: "GT", values: []types.AttributeValue{N("1")}},
	{attribute: "n", operator: "BETWEEN", values: []types.AttributeValue{N("4"), N("5")}, holds: true},
	{attribute: "n", operator: "BETWEEN", values: []types.AttributeValue{N("6"), N("7")}},
	{attribute: "s", operator: "IN", values: []types.AttributeValue{S("no"), S("text")}, holds: true},
	{attribute: "s", operator: "IN", values: []types.AttributeValue{S("no")}},
	{attribute: "s", operator: "BEGINS_WITH", values: []types.AttributeValue{S("te")}, holds: true},
	{attribute: "b", operator: "BEGINS_WITH", values: []types.AttributeValue{B("by")}, holds: true},
	{attribute: "s", operator: "CONTAINS", values: []types.AttributeValue{S("ex")}, holds: true},
	{attribute: "ss", operator: "CONTAINS", values: []types.AttributeValue{S("x")}, holds: true},
	{attribute: "ns", operator: "CONTAINS", values: []types.AttributeValue{N("2.0")}, holds: true},
	{attribute: "ss", operator: "NOT_CONTAINS", values: []types.AttributeValue{S("z")}, holds: true},
	{attribute: "ss", operator: "NOT_CONTAINS", values: []types.AttributeValue{S("x")}},
	{attribute: "absent", operator: "NULL", holds: true},
	{attribute: "s", operator: "NULL"},
	{attribute: "s", operator: "NOT_NULL", holds: true},

	{attribute: "n", operator: "EQ", refused: badParameter + "Invalid number of argument(s) for the EQ ComparisonOperator"},
	{attribute: "n", operator: "BETWEEN", values: []types.AttributeValue{N("1")}, refused: badParameter + "Invalid number of argument(s) for the BETWEEN ComparisonOperator"},
	{attribute: "n", operator: "NULL", values: []types.AttributeValue{N("1")}, refused: badParameter + "Invalid number of argument(s) for the NULL ComparisonOperator"},
	{attribute: "ss", operator: "LT", values: []types.AttributeValue{SS("x")}, refused: badParameter + "ComparisonOperator LT is not valid for SS AttributeValue type"},
	{attribute: "n", operator: "BEGINS_WITH", values: []types.AttributeValue{N("5")}, refused: badParameter + "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"},
	{attribute: "s", operator: "IN", values: []types.AttributeValue{S("x"), N("1")}, refused: badParameter + "AttributeValues inside AttributeValueList must be of same type"},
	{attribute: "n", operator: "BETWEEN", values: []types.AttributeValue{N("5"), N("4")}, refused: "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"},
}

// writesExpecting are the writes that take Expected.
func (at *endpoint) writesExpecting(item attrs, expected map[string]types.ExpectedAttributeValue) map[string]func(ctx context.Context) error {
	key := attrs{"id": item["id"], "sk": item["sk"]}
	return map[string]func(ctx context.Context) error{
		"PutItem": func(ctx context.Context) error {
			_, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.sorted, Item: item, Expected: expected})
			return err
		},
		"UpdateItem": func(ctx context.Context) error {
			_, err := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &at.sorted, Key: key, Expected: expected,
				AttributeUpdates: map[string]types.AttributeValueUpdate{"s": {Value: item["s"]}},
			})
			return err
		},
		"DeleteItem": func(ctx context.Context) error {
			if _, err := at.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &at.sorted, Key: key, Expected: expected}); err != nil {
				return err
			}
			_, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.sorted, Item: item})
			return err
		},
	}
}

// legacyBehaviours ask each operation of each parameter that takes it, then the rest.
var legacyBehaviours = func() []behaviour {
	var list []behaviour
	for _, c := range legacyOperations {
		name := fmt.Sprintf("legacy %s %s %s", c.attribute, c.operator, show(attrs{"values": L(c.values...)}))
		list = append(list, behaviour{name, func(ctx context.Context, at *endpoint) error {
			item := with(legacyItem, attrs{"id": S(name)})
			if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.sorted, Item: item}); err != nil {
				return err
			}
			expected := map[string]types.ExpectedAttributeValue{c.attribute: {ComparisonOperator: c.operator, AttributeValueList: c.values}}
			for write, run := range at.writesExpecting(item, expected) {
				err := run(ctx)
				switch {
				case c.refused != "":
					err = at.refusal(err, invalidRequest, c.refused)
				case !c.holds:
					err = at.refusal(err, "ConditionalCheckFailedException", "The conditional request failed")
				}
				if err != nil {
					return fmt.Errorf("%s: %w", write, err)
				}
			}
			filter := map[string]types.Condition{c.attribute: {ComparisonOperator: c.operator, AttributeValueList: c.values}}
			queried, err := at.Query(ctx, &dynamodb.QueryInput{
				TableName: &at.sorted, ConsistentRead: aws.Bool(true), QueryFilter: filter,
				KeyConditions: map[string]types.Condition{"id": {ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{S(name)}}},
			})
			if c.refused != "" {
				return at.refusal(err, invalidRequest, c.refused)
			}
			if want := map[bool]int{true: 1}[c.holds]; err != nil || len(queried.Items) != want {
				return fmt.Errorf("QueryFilter found %+v, want %d; %w", queried, want, err)
			}
			return nil
		}})
	}
	return append(list, legacyStories...)
}()

var legacyStories = []behaviour{
	{"legacy expectations of the short form", func(ctx context.Context, at *endpoint) error {
		item := with(legacyItem, attrs{"id": S("short form")})
		if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.sorted, Item: item}); err != nil {
			return err
		}
		for _, c := range []struct {
			expected types.ExpectedAttributeValue
			code     string
			message  string
		}{
			{types.ExpectedAttributeValue{Value: S("text")}, "", ""},
			{types.ExpectedAttributeValue{Value: S("text"), Exists: aws.Bool(true)}, "", ""},
			{types.ExpectedAttributeValue{Value: S("other")}, "ConditionalCheckFailedException", ""},
			{types.ExpectedAttributeValue{Exists: aws.Bool(false)}, "ConditionalCheckFailedException", ""},
			{types.ExpectedAttributeValue{Value: S("te"), ComparisonOperator: "BEGINS_WITH"}, "", ""},
			{types.ExpectedAttributeValue{Exists: aws.Bool(true)}, invalidRequest, badParameter + "Value must be provided when Exists is set to true for Attribute: s"},
			{types.ExpectedAttributeValue{}, invalidRequest, badParameter + "Value must be provided when Exists is null for Attribute: s"},
			{types.ExpectedAttributeValue{Value: S("x"), Exists: aws.Bool(false)}, invalidRequest, badParameter + "Value cannot be used when Exists is set to false for Attribute: s"},
			{types.ExpectedAttributeValue{Exists: aws.Bool(true), ComparisonOperator: "NOT_NULL"}, invalidRequest, badParameter + "Exists and ComparisonOperator cannot be used together for Attribute: s"},
			{types.ExpectedAttributeValue{AttributeValueList: []types.AttributeValue{S("x")}}, invalidRequest, badParameter + "AttributeValueList can only be used with a ComparisonOperator for Attribute: s"},
			{types.ExpectedAttributeValue{Value: S("x"), AttributeValueList: []types.AttributeValue{S("x")}}, invalidRequest, badParameter + "Value and AttributeValueList cannot be used together for Attribute: s"},
		} {
			for write, run := range at.writesExpecting(item, map[string]types.ExpectedAttributeValue{"s": c.expected}) {
				if err := at.refusal(run(ctx), c.code, c.message); err != nil {
					return fmt.Errorf("%s with %+v: %w", write, c.expected, err)
				}
			}
		}
		return nil
	}},
	{"legacy conditions hold together, or one of them", func(ctx context.Context, at *endpoint) error {
		item := with(legacyItem, attrs{"id": S("together")})
		if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.sorted, Item: item}); err != nil {
			return err
		}
		right, wrong := types.ExpectedAttributeValue{Value: S("text")}, types.ExpectedAttributeValue{Value: N("6")}
		for _, c := range []struct {
			operator types.ConditionalOperator
			expected map[string]types.ExpectedAttributeValue
			code     string
		}{
			{"", map[string]types.ExpectedAttributeValue{"s": right, "n": wrong}, "ConditionalCheckFailedException"},
			{"AND", map[string]types.ExpectedAttributeValue{"s": right, "n": wrong}, "ConditionalCheckFailedException"},
			{"OR", map[string]types.ExpectedAttributeValue{"s": right, "n": wrong}, ""},
			{"OR", map[string]types.ExpectedAttributeValue{"s": right}, invalidRequest},
			{"OR", nil, invalidRequest},
			{"XOR", map[string]types.ExpectedAttributeValue{"s": right, "n": wrong}, invalidRequest},
		} {
			_, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.sorted, Item: item, Expected: c.expected, ConditionalOperator: c.operator})
			if err := at.refusal(err, c.code, ""); err != nil {
				return fmt.Errorf("%q: %w", c.operator, err)
			}
		}
		return nil
	}},
	{"legacy key conditions select what key condition expressions do", func(ctx context.Context, at *endpoint) error {
		if err := at.fill(ctx, "legacy keys", 12); err != nil {
			return err
		}
		id := types.Condition{ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{S("legacy keys")}}
		on := func(operator types.ComparisonOperator, values ...types.AttributeValue) map[string]types.Condition {
			return map[string]types.Condition{"id": id, "sk": {ComparisonOperator: operator, AttributeValueList: values}}
		}
		for _, c := range []struct {
			keys    map[string]types.Condition
			found   string
			refused string
		}{
			{map[string]types.Condition{"id": id}, "0 1 2 3 4 5 6 7 8 9 10 11", ""},
			{on("EQ", N("2")), "2", ""},
			{on("LT", N("2")), "0 1", ""},
			{on("LE", N("2")), "0 1 2", ""},
			{on("GT", N("9")), "10 11", ""},
			{on("GE", N("9")), "9 10 11", ""},
			{on("BETWEEN", N("2"), N("4")), "2 3 4", ""},
			{on("NE", N("2")), "", "Attempted conditional constraint is not an indexable operation"},
			{on("EQ", S("2")), "", badParameter + "Condition parameter type does not match schema type"},
			{map[string]types.Condition{"sk": id}, "", "Query condition missed key schema element: id"},
			{map[string]types.Condition{"id": {ComparisonOperator: "GT", AttributeValueList: []types.AttributeValue{S("a")}}}, "", "Query key condition not supported"},
			{map[string]types.Condition{}, "", "Conditions can be of length 1 or 2 only"},
		} {
			out, err := at.Query(ctx, &dynamodb.QueryInput{TableName: &at.sorted, KeyConditions: c.keys, ConsistentRead: aws.Bool(true)})
			if c.refused != "" {
				if err := at.refusal(err, invalidRequest, c.refused); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			if found := places(out.Items); found != c.found {
				return fmt.Errorf("%v: found %s, want %s", c.keys["sk"], found, c.found)
			}
		}
		// Key conditions, alone of all legacy parameters, go with a filter and a projection.
		out, err := at.Query(ctx, &dynamodb.QueryInput{
			TableName: &at.sorted, KeyConditions: map[string]types.Condition{"id": id}, ConsistentRead: aws.Bool(true),
			FilterExpression: aws.String("v = :two"), ExpressionAttributeValues: attrs{":two": N("2")}, ProjectionExpression: aws.String("sk"),
		})
		if err != nil {
			return err
		}
		if found := places(out.Items); found != "2 5 8 11" || len(out.Items[0]) != 1 {
			return fmt.Errorf("with a filter found %s", found)
		}
		return nil
	}},
	{"legacy attribute updates", func(ctx context.Context, at *endpoint) error {
		for _, c := range []struct {
			name     string
			update   types.AttributeValueUpdate
			old, new types.AttributeValue
			refused  string
		}{
			{"PUT", types.AttributeValueUpdate{Action: "PUT", Value: S("x")}, N("1"), S("x"), ""},
			{"PUT by default", types.AttributeValueUpdate{Value: S("x")}, nil, S("x"), ""},
			{"ADD to a number", types.AttributeValueUpdate{Action: "ADD", Value: N("2")}, N("1"), N("3"), ""},
			{"ADD to nothing", types.AttributeValueUpdate{Action: "ADD", Value: N("2")}, nil, N("2"), ""},
			{"ADD to a set", types.AttributeValueUpdate{Action: "ADD", Value: SS("b")}, SS("a"), SS("a", "b"), ""},
			{"DELETE", types.AttributeValueUpdate{Action: "DELETE"}, N("1"), nil, ""},
			{"DELETE from a set", types.AttributeValueUpdate{Action: "DELETE", Value: SS("a")}, SS("a", "b"), SS("b"), ""},
			{"DELETE all of a set", types.AttributeValueUpdate{Action: "DELETE", Value: SS("a")}, SS("a"), nil, ""},
			{"ADD to another type", types.AttributeValueUpdate{Action: "ADD", Value: N("2")}, S("x"), S("x"), "Type mismatch for attribute to update"},
			{"ADD of a text", types.AttributeValueUpdate{Action: "ADD", Value: S("x")}, nil, nil, badParameter + "ADD action is not supported for the type S"},
			{"DELETE of a number", types.AttributeValueUpdate{Action: "DELETE", Value: N("1")}, N("1"), N("1"), badParameter + "DELETE action with value is not supported for the type N"},
			{"PUT of nothing", types.AttributeValueUpdate{Action: "PUT"}, N("1"), N("1"), badParameter + "Only DELETE action is allowed when no attribute value is specified"},
		} {
			key := attrs{"id": S("updates " + c.name)}
			before, after := attrs{"id": key["id"]}, attrs{"id": key["id"]}
			if c.old != nil {
				before["v"] = c.old
			}
			if c.new != nil {
				after["v"] = c.new
			}
			if err := at.put(ctx, before); err != nil {
				return err
			}
			out, err := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &at.hashed, Key: key, AttributeUpdates: map[string]types.AttributeValueUpdate{"v": c.update}, ReturnValues: "ALL_NEW",
			})
			code := invalidRequest
			if c.refused == "" {
				code = ""
			}
			if err := at.refusal(err, code, c.refused); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if err := at.expectItem(ctx, "updates "+c.name, after); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if c.refused == "" && !same(out.Attributes, after) {
				return fmt.Errorf("%s: ALL_NEW %s", c.name, show(out.Attributes))
			}
		}
		return nil
	}},
	{"legacy attribute updates of no item", func(ctx context.Context, at *endpoint) error {
		update := func(id string, updates map[string]types.AttributeValueUpdate) error {
			_, err := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &at.hashed, Key: attrs{"id": S(id)}, AttributeUpdates: updates})
			return err
		}
		return errors.Join(
			update("deleted from nothing", map[string]types.AttributeValueUpdate{"v": {Action: "DELETE"}}),
			at.expectItem(ctx, "deleted from nothing", nil),
			update("added to nothing", map[string]types.AttributeValueUpdate{"v": {Action: "ADD", Value: N("1")}}),
			at.expectItem(ctx, "added to nothing", attrs{"id": S("added to nothing"), "v": N("1")}),
			at.refusal(update("the key", map[string]types.AttributeValueUpdate{"id": {Value: S("other")}}), invalidRequest,
				badParameter+"Cannot update attribute id. This attribute is part of the key"),
		)
	}},
	{"AttributesToGet names whole attributes", func(ctx context.Context, at *endpoint) error {
		item := attrs{"id": S("attributes to get"), "sk": N("1"), "a.b": S("dotted"), "m": M(attrs{"x": N("1")})}
		if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.sorted, Item: item}); err != nil {
			return err
		}
		key, names, want := attrs{"id": item["id"], "sk": item["sk"]}, []string{"a.b", "m", "absent"}, "a.b=dotted m={x: 1}"
		got, err := at.GetItem(ctx, &dynamodb.GetItemInput{TableName: &at.sorted, Key: key, AttributesToGet: names})
		if err != nil {
			return err
		}
		batch, err := at.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{at.sorted: {Keys: []attrs{key}, AttributesToGet: names}}})
		if err != nil {
			return err
		}
		queried, err := at.Query(ctx, &dynamodb.QueryInput{
			TableName: &at.sorted, AttributesToGet: names,
			KeyConditionExpression: nil, KeyConditions: map[string]types.Condition{"id": {ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{item["id"]}}},
		})
		if err != nil {
			return err
		}
		for operation, found := range map[string]attrs{"GetItem": got.Item, "BatchGetItem": batch.Responses[at.sorted][0], "Query": queried.Items[0]} {
			if show(found) != want {
				return fmt.Errorf("%s: got %s", operation, show(found))
			}
		}
		_, err = at.GetItem(ctx, &dynamodb.GetItemInput{TableName: &at.sorted, Key: key, AttributesToGet: []string{"m", "m"}})
		return at.refusal(err, invalidRequest, badParameter+"Duplicate value in attribute name: m")
	}},
	{"legacy parameters do not go with expressions", func(ctx context.Context, at *endpoint) error {
		key, condition := attrs{"id": S("mixed"), "sk": N("1")}, aws.String("attribute_exists(id)")
		expected := map[string]types.ExpectedAttributeValue{"v": {Exists: aws.Bool(false)}}
		filter := map[string]types.Condition{"v": {ComparisonOperator: "NULL"}}
		keys := map[string]types.Condition{"id": {ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{S("mixed")}}}
		mixed := func(err error, legacy, expressions string) error {
			return at.refusal(err, invalidRequest, "Can not use both expression and non-expression parameters in the same request: "+
				"Non-expression parameters: {"+legacy+"} Expression parameters: {"+expressions+"}")
		}
		_, put := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.sorted, Item: key, Expected: expected, ConditionExpression: condition})
		_, remove := at.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &at.sorted, Key: key, Expected: expected, ConditionExpression: condition})
		_, update := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &at.sorted, Key: key, AttributeUpdates: map[string]types.AttributeValueUpdate{"v": {Value: S("x")}}, UpdateExpression: aws.String("REMOVE v"),
		})
		_, get := at.GetItem(ctx, &dynamodb.GetItemInput{TableName: &at.sorted, Key: key, AttributesToGet: []string{"v"}, ProjectionExpression: aws.String("v")})
		_, scan := at.Scan(ctx, &dynamodb.ScanInput{TableName: &at.sorted, ScanFilter: filter, FilterExpression: condition})
		_, query := at.Query(ctx, &dynamodb.QueryInput{TableName: &at.sorted, KeyConditions: keys, QueryFilter: filter, ProjectionExpression: aws.String("v")})
		_, twice := at.Query(ctx, &dynamodb.QueryInput{
			TableName: &at.sorted, KeyConditions: keys, KeyConditionExpression: aws.String("id = :id"), ExpressionAttributeValues: attrs{":id": S("mixed")},
		})
		return errors.Join(
			mixed(put, "Expected", "ConditionExpression"), mixed(remove, "Expected", "ConditionExpression"),
			mixed(update, "AttributeUpdates", "UpdateExpression"), mixed(get, "AttributesToGet", "ProjectionExpression"),
			mixed(scan, "ScanFilter", "FilterExpression"), mixed(query, "QueryFilter", "ProjectionExpression"),
			mixed(twice, "KeyConditions", "KeyConditionExpression"),
		)
	}},
	{"a legacy filter of a scan", func(ctx context.Context, at *endpoint) error {
		return at.scratch(ctx, tableWith(at.hashed+"-scan-filter", ""), func(name string) error {
			for i := range 6 {
				item := attrs{"id": S("a"), "sk": N(strconv.Itoa(i)), "v": N(strconv.Itoa(i % 3))}
				if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
					return err
				}
			}
			filter := map[string]types.Condition{
				"v":  {ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{N("2")}},
				"sk": {ComparisonOperator: "LT", AttributeValueList: []types.AttributeValue{N("2")}},
			}
			for operator, want := range map[types.ConditionalOperator]string{"": "", "AND": "", "OR": "0 1 2 5"} {
				out, err := at.Scan(ctx, &dynamodb.ScanInput{TableName: &name, ConsistentRead: aws.Bool(true), ScanFilter: filter, ConditionalOperator: operator})
				if err != nil {
					return err
				}
				if found := places(out.Items); found != want || out.ScannedCount != 6 {
					return fmt.Errorf("%q: found %s of %d, want %s", operator, found, out.ScannedCount, want)
				}
			}
			return nil
		})
	}},
	{"a legacy filter does not look at the key that is queried", func(ctx context.Context, at *endpoint) error {
		is := func(v types.AttributeValue) types.Condition {
			return types.Condition{ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{v}}
		}
		_, err := at.Query(ctx, &dynamodb.QueryInput{
			TableName: &at.sorted, KeyConditions: map[string]types.Condition{"id": is(S("a"))}, QueryFilter: map[string]types.Condition{"sk": is(N("1"))},
		})
		return at.refusal(err, invalidRequest, "QueryFilter can only contain non-primary key attributes: Primary key attribute: sk")
	}},
}
