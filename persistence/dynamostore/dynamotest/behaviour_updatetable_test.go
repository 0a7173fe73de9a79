package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// scratch runs a story on a table of its own.
func (at *endpoint) scratch(ctx context.Context, in *dynamodb.CreateTableInput, story func(name string) error) error {
	if err := at.create(ctx, in); err != nil {
		return err
	}
	err := story(*in.TableName)
	_, deletion := at.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: in.TableName})
	return errors.Join(err, deletion)
}

// update changes a table and waits for the change; it gives the table as it is then.
func (at *endpoint) update(ctx context.Context, in *dynamodb.UpdateTableInput) (*types.TableDescription, error) {
	if _, err := at.UpdateTable(ctx, in); err != nil {
		return nil, err
	}
	for {
		described, err := at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: in.TableName})
		if err != nil {
			return nil, err
		}
		ready := described.Table.TableStatus == "ACTIVE" && !slices.ContainsFunc(described.Table.GlobalSecondaryIndexes,
			func(x types.GlobalSecondaryIndexDescription) bool { return x.IndexStatus != "ACTIVE" })
		if ready {
			return described.Table, nil
		}
	}
}

// updateTableBehaviours: API reference, UpdateTable, DeleteTable, TagResource, UntagResource, ListTagsOfResource.
var updateTableBehaviours = []behaviour{
	{"an index added to a table has what the table has", func(ctx context.Context, at *endpoint) error {
		return at.scratch(ctx, tableWith(at.hashed+"-add-index", ""), func(name string) error {
			for _, item := range []attrs{
				{"id": S("1"), "sk": N("1"), "owner": S("o"), "v": S("x")},
				{"id": S("2"), "sk": N("1"), "owner": S("p")},
				{"id": S("3"), "sk": N("1"), "owner": N("7")}, // does not fit and stays out
				{"id": S("4"), "sk": N("1")},
			} {
				if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
					return err
				}
			}
			index := globalIndex("owners", "owner", projecting("KEYS_ONLY"))
			after, err := at.update(ctx, &dynamodb.UpdateTableInput{
				TableName: &name, AttributeDefinitions: defined("owner:S"),
				GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
					IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
				}}},
			})
			if err != nil {
				return err
			}
			if len(after.GlobalSecondaryIndexes) != 1 || len(after.AttributeDefinitions) != 3 {
				return fmt.Errorf("described as %+v", after)
			}
			out, err := at.Scan(ctx, &dynamodb.ScanInput{TableName: &name, IndexName: index.IndexName})
			if err != nil {
				return err
			}
			if len(out.Items) != 2 {
				return fmt.Errorf("the index has %d items, want 2", len(out.Items))
			}
			_, err = at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: attrs{"id": S("5"), "sk": N("1"), "owner": N("7")}})
			return at.refusal(err, invalidRequest, badParameter+"Type mismatch for Index Key owner Expected: S Actual: N IndexName: owners")
		})
	}},
	{"a deleted index is gone, and its attribute free", func(ctx context.Context, at *endpoint) error {
		in := tableWith(at.hashed+"-drop-index", "owner:S")
		in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{globalIndex("owners", "owner", projecting("ALL"))}
		return at.scratch(ctx, in, func(name string) error {
			drop := &dynamodb.UpdateTableInput{TableName: &name, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
				{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("owners")}},
			}}
			after, err := at.update(ctx, drop)
			if err != nil {
				return err
			}
			if len(after.GlobalSecondaryIndexes) != 0 {
				return fmt.Errorf("described as %+v", after)
			}
			if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: attrs{"id": S("1"), "sk": N("1"), "owner": N("7")}}); err != nil {
				return err
			}
			_, err = at.Scan(ctx, &dynamodb.ScanInput{TableName: &name, IndexName: aws.String("owners")})
			if err := at.refusal(err, invalidRequest, "The table does not have the specified index: owners"); err != nil {
				return err
			}
			_, err = at.UpdateTable(ctx, drop)
			return at.refusal(err, "ResourceNotFoundException", "")
		})
	}},
	{"a table moves between provisioned capacity and on demand", func(ctx context.Context, at *endpoint) error {
		return at.scratch(ctx, tableWith(at.hashed+"-billing", ""), func(name string) error {
			capacity := &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(5), WriteCapacityUnits: aws.Int64(6)}
			provisioned := &dynamodb.UpdateTableInput{TableName: &name, BillingMode: "PROVISIONED", ProvisionedThroughput: capacity}
			after, err := at.update(ctx, provisioned)
			if err != nil {
				return err
			}
			if got := after.ProvisionedThroughput; *got.ReadCapacityUnits != 5 || *got.WriteCapacityUnits != 6 {
				return fmt.Errorf("capacity %+v", got)
			}
			_, err = at.UpdateTable(ctx, provisioned)
			if err := at.refusal(err, invalidRequest, "The provisioned throughput for the table will not change. The requested value equals the current value. "+
				"Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "+
				"Current WriteCapacityUnits provisioned for the table: 6. Requested WriteCapacityUnits: 6. "+
				"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."); err != nil {
				return err
			}
			after, err = at.update(ctx, &dynamodb.UpdateTableInput{TableName: &name, BillingMode: "PAY_PER_REQUEST"})
			if err != nil {
				return err
			}
			if after.BillingModeSummary == nil || after.BillingModeSummary.BillingMode != "PAY_PER_REQUEST" {
				return fmt.Errorf("billing %+v", after.BillingModeSummary)
			}
			_, err = at.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &name, ProvisionedThroughput: capacity})
			return at.refusal(err, invalidRequest, badParameter+"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
		})
	}},
	{"changes of a table that make no sense are refused, and nothing changes", func(ctx context.Context, at *endpoint) error {
		in := tableWith(at.hashed+"-senseless", "owner:S")
		in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{globalIndex("owners", "owner", projecting("ALL"))}
		return at.scratch(ctx, in, func(name string) error {
			create := func(name, schema string) types.GlobalSecondaryIndexUpdate {
				x := globalIndex(name, schema, projecting("ALL"))
				return types.GlobalSecondaryIndexUpdate{Create: &types.CreateGlobalSecondaryIndexAction{IndexName: x.IndexName, KeySchema: x.KeySchema, Projection: x.Projection}}
			}
			for what, c := range map[string]struct {
				change dynamodb.UpdateTableInput
				code   string
			}{
				"nothing": {dynamodb.UpdateTableInput{}, invalidRequest},
				"an index of that name": {dynamodb.UpdateTableInput{AttributeDefinitions: defined("owner:S"),
					GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{create("owners", "owner")}}, invalidRequest},
				"an attribute that is not defined": {dynamodb.UpdateTableInput{
					GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{create("others", "other")}}, invalidRequest},
				"two indexes at once": {dynamodb.UpdateTableInput{AttributeDefinitions: defined("a:S b:S"),
					GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{create("first", "a"), create("second", "b")}}, "LimitExceededException"},
				"no stream to disable": {dynamodb.UpdateTableInput{StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)}}, invalidRequest},
				"an index and a stream to disable": {dynamodb.UpdateTableInput{AttributeDefinitions: defined("a:S"),
					GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{create("first", "a")},
					StreamSpecification:         &types.StreamSpecification{StreamEnabled: aws.Bool(false)}}, invalidRequest},
			} {
				c.change.TableName = &name
				once := func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} } // LimitExceededException is tried again else
				_, err := at.UpdateTable(ctx, &c.change, once)
				if err := at.refusal(err, c.code, ""); err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
			}
			out, err := at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
			if err != nil {
				return err
			}
			if len(out.Table.GlobalSecondaryIndexes) != 1 || len(out.Table.AttributeDefinitions) != 3 {
				return fmt.Errorf("described as %+v", out.Table)
			}
			return nil
		})
	}},
	{"deletion protection protects", func(ctx context.Context, at *endpoint) error {
		in := tableWith(at.hashed+"-protected", "")
		in.DeletionProtectionEnabled = aws.Bool(true)
		return at.scratch(ctx, in, func(name string) error {
			_, err := at.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
			refused := at.refusal(err, invalidRequest, "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
			after, err := at.update(ctx, &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: aws.Bool(false)})
			if err == nil && *after.DeletionProtectionEnabled {
				err = errors.New("still protected")
			}
			return errors.Join(refused, err)
		})
	}},
	{"tags are kept", func(ctx context.Context, at *endpoint) error {
		in := tableWith(at.hashed+"-tags", "")
		in.Tags = []types.Tag{{Key: aws.String("team"), Value: aws.String("orders")}, {Key: aws.String("stage"), Value: aws.String("test")}}
		return at.scratch(ctx, in, func(name string) error {
			described, err := at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
			if err != nil {
				return err
			}
			arn := described.Table.TableArn
			_, err = at.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: arn, Tags: []types.Tag{
				{Key: aws.String("team"), Value: aws.String("sales")}, {Key: aws.String("cost"), Value: aws.String("")},
			}})
			if err != nil {
				return err
			}
			if _, err := at.UntagResource(ctx, &dynamodb.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"stage", "absent"}}); err != nil {
				return err
			}
			listed, err := at.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: arn})
			if err != nil {
				return err
			}
			got := make(map[string]string)
			for _, tag := range listed.Tags {
				got[*tag.Key] = *tag.Value
			}
			if want := map[string]string{"team": "sales", "cost": ""}; !maps.Equal(got, want) {
				return fmt.Errorf("tags %v, want %v", got, want)
			}
			_, err = at.TagResource(ctx, &dynamodb.TagResourceInput{ResourceArn: &name, Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}})
			return at.refusal(err, invalidRequest, "")
		})
	}},
	{"a table is named by its ARN as well", func(ctx context.Context, at *endpoint) error {
		described, err := at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &at.hashed})
		if err != nil {
			return err
		}
		arn := described.Table.TableArn
		written, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: arn, Item: attrs{"id": S("by ARN")}, ReturnConsumedCapacity: "TOTAL"})
		if err != nil {
			return err
		}
		if got := *written.ConsumedCapacity.TableName; got != *arn {
			return fmt.Errorf("capacity of %q, want the ARN", got)
		}
		for _, name := range []*string{arn, &at.hashed} {
			out, err := at.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*name: {Keys: []attrs{{"id": S("by ARN")}}}}})
			if err != nil {
				return err
			}
			if len(out.Responses[*name]) != 1 {
				return fmt.Errorf("by %s got %v", *name, out.Responses)
			}
		}
		_, err = at.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(*arn + "-other"), Key: attrs{"id": S("by ARN")}})
		return at.refusal(err, "ResourceNotFoundException", "")
	}},
}
