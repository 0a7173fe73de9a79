package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func putOf(item attrs) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: item}}
}

var batchBehaviours = []behaviour{
	{"a batch writes to several tables and reads from them", func(ctx context.Context, at *endpoint) error {
		if err := at.put(ctx, attrs{"id": S("batch gone")}); err != nil {
			return err
		}
		_, err := at.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
			at.hashed: {putOf(attrs{"id": S("batch"), "v": N("1")}), {DeleteRequest: &types.DeleteRequest{Key: attrs{"id": S("batch gone")}}}},
			at.sorted: {putOf(attrs{"id": S("batch"), "sk": N("1")})},
		}})
		if err != nil {
			return err
		}
		out, err := at.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			at.hashed: {Keys: []attrs{{"id": S("batch")}, {"id": S("batch gone")}}, ProjectionExpression: aws.String("v"), ConsistentRead: aws.Bool(true)},
			at.sorted: {Keys: []attrs{{"id": S("batch"), "sk": N("1.0")}}, ConsistentRead: aws.Bool(true)},
		}})
		if err != nil {
			return err
		}
		if h, s := out.Responses[at.hashed], out.Responses[at.sorted]; len(h) != 1 || !same(h[0], attrs{"v": N("1")}) || len(s) != 1 {
			return fmt.Errorf("got %v", out.Responses)
		}
		return nil
	}},
	{"a batch is refused as a whole", func(ctx context.Context, at *endpoint) error {
		for _, c := range []struct {
			requests []types.WriteRequest
			want     string
		}{
			{[]types.WriteRequest{putOf(attrs{"id": S("twice")}), putOf(attrs{"id": S("twice"), "v": N("1")})}, "Provided list of item keys contains duplicates"},
			{[]types.WriteRequest{putOf(attrs{"id": S("whole batch")}), putOf(attrs{"id": N("1")})}, "The provided key element does not match the schema"},
			{[]types.WriteRequest{{}}, ""},
		} {
			_, err := at.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{at.hashed: c.requests}})
			if err := at.refusal(err, invalidRequest, c.want); err != nil {
				return err
			}
		}
		return at.expectItem(ctx, "whole batch", nil)
	}},
	{"batches have limits", func(ctx context.Context, at *endpoint) error {
		var writes []types.WriteRequest
		for i := range 26 {
			writes = append(writes, putOf(attrs{"id": S("limit" + strconv.Itoa(i))}))
		}
		_, err := at.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{at.hashed: writes}})
		if err := at.refusal(err, invalidRequest, ""); err != nil {
			return err
		}
		var keys []attrs
		for i := range 101 {
			keys = append(keys, attrs{"id": S("limit" + strconv.Itoa(i))})
		}
		_, err = at.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{at.hashed: {Keys: keys}}})
		if err := at.refusal(err, invalidRequest, "1 validation error detected: Value at 'RequestItems."+at.hashed+".member.Keys' failed to satisfy constraint: Member must have length less than or equal to 100"); err != nil {
			return err
		}
		_, err = at.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{}})
		return at.refusal(err, invalidRequest, "The requestItems parameter is required for BatchGetItem")
	}},
}

// put and the like are the actions of a transaction on the table with the partition key only.

func (at *endpoint) putAction(item attrs, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &at.hashed, Item: item, ConditionExpression: optional(condition), ReturnValuesOnConditionCheckFailure: "ALL_OLD",
	}}
}

func (at *endpoint) updateAction(id, update string, values attrs) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &at.hashed, Key: attrs{"id": S(id)}, UpdateExpression: &update, ExpressionAttributeValues: values,
	}}
}

func (at *endpoint) deleteAction(id string) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: &at.hashed, Key: attrs{"id": S(id)}}}
}

func (at *endpoint) checkAction(id, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: &at.hashed, Key: attrs{"id": S(id)}, ConditionExpression: &condition}}
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// transact runs the actions and gives the codes of the reasons if the transaction is cancelled.
func (at *endpoint) transact(ctx context.Context, actions ...types.TransactWriteItem) (*types.TransactionCanceledException, error) {
	_, err := at.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions})
	cancelled, is := errors.AsType[*types.TransactionCanceledException](err)
	if is {
		return cancelled, nil
	}
	return nil, err
}

