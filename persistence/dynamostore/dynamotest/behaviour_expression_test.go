package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sample is the item that the expression cases look at.
var sample = attrs{
	"n": N("5"), "s": S("hello"), "b": B("\x01\x02"), "yes": True, "nothing": Null, "blank": S(""),
	"l":  L(N("1"), S("two"), L(N("3")), M(attrs{"x": N("4")})),
	"m":  M(attrs{"a": N("1"), "b": M(attrs{"c": S("deep")}), "l": L(N("1"), N("2"), N("3"))}),
	"ss": SS("x", "y"), "ns": NS("1", "2"), "bs": BS("\x01"), "emoji": S("a😀"),
}

var sampleValues = attrs{
	":n": N("5"), ":n9": N("9"), ":s": S("hel"), ":b": B("\x01"), ":yes": True, ":nothing": Null, ":blank": S(""),
	":l": L(N("1")), ":m": M(attrs{}), ":ss": SS("x"), ":sz": SS("z", "a"), ":sall": SS("y", "x"), ":ns": NS("2", "1.0"),
	":type": S("S"), ":notype": S("Q"), ":x": S("x"), ":one": N("1.0"), ":two": N("2"), ":three": N("3"),
	":big": N(strings.Repeat("9", 38)), ":small": N("0.1"), ":huge": N("9E125"), ":five": N("-5"),
}

var sampleNames = map[string]string{"#n": "n", "#status": "status", "#dotted": "m.a", "#id": "id", "#m": "m", "#l": "l"}

// Conditions beyond the limits of the language.
var (
	tooLong           = "n = :n" + strings.Repeat(" OR n = :n", 500)
	tooManyCandidates = "n IN (:n" + strings.Repeat(",:n", 100) + ")"
)

// verdict of a condition.
type verdict string

const (
	holds verdict = "holds"
	fails verdict = "fails"
)

