package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// nested is a value inside that many lists.
func nested(levels int) types.AttributeValue {
	v := S("leaf")
	for range levels {
		v = L(v)
	}
	return v
}

// valueBehaviours store one attribute and read it back, or are refused with a message.
var valueBehaviours = func() []behaviour {
	const (
		notNumeric = "The parameter cannot be converted to a numeric value"
		manyDigits = "Attempting to store more than 38 significant digits in a Number"
		overflow   = "Number overflow. Attempting to store a number with magnitude larger than supported range"
		underflow  = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	)
	nines := strings.Repeat("9", 38)
	var list []behaviour
	for _, c := range []struct {
		name    string
		given   types.AttributeValue
		read    string // a number as it is printed; "" if the value itself is compared
		refused string
	}{
		{name: "number 1.50", given: N("1.50"), read: "1.5"},
		{name: "number 1e2", given: N("1e2"), read: "100"},
		{name: "number 1E-2", given: N("1E-2"), read: "0.01"},
		{name: "number -0", given: N("-0.00"), read: "0"},
		{name: "number +5", given: N("+5"), read: "5"},
		{name: "number with leading zeros", given: N("00012"), read: "12"},
		{name: "number .5", given: N(".5"), read: "0.5"},
		{name: "number beyond float64", given: N("9007199254740993"), read: "9007199254740993"},
		{name: "number of 38 digits", given: N(nines), read: nines},
		{name: "number of 38 digits with a fraction", given: N("123456789012345678901234567890.12345678"), read: "123456789012345678901234567890.12345678"},
		{name: "largest number", given: N("9.99E125"), read: "999" + strings.Repeat("0", 123)},
		{name: "smallest number", given: N("1E-130"), read: "0." + strings.Repeat("0", 129) + "1"},
		{name: "number of 39 digits", given: N(nines + "9"), refused: manyDigits},
		{name: "number too large", given: N("1E126"), refused: overflow},
		{name: "number too small", given: N("1E-131"), refused: underflow},
		{name: "number abc", given: N("abc"), refused: notNumeric + ": abc"},
		{name: "empty number", given: N(""), refused: notNumeric},
		{name: "number with a space", given: N(" 1"), refused: notNumeric + ":  1"},
		{name: "number 0x10", given: N("0x10"), refused: notNumeric + ": 0x10"},
		{name: "number NaN", given: N("NaN"), refused: notNumeric + ": NaN"},
		{name: "empty string", given: S("")},
		{name: "empty binary", given: B("")},
		{name: "unicode string", given: S("é\x00😀")},
		{name: "empty list", given: L()},
		{name: "empty map", given: M(attrs{})},
		{name: "null", given: Null},
		{name: "number set with spellings", given: NS("1.0", "20", "-3")},
		{name: "nesting of 31 levels", given: nested(31)},
		{name: "nesting of 32 levels", given: nested(32), refused: "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"},
		{name: "empty string set", given: SS(), refused: "One or more parameter values were invalid: An string set  may not be empty"},
		{name: "empty number set", given: NS(), refused: "One or more parameter values were invalid: An number set  may not be empty"},
		{name: "empty binary set", given: BS(), refused: "One or more parameter values were invalid: Binary sets should not be empty"},
		{name: "string set with duplicates", given: SS("a", "a"), refused: "One or more parameter values were invalid: Input collection [a, a] contains duplicates."},
		{name: "number set with duplicates", given: NS("1", "1.0"), refused: "Input collection contains duplicates"},
		{name: "empty set inside a map", given: M(attrs{"a": SS()}), refused: "One or more parameter values were invalid: An string set  may not be empty"},
		{name: "false null", given: &types.AttributeValueMemberNULL{}, refused: "One or more parameter values were invalid: Null attribute value types must have the value of true"},
	} {
		list = append(list, behaviour{"value " + c.name, func(ctx context.Context, at *endpoint) error {
			id := "value " + c.name
			err := at.put(ctx, attrs{"id": S(id), "v": c.given})
			if c.refused != "" {
				return at.refusal(err, invalidRequest, c.refused)
			}
			if err != nil {
				return err
			}
			got, err := at.get(ctx, id)
			if err != nil {
				return err
			}
			if n, isNumber := got["v"].(*types.AttributeValueMemberN); isNumber && n.Value != c.read {
				return fmt.Errorf("read back as %s, want %s", n.Value, c.read)
			}
			return at.expectItem(ctx, id, attrs{"id": S(id), "v": c.given})
		}})
	}
	return list
}()

