package idempotenttest

import (
	"crypto/md5" //nolint:gosec // what SQS tells of a body
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// sent is when all records of the builders were sent. They have no clock, so that the
// same call makes the same event.
var sent = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// idOf is an ID in the form of a UUID, made from what it stands for.
func idOf(parts ...any) string {
	sum := sha256.Sum256(fmt.Append(nil, parts...))
	id := hex.EncodeToString(sum[:16])
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}

// numberOf is a number of up to 19 digits, made from what it stands for.
func numberOf(parts ...any) uint64 {
	sum := sha256.Sum256(fmt.Append(nil, parts...))
	return binary.BigEndian.Uint64(sum[:]) >> 2
}

// SQS is a batch of a standard queue, with a message of each body. Message IDs are made
// from body and place: the same call is the same messages.
func SQS(bodies ...string) events.SQSEvent {
	var event events.SQSEvent
	for i, body := range bodies {
		id, sum := idOf("sqs", i, body), md5.Sum([]byte(body)) //nolint:gosec // see above
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: id, ReceiptHandle: "receipt-1-" + id, Body: body, Md5OfBody: hex.EncodeToString(sum[:]),
			Attributes: map[string]string{
				"ApproximateReceiveCount":          "1",
				"SentTimestamp":                    strconv.FormatInt(sent.UnixMilli(), 10),
				"SenderId":                         account,
				"ApproximateFirstReceiveTimestamp": strconv.FormatInt(sent.UnixMilli(), 10),
			},
			MessageAttributes: map[string]events.SQSMessageAttribute{},
			EventSource:       "aws:sqs", EventSourceARN: "arn:aws:sqs:" + region + ":" + account + ":queue", AWSRegion: region,
		})
	}
	return event
}

// SQSFIFO is a batch of a FIFO queue, of one message group.
func SQSFIFO(group string, bodies ...string) events.SQSEvent {
	event := SQS(bodies...)
	for i := range event.Records {
		m := &event.Records[i]
		m.EventSourceARN += ".fifo"
		m.Attributes["MessageGroupId"] = group
		m.Attributes["MessageDeduplicationId"] = idOf("deduplication", m.MessageId)
		m.Attributes["SequenceNumber"] = fmt.Sprintf("1%019d", i+1)
	}
	return event
}

// Redelivered is a batch as the queue delivers it again: the same messages, with another
// receipt handle and a higher receive count. It is what Function.Duplicate is for a queue.
func Redelivered(event events.SQSEvent) events.SQSEvent {
	event.Records = slices.Clone(event.Records)
	for i := range event.Records {
		m := &event.Records[i]
		received, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"]) // 0 if it is not told
		attributes := maps.Clone(m.Attributes)
		if attributes == nil {
			attributes = make(map[string]string)
		}
		attributes["ApproximateReceiveCount"] = strconv.Itoa(received + 1)
		m.Attributes = attributes
		m.ReceiptHandle = fmt.Sprintf("receipt-%d-%s", received+1, m.MessageId)
	}
	return event
}

// Kinesis is a batch of a stream, of one shard, with a record of each data. Sequence
// numbers are made from data and place: the same call is the same records.
func Kinesis(partitionKey string, data ...string) events.KinesisEvent {
	var event events.KinesisEvent
	for i, content := range data {
		number := fmt.Sprintf("495903382714902566085596925383615%04d%019d", i+1, numberOf("kinesis", i, partitionKey, content))
		event.Records = append(event.Records, events.KinesisEventRecord{
			AwsRegion: region, EventID: "shardId-000000000000:" + number, EventName: "aws:kinesis:record",
			EventSource: "aws:kinesis", EventSourceArn: "arn:aws:kinesis:" + region + ":" + account + ":stream/stream", EventVersion: "1.0",
			Kinesis: events.KinesisRecord{
				ApproximateArrivalTimestamp: events.SecondsEpochTime{Time: sent},
				Data:                        []byte(content), PartitionKey: partitionKey, SequenceNumber: number, KinesisSchemaVersion: "1.0",
			},
		})
	}
	return event
}

// Change is a change of an item, as a DynamoDB stream tells it.
type Change struct {
	// Keys are the item's key attributes.
	Keys map[string]events.DynamoDBAttributeValue
	// Old and New are the item before and after; nil for none.
	Old, New map[string]events.DynamoDBAttributeValue
}

// DynamoDBStream is a batch of a DynamoDB stream with new and old images. Whether a
// change inserts, modifies or removes follows from its images. Event IDs are made from
// table, change and place: the same call is the same changes.
func DynamoDBStream(table string, changes ...Change) events.DynamoDBEvent {
	var event events.DynamoDBEvent
	for i, c := range changes {
		name := events.DynamoDBOperationTypeModify
		switch {
		case c.Old == nil:
			name = events.DynamoDBOperationTypeInsert
		case c.New == nil:
			name = events.DynamoDBOperationTypeRemove
		}
		content, _ := json.Marshal(c) // attribute values always encode
		event.Records = append(event.Records, events.DynamoDBEventRecord{
			AWSRegion: region, EventID: strings.ReplaceAll(idOf("change", i, table, string(content)), "-", ""), EventName: string(name),
			EventSource: "aws:dynamodb", EventVersion: "1.1",
			EventSourceArn: "arn:aws:dynamodb:" + region + ":" + account + ":table/" + table + "/stream/2026-01-01T00:00:00.000",
			Change: events.DynamoDBStreamRecord{
				ApproximateCreationDateTime: events.SecondsEpochTime{Time: sent}, Keys: c.Keys, OldImage: c.Old, NewImage: c.New,
				SequenceNumber: fmt.Sprintf("44215845%04d%019d", i+1, numberOf("change", i, table, string(content))), StreamViewType: string(events.DynamoDBStreamViewTypeNewAndOldImages),
			},
		})
	}
	return event
}

// SNS is a notification of a topic. Its ID is made from the message: the same call is the
// same notification.
func SNS(message string) events.SNSEvent {
	topic := "arn:aws:sns:" + region + ":" + account + ":topic"
	return events.SNSEvent{Records: []events.SNSEventRecord{{
		EventVersion: "1.0", EventSource: "aws:sns", EventSubscriptionArn: topic + ":21be56ed-a058-49f5-8c98-aedd2564c486",
		SNS: events.SNSEntity{
			Type: "Notification", MessageID: idOf("sns", message), TopicArn: topic, Message: message, Timestamp: sent,
			SignatureVersion: "1", MessageAttributes: map[string]any{},
		},
	}}}
}

// EventBridge is an event of a bus, or of a rule. Its ID is made from its content. Detail
// is taken as it is, so it must be JSON.
func EventBridge(source, detailType, detail string) events.EventBridgeEvent {
	return events.EventBridgeEvent{
		Version: "0", ID: idOf("event", source, detailType, detail), DetailType: detailType, Source: source,
		AccountID: account, Time: sent, Region: region, Resources: []string{}, Detail: json.RawMessage(detail),
	}
}
