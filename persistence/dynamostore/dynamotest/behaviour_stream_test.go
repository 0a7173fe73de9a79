package dynamotest

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// readStream gives the records of a stream from the given iterator type on, and the iterator behind them.
func (at *endpoint) readStream(ctx context.Context, arn *string, from streamtypes.ShardIteratorType, sequence *string) ([]streamtypes.Record, *string, error) {
	described, err := at.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	if err != nil {
		return nil, nil, err
	}
	iterator, err := at.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: arn, ShardId: described.StreamDescription.Shards[0].ShardId, ShardIteratorType: from, SequenceNumber: sequence,
	})
	if err != nil {
		return nil, nil, err
	}
	out, err := at.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator.ShardIterator})
	if err != nil {
		return nil, nil, err
	}
	return out.Records, out.NextShardIterator, nil
}

// told is what records say, such as "INSERT a(new)".
func told(records []streamtypes.Record) string {
	var texts []string
	for _, r := range records {
		var images []string
		if r.Dynamodb.OldImage != nil {
			images = append(images, "old")
		}
		if r.Dynamodb.NewImage != nil {
			images = append(images, "new")
		}
		id := r.Dynamodb.Keys["id"].(*streamtypes.AttributeValueMemberS).Value
		texts = append(texts, fmt.Sprintf("%s %s(%s)", r.EventName, id, strings.Join(images, ",")))
	}
	return strings.Join(texts, " ")
}

func streamed(name string, view types.StreamViewType) *dynamodb.CreateTableInput {
	in := tableWith(name, "")
	in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view}
	return in
}

// streamBehaviours: developer guide, "Change data capture for DynamoDB Streams"; API reference of DynamoDB Streams.
var streamBehaviours = func() []behaviour {
	var list []behaviour
	for view, want := range map[types.StreamViewType]string{
		"NEW_AND_OLD_IMAGES": "INSERT a(new) MODIFY a(old,new) REMOVE a(old)",
		"NEW_IMAGE":          "INSERT a(new) MODIFY a(new) REMOVE a()",
		"OLD_IMAGE":          "INSERT a() MODIFY a(old) REMOVE a(old)",
		"KEYS_ONLY":          "INSERT a() MODIFY a() REMOVE a()",
	} {
		list = append(list, behaviour{"a stream shows " + string(view), func(ctx context.Context, at *endpoint) error {
			return at.scratch(ctx, streamed(at.hashed+"-stream-"+string(view), view), func(name string) error {
				described, err := at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
				if err != nil {
					return err
				}
				arn := described.Table.LatestStreamArn
				for _, item := range []attrs{{"id": S("a"), "sk": N("1"), "v": N("1")}, {"id": S("a"), "sk": N("1"), "v": N("2")}, {"id": S("a"), "sk": N("1"), "v": N("2")}} {
					if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
						return err
					}
				}
				for range 2 { // the second deletes nothing
					if _, err := at.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &name, Key: attrs{"id": S("a"), "sk": N("1")}}); err != nil {
						return err
					}
				}
				records, _, err := at.readStream(ctx, arn, "TRIM_HORIZON", nil)
				if err != nil {
					return err
				}
				if got := told(records); got != want {
					return fmt.Errorf("got %s, want %s", got, want)
				}
				after, _, err := at.readStream(ctx, arn, "AFTER_SEQUENCE_NUMBER", records[0].Dynamodb.SequenceNumber)
				if err != nil {
					return err
				}
				if len(after) != 2 {
					return fmt.Errorf("%d records behind the first", len(after))
				}
				latest, next, err := at.readStream(ctx, arn, "LATEST", nil)
				if err != nil {
					return err
				}
				if len(latest) != 0 || next == nil {
					return fmt.Errorf("behind the last: %s, then %v", told(latest), next)
				}
				return nil
			})
		}})
	}
	return append(list, []behaviour{
		{"a transaction that fails leaves nothing in a stream", func(ctx context.Context, at *endpoint) error {
			return at.scratch(ctx, streamed(at.hashed+"-stream-none", "KEYS_ONLY"), func(name string) error {
				_, err := at.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
					{Put: &types.Put{TableName: &name, Item: attrs{"id": S("a"), "sk": N("1")}}},
					{Put: &types.Put{TableName: &name, Item: attrs{"id": S("b"), "sk": N("1")}, ConditionExpression: aws.String("attribute_exists(id)")}},
				}})
				if err := at.refusal(err, "TransactionCanceledException", ""); err != nil {
					return err
				}
				described, err := at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
				if err != nil {
					return err
				}
				records, _, err := at.readStream(ctx, described.Table.LatestStreamArn, "TRIM_HORIZON", nil)
				if err == nil && len(records) != 0 {
					err = fmt.Errorf("got %s", told(records))
				}
				return err
			})
		}},
		{"a disabled stream can be read to its end, and another be enabled", func(ctx context.Context, at *endpoint) error {
			return at.scratch(ctx, streamed(at.hashed+"-stream-end", "KEYS_ONLY"), func(name string) error {
				if _, err := at.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: attrs{"id": S("a"), "sk": N("1")}}); err != nil {
					return err
				}
				before, err := at.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
				if err != nil {
					return err
				}
				first := before.Table.LatestStreamArn
				off, err := at.update(ctx, &dynamodb.UpdateTableInput{TableName: &name, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)}})
				if err != nil {
					return err
				}
				records, next, err := at.readStream(ctx, first, "TRIM_HORIZON", nil)
				if err != nil {
					return err
				}
				if told(records) != "INSERT a()" || next != nil || off.StreamSpecification != nil {
					return fmt.Errorf("got %s, then %v; described as %+v", told(records), next, off.StreamSpecification)
				}
				on, err := at.update(ctx, &dynamodb.UpdateTableInput{TableName: &name, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: "NEW_IMAGE"}})
				if err != nil {
					return err
				}
				listed, err := at.streams.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &name})
				if err != nil {
					return err
				}
				if *on.LatestStreamArn == *first || len(listed.Streams) != 2 {
					return fmt.Errorf("streams %+v", listed.Streams)
				}
				return nil
			})
		}},
		{"what no stream has is refused", func(ctx context.Context, at *endpoint) error {
			arn := aws.String("arn:aws:dynamodb:us-east-1:000000000000:table/" + at.hashed + "/stream/2026-01-01T00:00:00.000")
			_, err := at.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
			if err := at.refusal(err, "ResourceNotFoundException", "Requested resource not found: Stream: "+*arn+" not found"); err != nil {
				return err
			}
			_, err = at.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String("none")})
			return at.refusal(err, invalidRequest, "")
		}},
	}...)
}()