// keyBehaviours are the rules for the attributes of primary keys.
var keyBehaviours = func() []behaviour {
	const (
		schema    = "The provided key element does not match the schema"
		emptyText = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: id"
		hashSize  = "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
	)
	var list []behaviour
	for _, c := range []struct {
		name string
		item attrs // of a PutItem
		key  attrs // of a GetItem, UpdateItem, DeleteItem
		want string
	}{
		{name: "missing in an item", item: attrs{"v": S("x")}, want: "One or more parameter values were invalid: Missing the key id in the item"},
		{name: "of another type in an item", item: attrs{"id": N("1")}, want: "One or more parameter values were invalid: Type mismatch for key id expected: S actual: N"},
		{name: "empty in an item", item: attrs{"id": S("")}, want: emptyText},
		{name: "of 2048 bytes", item: attrs{"id": S(strings.Repeat("k", 2048))}},
		{name: "of 2049 bytes", item: attrs{"id": S(strings.Repeat("k", 2049))}, want: hashSize},
		{name: "missing", key: attrs{}, want: schema},
		{name: "of another type", key: attrs{"id": N("1")}, want: schema},
		{name: "of another name", key: attrs{"other": S("a")}, want: schema},
		{name: "with one attribute too many", key: attrs{"id": S("a"), "v": S("b")}, want: schema},
		{name: "empty", key: attrs{"id": S("")}, want: emptyText},
	} {
		expect := func(at *endpoint, err error) error {
			if c.want == "" {
				return err
			}
			return at.refusal(err, invalidRequest, c.want)
		}
		list = append(list, behaviour{"key " + c.name, func(ctx context.Context, at *endpoint) error {
			if c.item != nil {
				return expect(at, at.put(ctx, c.item))
			}
			_, err := at.GetItem(ctx, &dynamodb.GetItemInput{TableName: &at.hashed, Key: c.key})
			if err := expect(at, err); err != nil {
				return fmt.Errorf("GetItem: %w", err)
			}
			_, err = at.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &at.hashed, Key: c.key})
			if err := expect(at, err); err != nil {
				return fmt.Errorf("DeleteItem: %w", err)
			}
			_, err = at.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &at.hashed, Key: c.key, UpdateExpression: aws.String("REMOVE v")})
			if err := expect(at, err); err != nil {
				return fmt.Errorf("UpdateItem: %w", err)
			}
			return nil
		}})
	}
	return append(list, behaviour{"sort key of more than 1024 bytes", func(ctx context.Context, at *endpoint) error {
		name := at.hashed + "-text"
		err := at.create(ctx, &dynamodb.CreateTableInput{
			TableName:            &name,
			BillingMode:          types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "S"}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: "HASH"}, {AttributeName: aws.String("sk"), KeyType: "RANGE"}},
		})
		if err != nil {
			return err
		}
		defer at.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		for length, want := range map[int]string{
			1024: "",
			1025: "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
		} {
			_, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: attrs{"id": S("a"), "sk": S(strings.Repeat("k", length))}})
			code := invalidRequest
			if want == "" {
				code = ""
			}
			if err := at.refusal(err, code, want); err != nil {
				return err
			}
		}
		return nil
	}})
}()