func codes(cancelled *types.TransactionCanceledException) string {
	if cancelled == nil {
		return ""
	}
	var all []string
	for _, r := range cancelled.CancellationReasons {
		all = append(all, *r.Code)
	}
	return strings.Join(all, " ")
}

var transactionBehaviours = []behaviour{
	{"a transaction does all of its actions", func(ctx context.Context, at *endpoint) error {
		for _, item := range []attrs{{"id": S("tx update"), "n": N("1")}, {"id": S("tx delete")}, {"id": S("tx check")}, {"id": S("tx put")}} {
			if err := at.put(ctx, item); err != nil {
				return err
			}
		}
		cancelled, err := at.transact(ctx,
			at.updateAction("tx update", "SET n = n + :n", attrs{":n": N("1")}),
			at.deleteAction("tx delete"),
			at.checkAction("tx check", "attribute_exists(id)"),
			at.putAction(attrs{"id": S("tx new")}, "attribute_not_exists(id)"),
		)
		if cancelled != nil || err != nil {
			return fmt.Errorf("got %v, %v", cancelled, err)
		}
		return errors.Join(
			at.expectItem(ctx, "tx update", attrs{"id": S("tx update"), "n": N("2")}),
			at.expectItem(ctx, "tx delete", nil),
			at.expectItem(ctx, "tx check", attrs{"id": S("tx check")}),
			at.expectItem(ctx, "tx new", attrs{"id": S("tx new")}),
		)
	}},
	{"a cancelled transaction does nothing and gives a reason for each action", func(ctx context.Context, at *endpoint) error {
		old := attrs{"id": S("tx old"), "n": N("1")}
		if err := at.put(ctx, old); err != nil {
			return err
		}
		cancelled, err := at.transact(ctx,
			at.putAction(attrs{"id": S("tx never")}, ""),
			at.putAction(attrs{"id": S("tx old")}, "attribute_not_exists(id)"),
			at.checkAction("tx nobody", "attribute_exists(id)"),
		)
		if err != nil {
			return err
		}
		if codes(cancelled) != "None ConditionalCheckFailed ConditionalCheckFailed" {
			return fmt.Errorf("reasons: %q", codes(cancelled))
		}
		if got := cancelled.CancellationReasons[1]; !same(got.Item, old) || *got.Message != "The conditional request failed" {
			return fmt.Errorf("the failed condition gives %s: %v", show(got.Item), got.Message)
		}
		if want := "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed, ConditionalCheckFailed]"; cancelled.ErrorMessage() != want {
			return fmt.Errorf("message: %s", cancelled.ErrorMessage())
		}
		return errors.Join(at.expectItem(ctx, "tx never", nil), at.expectItem(ctx, "tx old", old))
	}},
	{"what an action's item forbids cancels its transaction", func(ctx context.Context, at *endpoint) error {
		if err := at.put(ctx, attrs{"id": S("tx text"), "s": S("x")}); err != nil {
			return err
		}
		for update, message := range map[string]string{
			"SET s = s + :n":   "An operand in the update expression has an incorrect data type",
			"SET n = absent":   "The provided expression refers to an attribute that does not exist in the item",
			"SET absent.n = s": "The document path provided in the update expression is invalid for update",
		} {
			var values attrs
			if strings.Contains(update, ":n") {
				values = attrs{":n": N("1")}
			}
			cancelled, err := at.transact(ctx, at.updateAction("tx text", update, values), at.putAction(attrs{"id": S("tx beside")}, ""))
			if err != nil {
				return err
			}
			if codes(cancelled) != "ValidationError None" || *cancelled.CancellationReasons[0].Message != message {
				return fmt.Errorf("%s: %q %v", update, codes(cancelled), cancelled)
			}
		}
		return at.expectItem(ctx, "tx beside", nil)
	}},
	{"what is wrong with a transaction's request refuses it", func(ctx context.Context, at *endpoint) error {
		var many []types.TransactWriteItem
		for i := range 101 {
			many = append(many, at.putAction(attrs{"id": S("tx" + strconv.Itoa(i))}, ""))
		}
		elsewhere := at.putAction(attrs{"id": S("a")}, "")
		elsewhere.Put.TableName = aws.String("not-there")
		for _, c := range []struct {
			name    string
			actions []types.TransactWriteItem
			code    string
			message string
		}{
			{"one item twice", []types.TransactWriteItem{at.putAction(attrs{"id": S("a")}, ""), at.deleteAction("a")}, invalidRequest, "Transaction request cannot include multiple operations on one item"},
			{"syntax", []types.TransactWriteItem{at.putAction(attrs{"id": S("a")}, "id =")}, invalidRequest, `Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="`},
			{"no action", []types.TransactWriteItem{{}}, invalidRequest, ""},
			{"two actions in one", []types.TransactWriteItem{{Put: many[0].Put, Delete: at.deleteAction("a").Delete}}, invalidRequest, "TransactItems can only contain one of Check, Put, Update or Delete"},
			{"101 actions", many, invalidRequest, ""},
			{"none", []types.TransactWriteItem{}, invalidRequest, ""},
			{"no table", []types.TransactWriteItem{elsewhere}, "ResourceNotFoundException", ""},
		} {
			cancelled, err := at.transact(ctx, c.actions...)
			if cancelled != nil {
				err = cancelled
			}
			if err := at.refusal(err, c.code, c.message); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		return nil
	}},
	{"too large an item refuses a transaction if put, cancels it if updated", func(ctx context.Context, at *endpoint) error {
		if err := at.put(ctx, attrs{"id": S("tx grows"), "data": S(strings.Repeat("x", 300<<10))}); err != nil {
			return err
		}
		huge := strings.Repeat("x", 200<<10)
		cancelled, err := at.transact(ctx, at.putAction(attrs{"id": S("tx beside"), "a": S(huge), "b": S(huge)}, ""))
		if cancelled != nil {
			return fmt.Errorf("put: cancelled for [%s]", codes(cancelled))
		}
		if err := at.refusal(err, invalidRequest, "Item size has exceeded the maximum allowed size"); err != nil {
			return fmt.Errorf("put: %w", err)
		}
		cancelled, err = at.transact(ctx, at.updateAction("tx grows", "SET more = :m", attrs{":m": S(huge)}), at.deleteAction("tx beside"))
		if err != nil || codes(cancelled) != "ValidationError None" || *cancelled.CancellationReasons[0].Message != "Item size to update has exceeded the maximum allowed size" {
			return fmt.Errorf("update: got %v, %v", cancelled, err)
		}
		return nil
	}},
	{"a repeated token does not repeat the transaction", func(ctx context.Context, at *endpoint) error {
		if err := at.put(ctx, attrs{"id": S("tx token"), "n": N("1")}); err != nil {
			return err
		}
		add := func(n string) error {
			_, err := at.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
				TransactItems:      []types.TransactWriteItem{at.updateAction("tx token", "ADD n :n", attrs{":n": N(n)})},
				ClientRequestToken: aws.String("token " + at.hashed),
			})
			return err
		}
		if err := errors.Join(add("1"), add("1"), add("1")); err != nil {
			return err
		}
		if err := at.expectItem(ctx, "tx token", attrs{"id": S("tx token"), "n": N("2")}); err != nil {
			return err
		}
		return at.refusal(add("5"), "IdempotentParameterMismatchException", "")
	}},
	{"a cancelled transaction leaves its token free", func(ctx context.Context, at *endpoint) error {
		create := func() error {
			_, err := at.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
				TransactItems: []types.TransactWriteItem{
					at.checkAction("tx gate", "attribute_exists(id)"), at.putAction(attrs{"id": S("tx behind")}, ""),
				},
				ClientRequestToken: aws.String("gate " + at.hashed),
			})
			return err
		}
		if err := at.refusal(create(), "TransactionCanceledException", ""); err != nil {
			return err
		}
		if err := errors.Join(at.put(ctx, attrs{"id": S("tx gate")}), create()); err != nil {
			return err
		}
		return at.expectItem(ctx, "tx behind", attrs{"id": S("tx behind")})
	}},
	{"a transaction reads items together", func(ctx context.Context, at *endpoint) error {
		if err := at.put(ctx, attrs{"id": S("tx read"), "n": N("1"), "m": M(attrs{"a": N("2"), "b": N("3")})}); err != nil {
			return err
		}
		get := func(id string, projection *string) types.TransactGetItem {
			return types.TransactGetItem{Get: &types.Get{TableName: &at.hashed, Key: attrs{"id": S(id)}, ProjectionExpression: projection}}
		}
		out, err := at.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
			get("tx read", aws.String("m.a")), get("tx nobody", nil),
		}})
		if err != nil {
			return err
		}
		if len(out.Responses) != 2 || !same(out.Responses[0].Item, attrs{"m": M(attrs{"a": N("2")})}) || len(out.Responses[1].Item) != 0 {
			return fmt.Errorf("got %v", out.Responses)
		}
		_, err = at.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
			get("tx read", nil), get("tx read", nil),
		}})
		return at.refusal(err, invalidRequest, "Transaction request cannot include multiple operations on one item")
	}},
}