// conditionBehaviours evaluate a condition on the sample, or are refused with a message.
var conditionBehaviours = func() []behaviour {
	var list []behaviour
	for _, c := range []struct {
		expression string
		want       verdict // or the message of a ValidationException
	}{
		{"n = :n", holds},
		{"n <> :n", fails},
		{"n < :n9", holds},
		{"n <= :n", holds},
		{"n > :n", fails},
		{"n >= :n", holds},
		{":n = n", holds},
		{":n < :n9", holds},
		{"absent = :n", fails},
		{"absent <> :n", holds},
		{"absent < :n", fails},
		{"absent <> lost", holds},
		{"n = :s", fails},
		{"n <> :s", holds},
		{"n < :s", fails},
		{"s < :n", fails},
		{"yes = :yes", holds},
		{"nothing = :nothing", holds},
		{"l = :l", fails},
		{"ns = :ns", holds},
		{"ss = :sall", holds},
		{"blank = :blank", holds},
		{"s > :blank", holds},
		{"n BETWEEN :n AND :n9", holds},
		{"n between :n and :n9", holds},
		{"s BETWEEN :n AND :n9", fails},
		{":n BETWEEN n AND :n9", holds},
		{"n IN (:s, :n)", holds},
		{"n IN (:s)", fails},
		{"absent IN (:n)", fails},
		{"attribute_exists(n)", holds},
		{"attribute_exists(absent)", fails},
		{"attribute_exists(m.b.c)", holds},
		{"attribute_exists(m.absent)", fails},
		{"attribute_exists(l[2][0])", holds},
		{"attribute_exists(l[9])", fails},
		{"attribute_exists(n[0])", fails},
		{"attribute_exists(nothing)", holds},
		{"attribute_not_exists(absent)", holds},
		{"attribute_not_exists(m.b.c)", fails},
		{"attribute_type(s, :type)", holds},
		{"attribute_type(n, :type)", fails},
		{"attribute_type(absent, :type)", fails},
		{"begins_with(s, :s)", holds},
		{"begins_with(b, :b)", holds},
		{"begins_with(n, :s)", fails},
		{"begins_with(s, :b)", fails},
		{"begins_with(:s, s)", fails},
		{"begins_with(s, :blank)", holds},
		{"contains(s, :s)", holds},
		{"contains(b, :b)", holds},
		{"contains(ss, :x)", holds},
		{"contains(ns, :one)", holds},
		{"contains(l, :one)", holds},
		{"contains(l, :l)", fails},
		{"contains(s, :n)", fails},
		{"contains(n, :n)", fails},
		{"contains(absent, :n)", fails},
		{"size(s) = :n", holds},
		{"size(emoji) = :three", holds}, // UTF-16 units
		{"size(b) = :two", holds},
		{"size(ss) = :two", holds},
		{"size(l) < :n", holds},
		{"size(m) = :three", holds},
		{"size(n) = :n", fails},
		{"size(absent) = :n", fails},
		{"size(:s) = :three", holds},
		{"n = size(s)", holds},
		{"m.a = :one", holds},
		{"#m.a = :one", holds},
		{"#dotted = :n", fails}, // a dot in a #name is part of the name
		{"l[0] = :one", holds},
		{"l [ 0 ] = :one", holds},
		{"l[3].x = :n", fails},
		{"NOT n = :n", fails},
		{"NOT NOT n = :n", holds},
		{"not absent = :n", holds},
		{"n = :n OR s = :s AND s = :s", holds}, // AND binds tighter
		{"(n = :n OR s = :s) AND s = :s", fails},
		{"NOT n = :n AND n = :n", fails}, // NOT binds tighter
		{"NOT (n = :n AND s = :s)", holds},
		{"(n = :n)", holds},
		{"((n = :n) AND (begins_with(s, :s)))", holds},
		{"n=:n", holds},
		{" \t\r\n n = :n \t\r\n", holds},

		{"", "Invalid ConditionExpression: The expression can not be empty;"},
		{"n", `Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "n"`},
		{"n :n", `Invalid ConditionExpression: Syntax error; token: ":n", near: "n :n"`},
		{"n = = :n", `Invalid ConditionExpression: Syntax error; token: "=", near: "= = :n"`},
		{"n == :n", `Invalid ConditionExpression: Syntax error; token: "=", near: "== :n"`},
		{"n != :n", `Invalid ConditionExpression: Syntax error; token: "!", near: "n !="`},
		{"n = 5", `Invalid ConditionExpression: Syntax error; token: "5", near: "= 5"`},
		{"n = 'x'", `Invalid ConditionExpression: Syntax error; token: "'", near: "= 'x"`},
		{"n = :n AND", `Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "AND"`},
		{"n = :n AND AND s = :s", `Invalid ConditionExpression: Syntax error; token: "AND", near: "AND AND s"`},
		{"n = :n s = :s", `Invalid ConditionExpression: Syntax error; token: "s", near: ":n s ="`},
		{"(n = :n", `Invalid ConditionExpression: Syntax error; token: "<EOF>", near: ":n"`},
		{"n = :n)", `Invalid ConditionExpression: Syntax error; token: ")", near: ":n)"`},
		{"n IN ()", `Invalid ConditionExpression: Syntax error; token: ")", near: "()"`},
		{"n IN :n", `Invalid ConditionExpression: Syntax error; token: ":n", near: "IN :n"`},
		{"n NOT IN (:n)", `Invalid ConditionExpression: Syntax error; token: "NOT", near: "n NOT IN"`},
		{"n BETWEEN :n, :n9", `Invalid ConditionExpression: Syntax error; token: ",", near: ":n, :n9"`},
		{"m..a = :n", `Invalid ConditionExpression: Syntax error; token: ".", near: "..a"`},
		{"l[a] = :n", `Invalid ConditionExpression: Syntax error; token: "a", near: "[a]"`},
		{"l[:n] = :n", `Invalid ConditionExpression: Syntax error; token: ":n", near: "[:n]"`},
		{"1a = :n", `Invalid ConditionExpression: Syntax error; token: "1", near: "1a"`},
		{"a-b = :n", `Invalid ConditionExpression: Syntax error; token: "-", near: "a-b"`},
		{"n = :n;", `Invalid ConditionExpression: Syntax error; token: ";", near: ":n;"`},
		{"ñ = :n", `Invalid ConditionExpression: Syntax error; token: "ñ", near: "ñ ="`},
		{"status = :n", "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: status"},
		{"m.size = :n", "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: size"},
		{"#absent = :n", "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; attribute name: #absent"},
		{"n = :absent", "Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute value: :absent"},
		{"l[99999999999999999999] = :n", "Invalid ConditionExpression: List index is not within the allowable range; index: [99999999999999999999]"},
		{"((n = :n))", "Invalid ConditionExpression: The expression has redundant parentheses;"},
		{"(((n = :n)) AND s = :s)", "Invalid ConditionExpression: The expression has redundant parentheses;"},
		{"nofunction(n)", "Invalid ConditionExpression: Invalid function name; function: nofunction"},
		{"Attribute_exists(n)", "Invalid ConditionExpression: Invalid function name; function: Attribute_exists"},
		{"if_not_exists(n, :n)", "Invalid ConditionExpression: Invalid function name; function: if_not_exists"},
		{"attribute_exists(:n)", "Invalid ConditionExpression: Operator or function requires a document path; operator or function: attribute_exists"},
		{"attribute_exists(n, s)", "Invalid ConditionExpression: Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2"},
		{"begins_with(s)", "Invalid ConditionExpression: Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1"},
		{"begins_with(s, :n)", "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"},
		{"attribute_type(s, :n)", "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N"},
		{"attribute_type(s, :notype)", "Invalid ConditionExpression: Invalid attribute type name found; type: Q, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"},
		{"size(:n) = :n", "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or function: size, operand type: N"},
		{"size(size(s)) = :n", "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or function: size, operand type: N"},
		{"size(s)", "Invalid ConditionExpression: The function is not allowed to be used this way in an expression; function: size"},
		{"attribute_exists(n) = :n", "Invalid ConditionExpression: The function is not allowed to be used this way in an expression; function: attribute_exists"},
		{"n = begins_with(s, :s)", "Invalid ConditionExpression: The function is not allowed to be used this way in an expression; function: begins_with"},
		{"n < :yes", "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"},
		{"n BETWEEN :yes AND :yes", "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or function: BETWEEN, operand type: BOOL"},
		{"n BETWEEN :n9 AND :n", "Invalid ConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:9}, upper bound operand: AttributeValue: {N:5}"},
		{"n BETWEEN :n AND :s", "Invalid ConditionExpression: The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:5}, upper bound operand: AttributeValue: {S:hel}"},
		{"n = n", "Invalid ConditionExpression: The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [n]"},
		{"contains(s, s)", "Invalid ConditionExpression: The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [s]"},
		{tooLong, "Invalid ConditionExpression: Expression size has exceeded the maximum allowed size; expression size: 5006"},
		{tooManyCandidates, "Invalid ConditionExpression: The IN operator is provided with too many operands; number of operands: 101"},
	} {
		list = append(list, behaviour{"condition " + abbreviated(c.expression), func(ctx context.Context, at *endpoint) error {
			return at.evaluate(ctx, c.expression, c.want)
		}})
	}
	return list
}()

