package dynamotest

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// indexed is a table with an index of each kind over the attributes owner and rank.
func indexed(name string) *dynamodb.CreateTableInput {
	in := tableWith(name, "owner:S rank:N")
	in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{localIndex("ranks", "id/rank", projecting("INCLUDE", "held"))}
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{globalIndex("owners", "owner", projecting("INCLUDE", "held"))}
	return in
}

// indexBehaviours: developer guide, "Local secondary indexes", "Global secondary indexes", "Multi-attribute key schema",
// "Item collections"; API reference, Query.
var indexBehaviours = []behaviour{
	{"a local index reads consistently, in its order, and fetches what it lacks", func(ctx context.Context, at *endpoint) error {
		return at.scratch(ctx, indexed(at.hashed+"-local"), func(name string) error {
			for i, rank := range []string{"30", "4", "200"} {
				item := attrs{"id": S("a"), "sk": N(strconv.Itoa(i)), "rank": N(rank), "held": S("h"), "rest": S(strings.Repeat("r", 5000))}
				if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
					return err
				}
			}
			if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: attrs{"id": S("a"), "sk": N("9")}}); err != nil {
				return err
			}
			for _, c := range []struct {
				name  string
				in    dynamodb.QueryInput
				want  string  // of the first item
				index float64 // capacity
				table float64 // of what is fetched, all of it rounded up at once
			}{
				{"as projected", dynamodb.QueryInput{}, "held=h id=a rank=4 sk=1", 1, 0},
				{"what is held", dynamodb.QueryInput{ProjectionExpression: aws.String("held")}, "held=h", 1, 0},
				{"everything", dynamodb.QueryInput{Select: "ALL_ATTRIBUTES"}, "held=h id=a rank=4 rest=" + strings.Repeat("r", 5000) + " sk=1", 1, 4},
				{"what is not held", dynamodb.QueryInput{ProjectionExpression: aws.String("sk, rest")}, "rest=" + strings.Repeat("r", 5000) + " sk=1", 1, 4},
			} {
				c.in.TableName, c.in.IndexName, c.in.ConsistentRead = &name, aws.String("ranks"), aws.Bool(true)
				c.in.KeyConditionExpression, c.in.ExpressionAttributeValues = aws.String("id = :a"), attrs{":a": S("a")}
				c.in.ReturnConsumedCapacity = "INDEXES"
				out, err := at.Query(ctx, &c.in)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				if len(out.Items) != 3 || show(out.Items[0]) != c.want {
					return fmt.Errorf("%s: got %d items, the first %s", c.name, len(out.Items), show(out.Items[0]))
				}
				spent := out.ConsumedCapacity
				local, table := spent.LocalSecondaryIndexes["ranks"].CapacityUnits, spent.Table.CapacityUnits
				if *local != c.index || *table != c.table || *spent.CapacityUnits != c.index+c.table {
					return fmt.Errorf("%s: index %v, table %v, together %v", c.name, *local, *table, *spent.CapacityUnits)
				}
			}
			_, err := at.Query(ctx, &dynamodb.QueryInput{
				TableName: &name, IndexName: aws.String("ranks"), KeyConditionExpression: aws.String("id = :a"), ExpressionAttributeValues: attrs{":a": S("a")},
				FilterExpression: aws.String("attribute_exists(lacking)"),
			})
			return at.refusal(err, invalidRequest, badParameter+"Secondary index ranks does not project one or more filter attributes: [lacking]")
		})
	}},
	{"a local index pages by its key", func(ctx context.Context, at *endpoint) error {
		return at.scratch(ctx, indexed(at.hashed+"-local-pages"), func(name string) error {
			for i := range 5 {
				item := attrs{"id": S("a"), "sk": N(strconv.Itoa(i)), "rank": N(strconv.Itoa(i / 2))}
				if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
					return err
				}
			}
			var found []string
			pages := dynamodb.NewQueryPaginator(at, &dynamodb.QueryInput{
				TableName: &name, IndexName: aws.String("ranks"), Limit: aws.Int32(2), ScanIndexForward: aws.Bool(false),
				KeyConditionExpression: aws.String("id = :a AND #rank >= :one"), ExpressionAttributeNames: map[string]string{"#rank": "rank"},
				ExpressionAttributeValues: attrs{":a": S("a"), ":one": N("1")},
			})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return err
				}
				found = append(found, places(page.Items))
			}
			if got := strings.TrimSuffix(strings.Join(found, "|"), "|"); got != "4 3|2" {
				return fmt.Errorf("found %s", got)
			}
			return nil
		})
	}},
	{"a global index gives no more than it holds", func(ctx context.Context, at *endpoint) error {
		return at.scratch(ctx, indexed(at.hashed+"-global"), func(name string) error {
			for _, c := range []struct {
				name    string
				in      dynamodb.QueryInput
				refused string
			}{
				{"ConsistentRead", dynamodb.QueryInput{ConsistentRead: aws.Bool(true)}, "Consistent reads are not supported on global secondary indexes"},
				{"everything", dynamodb.QueryInput{Select: "ALL_ATTRIBUTES"},
					badParameter + "Select type ALL_ATTRIBUTES is not supported for global secondary index owners because its projection type is not ALL"},
				{"a projection", dynamodb.QueryInput{ProjectionExpression: aws.String("held, lacking")}, badParameter + "Global secondary index owners does not project [lacking]"},
				{"a filter", dynamodb.QueryInput{FilterExpression: aws.String("attribute_exists(lacking)")},
					badParameter + "Secondary index owners does not project one or more filter attributes: [lacking]"},
			} {
				c.in.TableName, c.in.IndexName = &name, aws.String("owners")
				c.in.KeyConditionExpression, c.in.ExpressionAttributeNames = aws.String("#owner = :a"), map[string]string{"#owner": "owner"}
				c.in.ExpressionAttributeValues = attrs{":a": S("a")}
				_, err := at.Query(ctx, &c.in)
				if err := at.refusal(err, invalidRequest, c.refused); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
			return nil
		})
	}},
	{"an index's key of several attributes", func(ctx context.Context, at *endpoint) error {
		in := tableWith(at.hashed+"-several", "shop:S region:S year:N day:N")
		in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{globalIndex("days", "shop region/year day", projecting("ALL"))}
		return at.scratch(ctx, in, func(name string) error {
			for i, when := range []string{"s eu 2025 3", "s eu 2026 10", "s eu 2026 9", "s us 2026 1", "t eu 2026 2", "s eu 2026"} {
				parts := strings.Fields(when)
				item := attrs{"id": S("a"), "sk": N(strconv.Itoa(i)), "shop": S(parts[0]), "region": S(parts[1]), "year": N(parts[2])}
				if len(parts) > 3 {
					item["day"] = N(parts[3])
				}
				if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
					return err
				}
			}
			names := map[string]string{"#shop": "shop", "#region": "region", "#year": "year", "#day": "day"}
			values := attrs{":s": S("s"), ":eu": S("eu"), ":y": N("2026"), ":d": N("9")}
			for _, c := range []struct{ condition, found, refused string }{
				{"#shop = :s AND #region = :eu", "0 2 1", ""},
				{"#shop = :s AND #region = :eu AND #year >= :y", "2 1", ""},
				{"#shop = :s AND #region = :eu AND #year = :y AND #day > :d", "1", ""},
				{"#shop = :s", "", "Query condition missed key schema element: region"},
				{"#shop = :s AND #region = :eu AND #day = :d", "", "Query condition missed key schema element: year"},
				{"#shop = :s AND #region = :eu AND #year > :y AND #day = :d", "", "Query key condition not supported"},
				{"#shop = :s AND #region > :eu", "", "Query key condition not supported"},
			} {
				out, err := at.Query(ctx, &dynamodb.QueryInput{
					TableName: &name, IndexName: aws.String("days"), KeyConditionExpression: &c.condition,
					ExpressionAttributeNames: used(names, c.condition), ExpressionAttributeValues: used(values, c.condition),
				})
				if c.refused != "" {
					if err := at.refusal(err, invalidRequest, c.refused); err != nil {
						return fmt.Errorf("%s: %w", c.condition, err)
					}
					continue
				}
				if err != nil {
					return fmt.Errorf("%s: %w", c.condition, err)
				}
				if found := places(out.Items); found != c.found {
					return fmt.Errorf("%s: found %s, want %s", c.condition, found, c.found)
				}
			}
			return nil
		})
	}},
	{"writes tell the size of an item collection where there is a local index", func(ctx context.Context, at *endpoint) error {
		return at.scratch(ctx, indexed(at.hashed+"-collection"), func(name string) error {
			item := attrs{"id": S("a"), "sk": N("1")}
			put, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item, ReturnItemCollectionMetrics: "SIZE"})
			if err != nil {
				return err
			}
			if m := put.ItemCollectionMetrics; m == nil || !same(m.ItemCollectionKey, attrs{"id": S("a")}) || len(m.SizeEstimateRangeGB) != 2 {
				return fmt.Errorf("a put tells %+v", m)
			}
			many, err := at.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ReturnItemCollectionMetrics: "SIZE", TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: &name, Item: item}}, {Put: &types.Put{TableName: &at.hashed, Item: attrs{"id": S("collection")}}},
			}})
			if err != nil {
				return err
			}
			if m := many.ItemCollectionMetrics; len(m) != 1 || len(m[name]) != 1 {
				return fmt.Errorf("a transaction tells %+v", m)
			}
			return nil
		})
	}},
	{"an item that its index can't hold is refused before its condition is looked at", func(ctx context.Context, at *endpoint) error {
		return at.scratch(ctx, indexed(at.hashed+"-unfit"), func(name string) error {
			failing := aws.String("attribute_exists(id)")
			for _, c := range []struct {
				value   types.AttributeValue
				refused string
			}{
				{N("5"), badParameter + "Type mismatch for Index Key owner Expected: S Actual: N IndexName: owners"},
				{S(""), "One or more parameter values are not valid. A value specified for a secondary index key is not supported. " +
					"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: owners, IndexKey: owner"},
			} {
				key := attrs{"id": S("a"), "sk": N("1")}
				_, put := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: with(key, attrs{"owner": c.value}), ConditionExpression: failing})
				_, update := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
					TableName: &name, Key: key, UpdateExpression: aws.String("SET #owner = :v"), ConditionExpression: failing,
					ExpressionAttributeNames: map[string]string{"#owner": "owner"}, ExpressionAttributeValues: attrs{":v": c.value},
				})
				_, legacy := at.UpdateItem(ctx, &dynamodb.UpdateItemInput{
					TableName: &name, Key: key, AttributeUpdates: map[string]types.AttributeValueUpdate{"owner": {Value: c.value}},
					Expected: map[string]types.ExpectedAttributeValue{"id": {ComparisonOperator: "NOT_NULL"}},
				})
				for path, err := range map[string]error{"PutItem": put, "UpdateItem": update, "AttributeUpdates": legacy} {
					if err := at.refusal(err, invalidRequest, c.refused); err != nil {
						return fmt.Errorf("%s: %w", path, err)
					}
				}
			}
			return nil
		})
	}},
}