var tableBehaviours = []behaviour{
	{"a table is described", func(ctx context.Context, at *endpoint) error {
		out, err := at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &at.sorted})
		if err != nil {
			return err
		}
		d := out.Table
		if *d.TableName != at.sorted || len(d.KeySchema) != 2 || *d.KeySchema[0].AttributeName != "id" || d.KeySchema[1].KeyType != "RANGE" ||
			len(d.AttributeDefinitions) != 2 || d.BillingModeSummary.BillingMode != "PAY_PER_REQUEST" || d.CreationDateTime == nil || d.TableArn == nil {
			return fmt.Errorf("got %+v", d)
		}
		return nil
	}},
	{"a table exists once", func(ctx context.Context, at *endpoint) error {
		return at.refusal(at.createTable(ctx, at.hashed, ""), "ResourceInUseException", "")
	}},
	{"a deleted table is gone", func(ctx context.Context, at *endpoint) error {
		name := at.hashed + "-gone"
		if err := at.createTable(ctx, name, ""); err != nil {
			return err
		}
		if _, err := at.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			return err
		}
		var err error
		for err == nil {
			_, err = at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		}
		return at.refusal(err, "ResourceNotFoundException", "Requested resource not found: Table: "+name+" not found")
	}},
	{"tables are listed in pages", func(ctx context.Context, at *endpoint) error {
		found := make(map[string]bool)
		pages := dynamodb.NewListTablesPaginator(at, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, name := range page.TableNames {
				found[name] = true
			}
		}
		if !found[at.hashed] || !found[at.sorted] {
			return fmt.Errorf("found only %v", found)
		}
		return nil
	}},
	{"a provisioned table needs its capacity", func(ctx context.Context, at *endpoint) error {
		_, err := at.CreateTable(ctx, &dynamodb.CreateTableInput{
			TableName: aws.String("no-capacity"), BillingMode: "PROVISIONED",
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: "HASH"}},
		})
		return at.refusal(err, invalidRequest, "One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}},
	{"table definitions are checked", func(ctx context.Context, at *endpoint) error {
		id := []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}}
		hash := []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: "HASH"}}
		for want, in := range map[string]*dynamodb.CreateTableInput{
			"1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3": {
				TableName: aws.String("ab"), AttributeDefinitions: id, KeySchema: hash, BillingMode: "PAY_PER_REQUEST",
			},
			"1 validation error detected: Value 'X' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]": {
				TableName: aws.String("no-type"), KeySchema: hash, BillingMode: "PAY_PER_REQUEST",
				AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "X"}},
			},
		} {
			_, err := at.CreateTable(ctx, in)
			if err := at.refusal(err, invalidRequest, want); err != nil {
				return err
			}
		}
		return nil
	}},
	{"time to live is set and shown", func(ctx context.Context, at *endpoint) error {
		name := at.hashed + "-ttl"
		if err := at.createTable(ctx, name, ""); err != nil {
			return err
		}
		defer at.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		before, err := at.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil {
			return err
		}
		_, err = at.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName: &name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expire_at"), Enabled: aws.Bool(true)},
		})
		if err != nil {
			return err
		}
		after, err := at.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil {
			return err
		}
		if b, a := before.TimeToLiveDescription, after.TimeToLiveDescription; b.TimeToLiveStatus != "DISABLED" || a.TimeToLiveStatus != "ENABLED" || *a.AttributeName != "expire_at" {
			return fmt.Errorf("before %+v, after %+v", b, a)
		}
		return nil
	}},
}