// abbreviated keeps the names of cases with absurdly long expressions readable.
func abbreviated(expression string) string {
	if len(expression) > 80 {
		return fmt.Sprintf("%s … (%d bytes)", expression[:60], len(expression))
	}
	return expression
}

// evaluate deletes the sample under the condition, and compares what became of it.
func (at *endpoint) evaluate(ctx context.Context, expression string, want verdict) error {
	id := "condition"
	if err := at.put(ctx, with(sample, attrs{"id": S(id)})); err != nil {
		return err
	}
	_, err := at.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                 &at.hashed,
		Key:                       attrs{"id": S(id)},
		ConditionExpression:       &expression,
		ExpressionAttributeNames:  used(sampleNames, expression),
		ExpressionAttributeValues: used(sampleValues, expression),
	})
	switch want {
	case holds:
		if err != nil {
			return err
		}
		return at.expectItem(ctx, id, nil)
	case fails:
		if _, failed := errors.AsType[*types.ConditionalCheckFailedException](err); !failed {
			return fmt.Errorf("got error %v, want the condition to fail", err)
		}
	default:
		if err := at.refusal(err, invalidRequest, string(want)); err != nil {
			return err
		}
	}
	return at.expectItem(ctx, id, with(sample, attrs{"id": S(id)}))
}

