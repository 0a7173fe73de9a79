package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// ListAPI is what listing needs of a DynamoDB client in addition to [API]. *dynamodb.Client
// has it. Its permissions are dynamodb:Scan on the table, or dynamodb:Query where that has a
// sort key; a function's role needs neither.
type ListAPI interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

var _ storekit.Lister = (*Store)(nil)

// List implements [storekit.Lister]: with a Scan or, where the table has a sort key, with a
// Query of the records' partition, which has one segment. Both consume half a read unit for
// each 4 KB of all that they look at; what is filtered out costs as much as what is not. A page
// is what DynamoDB takes in one go: 1 MB, which is 128 units.
func (s *Store) List(ctx context.Context, q storekit.Query) (storekit.Page, error) {
	api, ok := s.api.(ListAPI)
	if !ok {
		return storekit.Page{}, fmt.Errorf("dynamostore: %T has no Scan and Query: %w", s.api, errors.ErrUnsupported)
	}
	read := s.scan
	if s.schema.partition != nil {
		if q.Segment > 0 {
			return storekit.Page{}, nil
		}
		read = s.query
	}
	var found listed
	_, err := request(func(ctx context.Context) (_ item, err error) {
		found, err = read(ctx, api, q)
		return nil, err
	}).retryBusy(ctx)
	if err != nil {
		return storekit.Page{}, fault("list", err)
	}
	return s.page(found), nil
}

// listed is what a Scan or a Query answers.
type listed struct {
	items    []item
	last     item
	seen     int32
	consumed *types.ConsumedCapacity
}

func (s *Store) scan(ctx context.Context, api ListAPI, q storekit.Query) (listed, error) {
	values := item{}
	filter := s.filter(q, values)
	if q.Prefix != "" {
		values[":prefix"] = text(q.Prefix)
		filter = append(filter, "begins_with("+phKey+", :prefix)")
	}
	input := &dynamodb.ScanInput{
		TableName:                s.table,
		ProjectionExpression:     aws.String(strings.Join(outlined, ", ")),
		ExpressionAttributeNames: s.schema.names(outlined...),
		Limit:                    limitOf(q),
		ExclusiveStartKey:        s.start(q),
		ReturnConsumedCapacity:   types.ReturnConsumedCapacityTotal,
	}
	if len(filter) > 0 {
		input.FilterExpression, input.ExpressionAttributeValues = aws.String(strings.Join(filter, " AND ")), values
	}
	if q.Segments > 1 {
		input.Segment, input.TotalSegments = aws.Int32(int32(q.Segment)), aws.Int32(int32(q.Segments))
	}
	output, err := api.Scan(ctx, input, limitRequests(listTimeout))
	if err != nil {
		return listed{}, err
	}
	return listed{output.Items, output.LastEvaluatedKey, output.ScannedCount, output.ConsumedCapacity}, nil
}

func (s *Store) query(ctx context.Context, api ListAPI, q storekit.Query) (listed, error) {
	values := item{":partition": s.schema.partition}
	condition := phKey + " = :partition"
	if q.Prefix != "" {
		values[":prefix"] = text(q.Prefix)
		condition += " AND begins_with(" + phSortKey + ", :prefix)"
	}
	input := &dynamodb.QueryInput{
		TableName:                 s.table,
		ProjectionExpression:      aws.String(strings.Join(append(outlined, phSortKey), ", ")),
		ExpressionAttributeNames:  s.schema.names(append(outlined, phSortKey)...),
		KeyConditionExpression:    aws.String(condition),
		ExpressionAttributeValues: values,
		Limit:                     limitOf(q),
		ExclusiveStartKey:         s.start(q),
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	if filter := s.filter(q, values); len(filter) > 0 {
		input.FilterExpression = aws.String(strings.Join(filter, " AND "))
	}
	output, err := api.Query(ctx, input, limitRequests(listTimeout))
	if err != nil {
		return listed{}, err
	}
	return listed{output.Items, output.LastEvaluatedKey, output.ScannedCount, output.ConsumedCapacity}, nil
}

// listTimeout bounds each try to read a page, which takes longer than an item.
const listTimeout = 10 * time.Second

// outlined are the attributes of which a record is made, but for what may be large and is
// for its owner. Not to be appended to in place.
var outlined = slices.Clip([]string{
	phKey, phStatus, phOwner, phLease, phExpire, phFingerprint, phEncoding, phSteps, phAttempt,
	phVersion, phStartedAt, phFunction, phRequestID,
})

// filter returns the conditions of a page besides the key's, and puts in their values.
func (s *Store) filter(q storekit.Query, values item) []string {
	var spelt []string
	for _, status := range q.Statuses {
		spelt = append(spelt, string(status))
		if status == persistence.StatusProcessing {
			spelt = append(spelt, inProgress, textOf(s.schema.running))
		}
	}
	if len(spelt) == 0 {
		return nil
	}
	slices.Sort(spelt)
	var names []string
	for n, status := range slices.Compact(spelt) {
		name := ":status" + strconv.Itoa(n)
		values[name] = text(status)
		names = append(names, name)
	}
	return []string{phStatus + " IN (" + strings.Join(names, ", ") + ")"}
}

func limitOf(q storekit.Query) *int32 {
	if q.Limit <= 0 {
		return nil
	}
	return aws.Int32(int32(min(q.Limit, 1<<30)))
}

// start is where a page begins. The cursor is the key of the record before it.
func (s *Store) start(q storekit.Query) item {
	if q.Cursor == "" {
		return nil
	}
	return s.schema.key(q.Cursor)
}

func (s *Store) page(found listed) storekit.Page {
	page := storekit.Page{Seen: int(found.seen)}
	if found.consumed != nil {
		page.Units = aws.ToFloat64(found.consumed.CapacityUnits)
	}
	if len(found.last) > 0 {
		page.Cursor = s.schema.keyOf(found.last)
	}
	for _, i := range found.items {
		record, err := s.schema.outline(i)
		if err != nil {
			page.Unreadable = append(page.Unreadable, storekit.Unreadable{Key: s.schema.keyOf(i), Err: err})
			continue
		}
		page.Records = append(page.Records, record)
	}
	return page
}