// capacityBehaviours compare consumed capacity with the published rules, for an item of about that many bytes.
var capacityBehaviours = func() []behaviour {
	var list []behaviour
	for _, c := range []struct {
		bytes                    int
		write, consistent, eager float64
	}{
		{bytes: 20, write: 1, consistent: 1, eager: 0.5},
		{bytes: 1024, write: 1, consistent: 1, eager: 0.5},
		{bytes: 1025, write: 2, consistent: 1, eager: 0.5},
		{bytes: 4096, write: 4, consistent: 1, eager: 0.5},
		{bytes: 4097, write: 5, consistent: 2, eager: 1},
		{bytes: 8193, write: 9, consistent: 3, eager: 1.5},
	} {
		list = append(list, behaviour{fmt.Sprintf("capacity of %d bytes", c.bytes), func(ctx context.Context, at *endpoint) error {
			id := S("capacity")
			large := attrs{"id": id, "v": S(strings.Repeat("x", c.bytes-len("id")-len("capacity")-len("v")))}
			expect := func(what string, got *types.ConsumedCapacity, want float64) error {
				if got == nil || *got.CapacityUnits != want {
					return fmt.Errorf("%s costs %+v, want %v", what, got, want)
				}
				return nil
			}
			put := func(what string, item attrs, want float64) error {
				out, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.hashed, Item: item, ReturnConsumedCapacity: "TOTAL"})
				if err != nil {
					return err
				}
				return expect(what, out.ConsumedCapacity, want)
			}
			get := func(consistent bool, want float64) error {
				out, err := at.GetItem(ctx, &dynamodb.GetItemInput{
					TableName: &at.hashed, Key: attrs{"id": id}, ConsistentRead: &consistent, ReturnConsumedCapacity: "TOTAL", ProjectionExpression: aws.String("id"),
				})
				if err != nil {
					return err
				}
				return expect(fmt.Sprintf("a read with ConsistentRead=%v", consistent), out.ConsumedCapacity, want)
			}
			err := errors.Join(
				put("a put", large, c.write),
				get(true, c.consistent),
				get(false, c.eager),
				put("replacing it with less", attrs{"id": id}, c.write),
				put("replacing it with more", large, c.write),
			)
			if err != nil {
				return err
			}
			deleted, err := at.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &at.hashed, Key: attrs{"id": id}, ReturnConsumedCapacity: "TOTAL"})
			if err != nil {
				return err
			}
			if err := expect("a delete", deleted.ConsumedCapacity, c.write); err != nil {
				return err
			}
			return errors.Join(get(true, 1), get(false, 0.5))
		}})
		list = append(list, behaviour{fmt.Sprintf("capacity of a transaction on %d bytes", c.bytes), func(ctx context.Context, at *endpoint) error {
			id := "capacity tx"
			if err := at.put(ctx, attrs{"id": S(id), "v": S(strings.Repeat("x", c.bytes-len("id")-len(id)-len("v")))}); err != nil {
				return err
			}
			written, err := at.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
				TransactItems: []types.TransactWriteItem{at.checkAction(id, "attribute_exists(id)")}, ReturnConsumedCapacity: "TOTAL",
			})
			if err != nil {
				return err
			}
			read, err := at.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{
				TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: &at.hashed, Key: attrs{"id": S(id)}}}}, ReturnConsumedCapacity: "TOTAL",
			})
			if err != nil {
				return err
			}
			if w, r := written.ConsumedCapacity[0], read.ConsumedCapacity[0]; *w.WriteCapacityUnits != 2*c.write || *r.ReadCapacityUnits != 2*c.consistent {
				return fmt.Errorf("writing costs %v, reading %v", *w.WriteCapacityUnits, *r.ReadCapacityUnits)
			}
			return nil
		}})
	}
	return list
}()