// updateBehaviours apply an update to the sample, or to no item, or are refused with a message.
var updateBehaviours = func() []behaviour {
	const (
		wrongType = "An operand in the update expression has an incorrect data type"
		noValue   = "The provided expression refers to an attribute that does not exist in the item"
		noPlace   = "The document path provided in the update expression is invalid for update"
	)
	var list []behaviour
	for _, c := range []struct {
		expression string
		changes    attrs    // attributes afterwards
		removed    []string // attributes gone
		refused    string   // or the message of a ValidationException
	}{
		{expression: "SET n = :n9", changes: attrs{"n": N("9")}},
		{expression: "set fresh = :n", changes: attrs{"fresh": N("5")}},
		{expression: "SET n = n + :n", changes: attrs{"n": N("10")}},
		{expression: "SET n = n - :n9", changes: attrs{"n": N("-4")}},
		{expression: "SET n = :n - n", changes: attrs{"n": N("0")}},
		{expression: "SET n = n + :small", changes: attrs{"n": N("5.1")}},
		{expression: "SET n = (n + :n) - :one", changes: attrs{"n": N("9")}},
		{expression: "SET n=n+:n,s=:s", changes: attrs{"n": N("10"), "s": S("hel")}},
		{expression: "SET n = s, s = n", changes: attrs{"n": S("hello"), "s": N("5")}}, // both see the old item
		{expression: "SET fresh = m.a", changes: attrs{"fresh": N("1")}},
		{expression: "SET fresh = l[1]", changes: attrs{"fresh": S("two")}},
		{expression: "SET fresh = if_not_exists(fresh, :n)", changes: attrs{"fresh": N("5")}},
		{expression: "SET n = if_not_exists(n, :s)", changes: attrs{"n": N("5")}},
		{expression: "SET fresh = if_not_exists(fresh, :n) + :one", changes: attrs{"fresh": N("6")}},
		{expression: "SET fresh = if_not_exists(absent, if_not_exists(lost, :n))", changes: attrs{"fresh": N("5")}},
		{expression: "SET fresh = if_not_exists(n, absent)", changes: attrs{"fresh": N("5")}},
		{expression: "SET m.l = list_append(m.l, :l)", changes: attrs{"m": M(attrs{"a": N("1"), "b": M(attrs{"c": S("deep")}), "l": L(N("1"), N("2"), N("3"), N("1"))})}},
		{expression: "SET l = list_append(:l, l)", changes: attrs{"l": L(N("1"), N("1"), S("two"), L(N("3")), M(attrs{"x": N("4")}))}},
		{expression: "SET fresh = list_append(if_not_exists(fresh, :l), :l)", changes: attrs{"fresh": L(N("1"), N("1"))}},
		{expression: "SET l[0] = :s", changes: attrs{"l": L(S("hel"), S("two"), L(N("3")), M(attrs{"x": N("4")}))}},
		{expression: "SET l[9] = :n, l[8] = :s", changes: attrs{"l": L(N("1"), S("two"), L(N("3")), M(attrs{"x": N("4")}), S("hel"), N("5"))}},
		{expression: "SET l[2][0] = :s", changes: attrs{"l": L(N("1"), S("two"), L(S("hel")), M(attrs{"x": N("4")}))}},
		{expression: "SET l[3].y = :s", changes: attrs{"l": L(N("1"), S("two"), L(N("3")), M(attrs{"x": N("4"), "y": S("hel")}))}},
		{expression: "SET m.b.c = :n", changes: attrs{"m": M(attrs{"a": N("1"), "b": M(attrs{"c": N("5")}), "l": L(N("1"), N("2"), N("3"))})}},
		{expression: "SET m.fresh = :n", changes: attrs{"m": M(attrs{"a": N("1"), "b": M(attrs{"c": S("deep")}), "l": L(N("1"), N("2"), N("3")), "fresh": N("5")})}},
		{expression: "SET #status = :s", changes: attrs{"status": S("hel")}},
		{expression: "SET fresh = :blank", changes: attrs{"fresh": S("")}},
		{expression: "REMOVE n, s", removed: []string{"n", "s"}},
		{expression: "REMOVE absent"},
		{expression: "REMOVE m.absent"},
		{expression: "REMOVE l[0], l[1]", changes: attrs{"l": L(L(N("3")), M(attrs{"x": N("4")}))}},
		{expression: "REMOVE l[9]"},
		{expression: "SET l[1] = :n REMOVE l[0]", changes: attrs{"l": L(N("5"), L(N("3")), M(attrs{"x": N("4")}))}},
		{expression: "SET fresh = n REMOVE n", changes: attrs{"fresh": N("5")}, removed: []string{"n"}},
		{expression: "ADD n :n", changes: attrs{"n": N("10")}},
		{expression: "ADD n :five", changes: attrs{"n": N("0")}},
		{expression: "ADD fresh :n", changes: attrs{"fresh": N("5")}},
		{expression: "ADD fresh :ss", changes: attrs{"fresh": SS("x")}},
		{expression: "ADD ss :sz", changes: attrs{"ss": SS("a", "x", "y", "z")}},
		{expression: "ADD m.a :n", changes: attrs{"m": M(attrs{"a": N("6"), "b": M(attrs{"c": S("deep")}), "l": L(N("1"), N("2"), N("3"))})}},
		{expression: "DELETE ss :ss", changes: attrs{"ss": SS("y")}},
		{expression: "DELETE ss :sall", removed: []string{"ss"}},
		{expression: "DELETE ss :sz"},
		{expression: "DELETE absent :ss"},
		{expression: "DELETE ns :ns", removed: []string{"ns"}},
		{expression: "SET n = :n9 REMOVE s ADD fresh :n DELETE ss :ss", changes: attrs{"n": N("9"), "fresh": N("5"), "ss": SS("y")}, removed: []string{"s"}},

		{expression: "SET n = n + :s", refused: "Invalid UpdateExpression: Incorrect operand type for operator or function; operator or function: +, operand type: S"},
		{expression: "SET n = s + :n", refused: wrongType},
		{expression: "SET fresh = absent", refused: noValue},
		{expression: "SET fresh = absent + :n", refused: noValue},
		{expression: "SET l = list_append(n, :l)", refused: wrongType},
		{expression: "SET l = list_append(l, :n)", refused: "Invalid UpdateExpression: Incorrect operand type for operator or function; operator or function: list_append, operand type: N"},
		{expression: "SET absent.a = :n", refused: noPlace},
		{expression: "SET n.a = :n", refused: noPlace},
		{expression: "SET n[0] = :n", refused: noPlace},
		{expression: "SET m[0] = :n", refused: noPlace},
		{expression: "SET l[9].x = :n", refused: noPlace},
		{expression: "REMOVE absent.a", refused: noPlace},
		{expression: "REMOVE n[0]", refused: noPlace},
		{expression: "ADD s :n", refused: wrongType},
		{expression: "ADD ss :ns", refused: wrongType},
		{expression: "DELETE n :ss", refused: wrongType},
		{expression: "SET n = n + :n + :n", refused: `Invalid UpdateExpression: Syntax error; token: "+", near: ":n + :n"`},
		{expression: "SET n = 5", refused: `Invalid UpdateExpression: Syntax error; token: "5", near: "= 5"`},
		{expression: "SET n", refused: `Invalid UpdateExpression: Syntax error; token: "<EOF>", near: "n"`},
		{expression: "SET n = :n,", refused: `Invalid UpdateExpression: Syntax error; token: "<EOF>", near: ","`},
		{expression: "n = :n", refused: `Invalid UpdateExpression: Syntax error; token: "n", near: "n ="`},
		{expression: "SET n = :n SET s = :s", refused: `Invalid UpdateExpression: The "SET" section can only be used once in an update expression;`},
		{expression: "SET status = :n", refused: "Invalid UpdateExpression: Attribute name is a reserved keyword; reserved keyword: status"},
		{expression: "SET m = :m, m.a = :n", refused: "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m], path two: [m, a]"},
		{expression: "SET #n = :n REMOVE n", refused: "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [n], path two: [n]"},
		{expression: "SET m.a = :n, m[0] = :n", refused: "Invalid UpdateExpression: Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [m, a], path two: [m, [0]]"},
		{expression: "SET id = :s", refused: "One or more parameter values were invalid: Cannot update attribute id. This attribute is part of the key"},
		{expression: "REMOVE #id", refused: "One or more parameter values were invalid: Cannot update attribute id. This attribute is part of the key"},
		{expression: "ADD n :l", refused: "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: ADD, operand type: LIST, typeSet: ALLOWED_FOR_ADD_OPERAND"},
		{expression: "DELETE ss :n", refused: "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_ADD_OPERAND"},
		{expression: "SET fresh = size(s)", refused: "Invalid UpdateExpression: Invalid function name; function: size"},
		{expression: "SET fresh = if_not_exists(:n, :n)", refused: "Invalid UpdateExpression: Operator or function requires a document path; operator or function: if_not_exists"},
		{expression: "SET n = :big + :small", refused: "Attempting to store more than 38 significant digits in a Number"},
		{expression: "SET n = :huge + :huge", refused: "Number overflow. Attempting to store a number with magnitude larger than supported range"},
		{expression: "", refused: "Invalid UpdateExpression: The expression can not be empty;"},
	} {
		list = append(list, behaviour{"update " + abbreviated(c.expression), func(ctx context.Context, at *endpoint) error {
			want := with(sample, attrs{"id": S("update")})
			if err := at.put(ctx, want); err != nil {
				return err
			}
			_, err := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName:                 &at.hashed,
				Key:                       attrs{"id": S("update")},
				UpdateExpression:          &c.expression,
				ExpressionAttributeNames:  used(sampleNames, c.expression),
				ExpressionAttributeValues: used(sampleValues, c.expression),
			})
			code := ""
			if c.refused != "" {
				code = invalidRequest
			}
			if err := at.refusal(err, code, c.refused); err != nil {
				return err
			}
			want = with(want, c.changes)
			for _, name := range c.removed {
				delete(want, name)
			}
			return at.expectItem(ctx, "update", want)
		}})
	}
	return list
}()
