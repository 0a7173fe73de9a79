package operate

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

// throttles asks CloudWatch how many requests on the table were throttled in the last hour.
func (d *doctor) throttles(ctx context.Context) {
	if d.Special && d.CloudWatch == "" {
		d.found("throttles", Skip, "this endpoint has no CloudWatch")
		return
	}
	writes, err := d.throttled(ctx, "WriteThrottleEvents")
	var reads float64
	if err == nil {
		reads, err = d.throttled(ctx, "ReadThrottleEvents")
	}
	switch {
	case err != nil:
		d.found("throttles", Skip, "cloudwatch:GetMetricStatistics: %v", err)
	case writes+reads > 0:
		d.found("throttles", Warn, "%.0f writes and %.0f reads in the last hour: docs/scale.md says what that does to callers", writes, reads)
	default:
		d.found("throttles", OK, "none in the last hour")
	}
}

// tableName is the table's name, also where an ARN was given.
func (d *doctor) tableName() string {
	if d.table != nil && d.table.TableName != nil {
		return *d.table.TableName
	}
	return d.Name
}

// throttled returns the sum of a metric of the table over the last hour. A table that was not
// throttled has no data.
func (d *doctor) throttled(ctx context.Context, metric string) (sum float64, err error) {
	now := time.Now().UTC()
	form := url.Values{
		"Action": {"GetMetricStatistics"}, "Version": {"2010-08-01"}, "Namespace": {"AWS/DynamoDB"}, "MetricName": {metric},
		"Dimensions.member.1.Name": {"TableName"}, "Dimensions.member.1.Value": {d.tableName()},
		"Statistics.member.1": {"Sum"}, "Period": {"3600"},
		"StartTime": {now.Add(-time.Hour).Format(time.RFC3339)}, "EndTime": {now.Format(time.RFC3339)},
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
	request, err := d.signed(ctx, "monitoring", cmp.Or(d.CloudWatch, d.endpoint("monitoring"))+"/", header, []byte(form.Encode()))
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return 0, err
	}
	var answer struct {
		Code string    `xml:"Error>Code"`
		Sums []float64 `xml:"GetMetricStatisticsResult>Datapoints>member>Sum"`
	}
	if err := xml.Unmarshal(body, &answer); err != nil && response.StatusCode == http.StatusOK {
		return 0, errors.New("its answer is no XML")
	}
	if response.StatusCode != http.StatusOK {
		return 0, errors.New(cmp.Or(answer.Code, response.Status))
	}
	for _, one := range answer.Sums {
		sum += one
	}
	return sum, nil
}
