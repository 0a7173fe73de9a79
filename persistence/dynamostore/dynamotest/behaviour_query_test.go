package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// fill stores the items id, sk = 0 … count−1 with v = sk mod 3.
func (at *endpoint) fill(ctx context.Context, id string, count int) error {
	for i := range count {
		_, err := at.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &at.sorted,
			Item:      attrs{"id": S(id), "sk": N(strconv.Itoa(i)), "v": N(strconv.Itoa(i % 3))},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// places are the sort keys of the items, in order.
func places(items []map[string]types.AttributeValue) string {
	var keys []string
	for _, i := range items {
		keys = append(keys, i["sk"].(*types.AttributeValueMemberN).Value)
	}
	return strings.Join(keys, " ")
}

var queryValues = attrs{":p": S("query"), ":two": N("2"), ":three": N("3"), ":nine": N("9"), ":ten": N("10"), ":text": S("x"), ":none": S("")}

// queryBehaviours query twelve items of one partition and name those found, or are refused with a message.
var queryBehaviours = func() []behaviour {
	var list []behaviour
	for _, c := range []struct {
		keys, filter string
		found        string // sort keys, or
		refused      string
	}{
		{keys: "id = :p", found: "0 1 2 3 4 5 6 7 8 9 10 11"},
		{keys: "id = :text", found: ""},
		{keys: "id = :p AND sk = :two", found: "2"},
		{keys: "sk = :two AND id = :p", found: "2"},
		{keys: "id = :p AND sk < :three", found: "0 1 2"},
		{keys: "id = :p AND sk <= :three", found: "0 1 2 3"},
		{keys: "id = :p AND sk > :nine", found: "10 11"},
		{keys: "id = :p AND sk >= :nine", found: "9 10 11"},
		{keys: "id = :p AND :nine <= sk", found: "9 10 11"},
		{keys: "id = :p AND sk BETWEEN :two AND :ten", found: "2 3 4 5 6 7 8 9 10"},
		{keys: "(id = :p) AND (sk = :two)", found: "2"},
		{keys: "id = :p", filter: "v = :two", found: "2 5 8 11"},
		{keys: "id = :p AND sk > :three", filter: "v <> :two", found: "4 6 7 9 10"},

		{keys: "sk = :two", refused: "Query condition missed key schema element: id"},
		{keys: "id = :p AND v = :two", refused: "Query condition missed key schema element: sk"},
		{keys: "id > :p", refused: "Query key condition not supported"},
		{keys: "id = :p OR sk = :two", refused: "Invalid operator used in KeyConditionExpression: OR"},
		{keys: "id = :p AND NOT sk = :two", refused: "Invalid operator used in KeyConditionExpression: NOT"},
		{keys: "id = :p AND sk <> :two", refused: "Invalid operator used in KeyConditionExpression: <>"},
		{keys: "id = :p AND sk IN (:two)", refused: "Invalid operator used in KeyConditionExpression: IN"},
		{keys: "id = :p AND contains(sk, :two)", refused: "Invalid operator used in KeyConditionExpression: contains"},
		{keys: "id = :p AND id = :p", refused: "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key"},
		{keys: "id = :p AND sk = :two AND v = :two", refused: "Conditions can be of length 1 or 2 only"},
		{keys: "id = :p AND sk.x = :two", refused: "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes"},
		{keys: "id = :p AND sk = v", refused: "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"},
		{keys: "id = :p AND sk = :text", refused: "One or more parameter values were invalid: Condition parameter type does not match schema type"},
		{keys: "id = :none", refused: "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: id"},
		{keys: "id = :p AND begins_with(sk, :two)", refused: "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"},
		{keys: "id = :p", filter: "sk > :two", refused: "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"},
		{keys: "id", refused: `Invalid KeyConditionExpression: Syntax error; token: "<EOF>", near: "id"`},
	} {
		name := strings.TrimSpace("query " + c.keys + " " + c.filter)
		list = append(list, behaviour{name, func(ctx context.Context, at *endpoint) error {
			if err := at.fill(ctx, "query", 12); err != nil {
				return err
			}
			in := &dynamodb.QueryInput{
				TableName: &at.sorted, KeyConditionExpression: &c.keys, ConsistentRead: aws.Bool(true),
				ExpressionAttributeValues: used(queryValues, c.keys, c.filter),
			}
			if c.filter != "" {
				in.FilterExpression = &c.filter
			}
			out, err := at.Query(ctx, in)
			if c.refused != "" {
				return at.refusal(err, invalidRequest, c.refused)
			}
			if err != nil {
				return err
			}
			if found := places(out.Items); found != c.found || out.LastEvaluatedKey != nil {
				return fmt.Errorf("found %s, then %v; want %s", found, out.LastEvaluatedKey, c.found)
			}
			return nil
		}})
	}
	return append(list, pagingBehaviours...)
}()

var pagingBehaviours = []behaviour{
	{"query pages by limit, forward and backward", func(ctx context.Context, at *endpoint) error {
		if err := at.fill(ctx, "pages", 7); err != nil {
			return err
		}
		for forward, want := range map[bool]string{true: "0 1 2|3 4 5|6", false: "6 5 4|3 2 1|0"} {
			var pages []string
			in := &dynamodb.QueryInput{
				TableName: &at.sorted, KeyConditionExpression: aws.String("id = :p"), ExpressionAttributeValues: attrs{":p": S("pages")},
				Limit: aws.Int32(3), ScanIndexForward: &forward, ConsistentRead: aws.Bool(true),
			}
			for {
				out, err := at.Query(ctx, in)
				if err != nil {
					return err
				}
				pages = append(pages, places(out.Items))
				if in.ExclusiveStartKey = out.LastEvaluatedKey; out.LastEvaluatedKey == nil {
					break
				}
			}
			if got := strings.Join(pages, "|"); got != want {
				return fmt.Errorf("got pages %s, want %s", got, want)
			}
		}
		return nil
	}},
	{"a limit counts what the filter drops, and the last page may be empty", func(ctx context.Context, at *endpoint) error {
		if err := at.fill(ctx, "limit", 3); err != nil {
			return err
		}
		in := &dynamodb.QueryInput{
			TableName: &at.sorted, KeyConditionExpression: aws.String("id = :p"), FilterExpression: aws.String("v > :zero"),
			ExpressionAttributeValues: attrs{":p": S("limit"), ":zero": N("0")}, Limit: aws.Int32(3), ConsistentRead: aws.Bool(true),
		}
		out, err := at.Query(ctx, in)
		if err != nil {
			return err
		}
		if places(out.Items) != "1 2" || out.Count != 2 || out.ScannedCount != 3 || out.LastEvaluatedKey == nil {
			return fmt.Errorf("got %s, count %d of %d, then %v", places(out.Items), out.Count, out.ScannedCount, out.LastEvaluatedKey)
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
		if out, err = at.Query(ctx, in); err != nil {
			return err
		}
		if out.ScannedCount != 0 || out.LastEvaluatedKey != nil {
			return fmt.Errorf("the page after the last item has %d items, then %v", out.ScannedCount, out.LastEvaluatedKey)
		}
		return nil
	}},
	{"a page has about 1 MB", func(ctx context.Context, at *endpoint) error {
		for i := range 4 {
			_, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &at.sorted, Item: attrs{
				"id": S("large"), "sk": N(strconv.Itoa(i)), "v": S(strings.Repeat("x", 390_000)),
			}})
			if err != nil {
				return err
			}
		}
		out, err := at.Query(ctx, &dynamodb.QueryInput{
			TableName: &at.sorted, KeyConditionExpression: aws.String("id = :p"), ExpressionAttributeValues: attrs{":p": S("large")},
			ProjectionExpression: aws.String("sk"), ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return err
		}
		if out.LastEvaluatedKey == nil || len(out.Items) > 3 {
			return fmt.Errorf("got %d items, then %v", len(out.Items), out.LastEvaluatedKey)
		}
		return nil
	}},
	{"starting keys must fit", func(ctx context.Context, at *endpoint) error {
		for _, c := range []struct {
			start attrs
			want  string
		}{
			{attrs{"id": S("start")}, "The provided starting key is invalid"},
			{attrs{"id": S("start"), "sk": S("1")}, "The provided starting key is invalid"},
			{attrs{"id": S("other"), "sk": N("7")}, "The provided starting key is outside query boundaries based on provided conditions"},
			{attrs{"id": S("start"), "sk": N("1")}, "The provided starting key does not match the range key predicate"},
		} {
			_, err := at.Query(ctx, &dynamodb.QueryInput{
				TableName: &at.sorted, KeyConditionExpression: aws.String("id = :p AND sk > :five"),
				ExpressionAttributeValues: attrs{":p": S("start"), ":five": N("5")}, ExclusiveStartKey: c.start,
			})
			if err := at.refusal(err, invalidRequest, c.want); err != nil {
				return err
			}
		}
		return nil
	}},
	{"select says what comes back", func(ctx context.Context, at *endpoint) error {
		if err := at.fill(ctx, "select", 3); err != nil {
			return err
		}
		query := func(choice types.Select, projection *string) (*dynamodb.QueryOutput, error) {
			return at.Query(ctx, &dynamodb.QueryInput{
				TableName: &at.sorted, KeyConditionExpression: aws.String("id = :p"), ExpressionAttributeValues: attrs{":p": S("select")},
				Select: choice, ProjectionExpression: projection, ConsistentRead: aws.Bool(true),
			})
		}
		counted, err := query("COUNT", nil)
		if err != nil || counted.Items != nil || counted.Count != 3 {
			return fmt.Errorf("COUNT gave %v, %v", counted, err)
		}
		_, err = query("ALL_PROJECTED_ATTRIBUTES", nil)
		return at.refusal(err, invalidRequest, "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	}},
	{"select COUNT excludes a projection", func(ctx context.Context, at *endpoint) error {
		_, err := at.Query(ctx, &dynamodb.QueryInput{
			TableName: &at.sorted, KeyConditionExpression: aws.String("id = :p"), ExpressionAttributeValues: attrs{":p": S("select")},
			Select: "COUNT", ProjectionExpression: aws.String("v"),
		})
		return at.refusal(err, invalidRequest, "Cannot specify the ProjectionExpression when choosing to get only the Count")
	}},
	{"scan finds everything once, in pages and in segments", func(ctx context.Context, at *endpoint) error {
		name := at.hashed + "-scan"
		if err := at.createTable(ctx, name, ""); err != nil {
			return err
		}
		defer at.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		var want []string
		for i := range 25 {
			id := fmt.Sprintf("%02d", i)
			want = append(want, id)
			if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: attrs{"id": S(id)}}); err != nil {
				return err
			}
		}
		collect := func(in dynamodb.ScanInput) (ids []string, err error) {
			in.TableName, in.ConsistentRead = &name, aws.Bool(true)
			pages := dynamodb.NewScanPaginator(at, &in)
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return nil, err
				}
				for _, i := range page.Items {
					ids = append(ids, i["id"].(*types.AttributeValueMemberS).Value)
				}
			}
			return ids, nil
		}
		paged, err := collect(dynamodb.ScanInput{Limit: aws.Int32(4)})
		if err != nil {
			return err
		}
		var segmented []string
		for segment := range int32(3) {
			ids, err := collect(dynamodb.ScanInput{Segment: &segment, TotalSegments: aws.Int32(3)})
			if err != nil {
				return err
			}
			segmented = append(segmented, ids...)
		}
		slices.Sort(paged)
		slices.Sort(segmented)
		if !slices.Equal(paged, want) || !slices.Equal(segmented, want) {
			return fmt.Errorf("paged %v, segmented %v", paged, segmented)
		}
		return nil
	}},
	{"a global index has the items with its keys, in its order", func(ctx context.Context, at *endpoint) error {
		name := at.hashed + "-index"
		err := at.create(ctx, &dynamodb.CreateTableInput{
			TableName: &name, BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{
				{AttributeName: aws.String("id"), AttributeType: "S"}, {AttributeName: aws.String("owner"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "N"},
			},
			KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: "HASH"}},
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
				IndexName:  aws.String("by-owner"),
				KeySchema:  []types.KeySchemaElement{{AttributeName: aws.String("owner"), KeyType: "HASH"}, {AttributeName: aws.String("sk"), KeyType: "RANGE"}},
				Projection: &types.Projection{ProjectionType: "KEYS_ONLY"},
			}},
		})
		if err != nil {
			return err
		}
		defer at.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		put := func(item attrs) error {
			_, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item})
			return err
		}
		for _, item := range []attrs{
			{"id": S("1"), "owner": S("o"), "sk": N("3"), "v": S("x")},
			{"id": S("2"), "owner": S("o"), "sk": N("1")},
			{"id": S("3"), "owner": S("p"), "sk": N("2")},
			{"id": S("5"), "owner": S("o"), "sk": N("2")},
			{"id": S("6"), "owner": S("o"), "sk": N("10")},
			{"id": S("4"), "owner": S("o")},
		} {
			if err := put(item); err != nil {
				return err
			}
		}
		out, err := at.Query(ctx, &dynamodb.QueryInput{
			TableName: &name, IndexName: aws.String("by-owner"), KeyConditionExpression: aws.String("#owner = :o"),
			ExpressionAttributeNames: map[string]string{"#owner": "owner"}, ExpressionAttributeValues: attrs{":o": S("o")},
		})
		if err != nil {
			return err
		}
		if found := places(out.Items); found != "1 2 3 10" || !same(out.Items[2], attrs{"id": S("1"), "owner": S("o"), "sk": N("3")}) {
			return fmt.Errorf("found %s, the third as %s", found, show(out.Items[2]))
		}
		err = put(attrs{"id": S("7"), "owner": N("5")})
		return at.refusal(err, invalidRequest, "One or more parameter values were invalid: Type mismatch for Index Key owner Expected: S Actual: N IndexName: by-owner")
	}},
}
