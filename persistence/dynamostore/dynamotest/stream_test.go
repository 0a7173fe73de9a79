package dynamotest

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
)

// A stream keeps a day, an iterator a quarter of an hour; both by the database's clock.
func TestStreamsForget(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	db := New(t, WithClock(func() time.Time { return now }))
	at, ctx := newEndpoint(t, db.Client()), t.Context()
	in := streamed("forgetful", "NEW_AND_OLD_IMAGES")
	if err := at.create(ctx, in); err != nil {
		t.Fatal(err)
	}
	put := func(id string) {
		if err := db.Seed("forgetful", attrs{"id": S(id), "sk": N("1"), "ttl": N("1772000000")}); err != nil {
			t.Fatal(err)
		}
	}
	arn := db.tables["forgetful"].stream.arn
	expect := func(want string) {
		t.Helper()
		records, _, err := at.readStream(ctx, &arn, "TRIM_HORIZON", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := told(records); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	put("a")
	iterator, err := at.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: &db.tables["forgetful"].stream.shard, ShardIteratorType: "TRIM_HORIZON",
	})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(iterator *string, want string) {
		t.Helper()
		_, err := at.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
		if failed, ok := errors.AsType[smithy.APIError](err); !ok || failed.ErrorCode() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	now = now.Add(iteratorLifetime + time.Second)
	refused(iterator.ShardIterator, "ExpiredIteratorException")

	now = now.Add(23 * time.Hour)
	put("b")
	expect("INSERT a(new) INSERT b(new)")
	now = now.Add(2 * time.Hour)
	expect("INSERT b(new)")
	first := sequenceNumber(0)
	_, _, err = at.readStream(ctx, &arn, "AT_SEQUENCE_NUMBER", &first)
	if failed, ok := errors.AsType[smithy.APIError](err); !ok || failed.ErrorCode() != "TrimmedDataAccessException" {
		t.Errorf("got %v", err)
	}

	if _, err := at.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: in.TableName, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)},
	}); err != nil {
		t.Fatal(err)
	}
	db.RemoveExpired(now)
	records, _, err := at.readStream(ctx, &arn, "TRIM_HORIZON", nil)
	if err != nil {
		t.Fatal(err)
	}
	removed := records[len(records)-1]
	if by := removed.UserIdentity; removed.EventName != "REMOVE" || by == nil || *by.PrincipalId != "dynamodb.amazonaws.com" || *by.Type != "Service" {
		t.Errorf("expired: %s by %+v", told(records), removed.UserIdentity)
	}

	if _, err := at.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: in.TableName}); err != nil {
		t.Fatal(err)
	}
	expect("INSERT b(new) REMOVE b(old) REMOVE a(old)")
	now = now.Add(streamRetention + time.Second)
	if _, _, err := at.readStream(ctx, &arn, "TRIM_HORIZON", nil); err == nil {
		t.Error("the stream of a table deleted a day ago is still there")
	}
	if left := len(db.streams); left != 0 {
		t.Errorf("%d streams are kept", left)
	}
}

// A stream that nobody reads does not grow without end.
func TestStreamsAreBounded(t *testing.T) {
	s := &stream{now: time.Now}
	for i := range maxStreamRecords + 10 {
		s.record(nil, item{"id": stringValue("a")}, false)
		if i%2 == 1 {
			s.record(item{"id": stringValue("a")}, nil, false)
		}
	}
	if len(s.records) != maxStreamRecords || cap(s.records) > 3*maxStreamRecords || s.end() != (maxStreamRecords+10)*3/2 {
		t.Errorf("%d records in a place for %d, %d told", len(s.records), cap(s.records), s.end())
	}
}