// itemBehaviours are stories about single items.
var itemBehaviours = []behaviour{
	{"a failed condition gives the item only if asked", func(ctx context.Context, at *endpoint) error {
		stored := attrs{"id": S("all old"), "n": N("1")}
		if err := at.put(ctx, stored); err != nil {
			return err
		}
		for _, c := range []struct {
			show types.ReturnValuesOnConditionCheckFailure
			want attrs
		}{{"", nil}, {"NONE", nil}, {"ALL_OLD", stored}} {
			put, update, remove := at.failingWrites(stored, c.show)
			for name, write := range map[string]func(context.Context) error{"put": put, "update": update, "delete": remove} {
				failed, ok := errors.AsType[*types.ConditionalCheckFailedException](write(ctx))
				if !ok || failed.ErrorMessage() != "The conditional request failed" {
					return fmt.Errorf("%s: got %v", name, failed)
				}
				if !same(failed.Item, c.want) {
					return fmt.Errorf("%s with %q: got %s, want %s", name, c.show, show(failed.Item), show(c.want))
				}
			}
		}
		return at.expectItem(ctx, "all old", stored)
	}},
	{"a failed condition on no item gives none", func(ctx context.Context, at *endpoint) error {
		_, update, remove := at.failingWrites(attrs{"id": S("never stored")}, "ALL_OLD")
		for _, write := range []func(context.Context) error{update, remove} {
			failed, ok := errors.AsType[*types.ConditionalCheckFailedException](write(ctx))
			if !ok || len(failed.Item) != 0 {
				return fmt.Errorf("got %v with item %v", failed, failed.Item)
			}
		}
		return at.expectItem(ctx, "never stored", nil)
	}},
	{"put replaces the whole item", func(ctx context.Context, at *endpoint) error {
		if err := at.put(ctx, attrs{"id": S("whole"), "a": S("x")}); err != nil {
			return err
		}
		out, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.hashed, Item: attrs{"id": S("whole"), "b": S("y")}, ReturnValues: "ALL_OLD"})
		if err != nil {
			return err
		}
		if !same(out.Attributes, attrs{"id": S("whole"), "a": S("x")}) {
			return fmt.Errorf("ALL_OLD gave %s", show(out.Attributes))
		}
		return at.expectItem(ctx, "whole", attrs{"id": S("whole"), "b": S("y")})
	}},
	{"put returns only what was", func(ctx context.Context, at *endpoint) error {
		_, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.hashed, Item: attrs{"id": S("a")}, ReturnValues: "ALL_NEW"})
		return at.refusal(err, invalidRequest, "ReturnValues can only be ALL_OLD or NONE")
	}},
	{"update returns what was asked for", func(ctx context.Context, at *endpoint) error {
		for _, c := range []struct {
			show types.ReturnValue
			want attrs
		}{
			{"NONE", nil},
			{"ALL_OLD", attrs{"id": S("show"), "a": N("1"), "b": N("2"), "m": M(attrs{"x": N("1"), "y": N("2")})}},
			{"ALL_NEW", attrs{"id": S("show"), "a": N("2"), "c": N("9"), "m": M(attrs{"x": N("7"), "y": N("2")})}},
			{"UPDATED_OLD", attrs{"a": N("1"), "b": N("2"), "m": M(attrs{"x": N("1")})}},
			{"UPDATED_NEW", attrs{"a": N("2"), "c": N("9"), "m": M(attrs{"x": N("7")})}},
		} {
			if err := at.put(ctx, attrs{"id": S("show"), "a": N("1"), "b": N("2"), "m": M(attrs{"x": N("1"), "y": N("2")})}); err != nil {
				return err
			}
			out, err := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &at.hashed, Key: attrs{"id": S("show")}, ReturnValues: c.show,
				UpdateExpression:          aws.String("SET a = a + :one, c = :nine, m.x = :seven REMOVE b"),
				ExpressionAttributeValues: attrs{":one": N("1"), ":nine": N("9"), ":seven": N("7")},
			})
			if err != nil {
				return err
			}
			if !same(out.Attributes, c.want) {
				return fmt.Errorf("%s gave %s, want %s", c.show, show(out.Attributes), show(c.want))
			}
		}
		return nil
	}},
	{"update of no item makes one from the key", func(ctx context.Context, at *endpoint) error {
		_, err := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &at.hashed, Key: attrs{"id": S("made")}, UpdateExpression: aws.String("SET copied = id REMOVE absent"),
		})
		if err != nil {
			return err
		}
		return at.expectItem(ctx, "made", attrs{"id": S("made"), "copied": S("made")})
	}},
	{"update without an expression stores the key", func(ctx context.Context, at *endpoint) error {
		if _, err := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &at.hashed, Key: attrs{"id": S("bare")}}); err != nil {
			return err
		}
		return at.expectItem(ctx, "bare", attrs{"id": S("bare")})
	}},
	{"an update can nest as deep as a put", func(ctx context.Context, at *endpoint) error {
		if err := at.put(ctx, attrs{"id": S("nest"), "m": M(attrs{"b": M(attrs{})})}); err != nil {
			return err
		}
		set := func(levels int) error {
			_, err := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &at.hashed, Key: attrs{"id": S("nest")}, UpdateExpression: aws.String("SET m.b.c = :v"),
				ExpressionAttributeValues: attrs{":v": nested(levels)},
			})
			return err
		}
		if err := set(29); err != nil {
			return err
		}
		return at.refusal(set(30), invalidRequest, "Nesting Levels have exceeded supported limits")
	}},
	{"delete of no item is fine", func(ctx context.Context, at *endpoint) error {
		out, err := at.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &at.hashed, Key: attrs{"id": S("nobody")}, ReturnValues: "ALL_OLD"})
		if err != nil || out.Attributes != nil {
			return fmt.Errorf("got %v, %v", out, err)
		}
		return nil
	}},
	{"projection selects paths and closes gaps in lists", func(ctx context.Context, at *endpoint) error {
		if err := at.put(ctx, with(sample, attrs{"id": S("project")})); err != nil {
			return err
		}
		for expression, want := range map[string]attrs{
			"n, s":           {"n": N("5"), "s": S("hello")},
			"m.b.c, m.a":     {"m": M(attrs{"a": N("1"), "b": M(attrs{"c": S("deep")})})},
			"l[1], l[0]":     {"l": L(N("1"), S("two"))},
			"l[3].x, l[0]":   {"l": L(N("1"), M(attrs{"x": N("4")}))},
			"m.l[2], absent": {"m": M(attrs{"l": L(N("3"))})},
			"absent":         {},
			"nothing":        {"nothing": Null},
			"#n":             {"n": N("5")},
		} {
			out, err := at.GetItem(ctx, &dynamodb.GetItemInput{
				TableName: &at.hashed, Key: attrs{"id": S("project")}, ProjectionExpression: &expression,
				ExpressionAttributeNames: used(sampleNames, expression), ConsistentRead: aws.Bool(true),
			})
			if err != nil {
				return err
			}
			if !same(out.Item, want) {
				return fmt.Errorf("%s gave %s, want %s", expression, show(out.Item), show(want))
			}
		}
		for expression, message := range map[string]string{
			"m, m.a":  "Invalid ProjectionExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m], path two: [m, a]",
			"n s":     `Invalid ProjectionExpression: Syntax error; token: "s", near: "n s"`,
			"status":  "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: status",
			"#absent": "Invalid ProjectionExpression: An expression attribute name used in the document path is not defined; attribute name: #absent",
		} {
			_, err := at.GetItem(ctx, &dynamodb.GetItemInput{TableName: &at.hashed, Key: attrs{"id": S("project")}, ProjectionExpression: &expression})
			if err := at.refusal(err, invalidRequest, message); err != nil {
				return err
			}
		}
		return nil
	}},
	{"placeholders must be used and defined", func(ctx context.Context, at *endpoint) error {
		for _, c := range []struct {
			condition *string
			names     map[string]string
			values    attrs
			want      string
		}{
			{aws.String("attribute_exists(id)"), map[string]string{"#a": "a"}, nil, "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}"},
			{aws.String("attribute_exists(id)"), nil, attrs{":a": N("1"), ":b": N("1")}, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:a, :b}"},
			{nil, map[string]string{"#a": "a"}, nil, "ExpressionAttributeNames can only be specified when using expressions"},
			{nil, nil, attrs{":a": N("1")}, "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null"},
			{aws.String("attribute_exists(id)"), map[string]string{"a": "a"}, nil, `ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`},
			{aws.String("attribute_exists(id)"), nil, attrs{"a": N("1")}, `ExpressionAttributeValues contains invalid key: Syntax error; key: "a"`},
			{aws.String("attribute_exists(id)"), map[string]string{}, nil, "ExpressionAttributeNames must not be empty"},
			{aws.String("attribute_exists(id)"), nil, attrs{}, "ExpressionAttributeValues must not be empty"},
			{aws.String("id = :a"), nil, attrs{":a": SS()}, "ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: An string set  may not be empty for key :a"},
		} {
			_, err := at.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: &at.hashed, Item: attrs{"id": S("placeholders")}, ConditionExpression: c.condition,
				ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
			})
			if err := at.refusal(err, invalidRequest, c.want); err != nil {
				return err
			}
		}
		return at.expectItem(ctx, "placeholders", nil)
	}},
	{"legacy parameters are refused beside expressions", func(ctx context.Context, at *endpoint) error {
		_, err := at.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &at.hashed, Item: attrs{"id": S("legacy")}, ConditionExpression: aws.String("attribute_not_exists(id)"),
			Expected: map[string]types.ExpectedAttributeValue{"id": {Exists: aws.Bool(false)}},
		})
		return at.refusal(err, invalidRequest, "Can not use both expression and non-expression parameters in the same request: "+
			"Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}")
	}},
	{"an item has at most 400 KB with its names", func(ctx context.Context, at *endpoint) error {
		const limit, rest = 409600, len("id") + len("size") + len("v")
		fits := attrs{"id": S("size"), "v": S(strings.Repeat("x", limit-rest))}
		if err := at.put(ctx, fits); err != nil {
			return err
		}
		err := at.put(ctx, attrs{"id": S("size"), "v": S(strings.Repeat("x", limit-rest+1))})
		if err := at.refusal(err, invalidRequest, "Item size has exceeded the maximum allowed size"); err != nil {
			return err
		}
		_, err = at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &at.hashed, Key: attrs{"id": S("size")}, UpdateExpression: aws.String("SET w = :w"), ExpressionAttributeValues: attrs{":w": S("")},
		})
		if err := at.refusal(err, invalidRequest, "Item size to update has exceeded the maximum allowed size"); err != nil {
			return err
		}
		if err := at.expectItem(ctx, "size", fits); err != nil {
			return err
		}
		_, err = at.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &at.hashed, Key: attrs{"id": S("size")}})
		return err
	}},
	{"a table that is not there is not found", func(ctx context.Context, at *endpoint) error {
		_, err := at.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("not-there"), Key: attrs{"id": S("a")}})
		return at.refusal(err, "ResourceNotFoundException", "Requested resource not found")
	}},
}

// failingWrites are the three writes of an item under a condition that it does not fulfil.
func (at *endpoint) failingWrites(item attrs, onFailure types.ReturnValuesOnConditionCheckFailure) (put, update, remove func(context.Context) error) {
	never, key := aws.String("attribute_exists(absent)"), attrs{"id": item["id"]}
	return func(ctx context.Context) error {
			_, err := at.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: &at.hashed, Item: key, ConditionExpression: never, ReturnValuesOnConditionCheckFailure: onFailure,
			})
			return err
		}, func(ctx context.Context) error {
			_, err := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &at.hashed, Key: key, UpdateExpression: aws.String("REMOVE n"), ConditionExpression: never, ReturnValuesOnConditionCheckFailure: onFailure,
			})
			return err
		}, func(ctx context.Context) error {
			_, err := at.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: &at.hashed, Key: key, ConditionExpression: never, ReturnValuesOnConditionCheckFailure: onFailure,
			})
			return err
		}
}
