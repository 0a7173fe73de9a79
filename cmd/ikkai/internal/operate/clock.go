package operate

import (
	"context"
	"errors"
	"net/http"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// clock compares this machine's clock with the Date header of DynamoDB, which has whole seconds:
// of several answers the narrowest bounds count. It says nothing of the functions' clocks, which
// Lambda keeps, but leases are judged here by this one.
func (d *doctor) clock(ctx context.Context) {
	least, most := -time.Hour*1e5, time.Hour*1e5
	for range 5 {
		before := time.Now()
		out, err := d.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &d.Name})
		after := time.Now()
		if err != nil {
			d.found("clock", Skip, "%v", code(err))
			return
		}
		response, ok := awsmiddleware.GetRawResponse(out.ResultMetadata).(*smithyhttp.Response)
		if !ok {
			d.found("clock", Skip, "the answer has no headers")
			return
		}
		date, err := http.ParseTime(response.Header.Get("Date"))
		if err != nil {
			d.found("clock", Skip, "the answer has no Date")
			return
		}
		// The server's clock was in [date, date+1s) at some moment between before and after.
		least = max(least, before.Sub(date)-time.Second)
		most = min(most, after.Sub(date))
	}
	switch off := distance(least, most); {
	case off == 0:
		d.found("clock", OK, "agrees with DynamoDB's, as far as whole seconds tell")
	case off <= d.ClockSkew:
		d.found("clock", OK, "is %v from DynamoDB's, within the ClockSkew of %v", off.Round(time.Millisecond), d.ClockSkew)
	default:
		d.found("clock", Fail, "is %v from DynamoDB's, and guards allow a ClockSkew of %v. Set this machine's clock before you settle anything", off.Round(time.Millisecond), d.ClockSkew)
	}
}

// distance is how far zero is from an interval.
func distance(least, most time.Duration) time.Duration {
	return max(0, least, -most)
}

// countStuck counts the records that are stuck, by reason.
func countStuck(ctx context.Context, o *Opened, maxUnits float64) (counts map[records.Reason]int, limited bool, err error) {
	counts = make(map[records.Reason]int)
	for record, err := range o.Desk.List(ctx, records.Filter{Stuck: true, MaxUnits: maxUnits}) {
		if _, ended := errors.AsType[*records.LimitError](err); ended {
			return counts, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		counts[record.Stuck]++
	}
	return counts, false, nil
}
