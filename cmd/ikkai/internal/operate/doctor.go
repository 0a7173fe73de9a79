package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// Verdict of a check.
type Verdict string

// The verdicts.
const (
	OK   Verdict = "ok"
	Warn Verdict = "warn" // works, and is not what one would want
	Fail Verdict = "fail" // functions fail, or run twice
	Skip Verdict = "skip" // these credentials may not ask
)

// Finding is what one check has found.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`
}

// Examination is how a table is examined.
type Examination struct {
	// ClockSkew is that of the guards: see idempotent.Config.
	ClockSkew time.Duration
	// MaxUnits bounds the read units that looking for stuck records takes.
	MaxUnits float64
	JSON     bool
	// CloudWatch is its endpoint, where it is not the Region's.
	CloudWatch string
}

// doctor examines a table.
type doctor struct {
	*Opened
	Examination
	table    *types.TableDescription
	findings []Finding
}

// Examine prints a finding a line. The error is an [*Exit] where something fails. Where there is no
// table, or nobody to ask, that is all it says.
func Examine(ctx context.Context, o *Opened, e Examination, stdout io.Writer) error {
	d := &doctor{Opened: o, Examination: e}
	if !d.there(ctx) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return d.tell(stdout)
	}
	for _, check := range []func(context.Context){d.keys, d.ttl, d.protection, d.encryption, d.backups, d.permissions, d.throttles, d.clock, d.stuck} {
		check(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return d.tell(stdout)
}

func (d *doctor) found(check string, verdict Verdict, format string, args ...any) {
	d.findings = append(d.findings, Finding{check, verdict, fmt.Sprintf(format, args...)})
}

// there looks for the table. It tells whether there is more to find out.
func (d *doctor) there(ctx context.Context) bool {
	out, err := d.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &d.Name})
	switch missing := (*types.ResourceNotFoundException)(nil); {
	case err == nil:
		d.table = out.Table
		return true
	case errors.As(err, &missing):
		d.found("table", Fail, "there is no table %s", d.where())
		return false
	case code(err) == "AccessDeniedException":
		d.found("table", Skip, "dynamodb:DescribeTable: %v", code(err))
		return true
	default: // no answer, or no credentials
		d.found("table", Fail, "DynamoDB can't be asked: %v", err)
		return false
	}
}

// keys looks at the table's state and its keys.
func (d *doctor) keys(context.Context) {
	if d.table == nil {
		return
	}
	verdict := OK
	if status := d.table.TableStatus; status != types.TableStatusActive && status != types.TableStatusUpdating {
		verdict = Fail
	}
	d.found("table", verdict, "%s, %s, about %d records, %s", d.where(), d.table.TableStatus, aws.ToInt64(d.table.ItemCount), capacity(d.table))
	partition, sort := d.key()
	want := map[types.KeyType]string{types.KeyTypeHash: partition}
	if sort != "" {
		want[types.KeyTypeRange] = sort
	}
	kinds := make(map[string]types.ScalarAttributeType)
	for _, attribute := range d.table.AttributeDefinitions {
		kinds[aws.ToString(attribute.AttributeName)] = attribute.AttributeType
	}
	right := len(want) == len(d.table.KeySchema)
	for _, key := range d.table.KeySchema {
		name := aws.ToString(key.AttributeName)
		right = right && want[key.KeyType] == name && kinds[name] == types.ScalarAttributeTypeS
	}
	if !right {
		d.found("keys", Fail, "the key schema is not that of the records: %s as partition key and %s as sort key, both strings", partition, orDash(sort))
		return
	}
	d.found("keys", OK, "partition key %s, sort key %s", partition, orDash(sort))
}

func capacity(t *types.TableDescription) string {
	if t.BillingModeSummary != nil && t.BillingModeSummary.BillingMode == types.BillingModePayPerRequest {
		return "on demand"
	}
	if p := t.ProvisionedThroughput; p != nil {
		return fmt.Sprintf("%d write and %d read units a second", aws.ToInt64(p.WriteCapacityUnits), aws.ToInt64(p.ReadCapacityUnits))
	}
	return "capacity not told"
}

func (d *doctor) ttl(ctx context.Context) {
	want := "expire_at"
	if d.Config.Attributes.ExpireAt != "" {
		want = d.Config.Attributes.ExpireAt
	}
	out, err := d.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &d.Name})
	switch {
	case err != nil:
		d.found("ttl", Skip, "dynamodb:DescribeTimeToLive: %v", code(err))
	case out.TimeToLiveDescription == nil, out.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusDisabled,
		out.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusDisabling:
		d.found("ttl", Warn, "off: expired records count as absent, but are stored and paid for ever. Switch it on for %s", want)
	case aws.ToString(out.TimeToLiveDescription.AttributeName) != want:
		d.found("ttl", Fail, "is on for %s, and records expire by %s", aws.ToString(out.TimeToLiveDescription.AttributeName), want)
	default:
		d.found("ttl", OK, "%s for %s", out.TimeToLiveDescription.TimeToLiveStatus, want)
	}
}

func (d *doctor) protection(context.Context) {
	switch {
	case d.table == nil:
	case aws.ToBool(d.table.DeletionProtectionEnabled):
		d.found("deletion protection", OK, "on")
	default:
		d.found("deletion protection", Warn, "off: who deletes the table makes every request of the last day a new one")
	}
}

func (d *doctor) encryption(context.Context) {
	if d.table == nil {
		return
	}
	if sse := d.table.SSEDescription; sse != nil && sse.Status == types.SSEStatusEnabled {
		d.found("encryption", OK, "with a key of KMS")
		return
	}
	d.found("encryption", OK, "with a key that AWS owns; results are readable to who may read the table")
}

func (d *doctor) backups(ctx context.Context) {
	out, err := d.Client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &d.Name})
	switch {
	case err != nil:
		d.found("backups", Skip, "dynamodb:DescribeContinuousBackups: %v", code(err))
	case out.ContinuousBackupsDescription != nil && out.ContinuousBackupsDescription.PointInTimeRecoveryDescription != nil &&
		out.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled:
		d.found("backups", OK, "point-in-time recovery is on; a restored table lacks what was recorded since, and those requests run again")
	default:
		d.found("backups", OK, "point-in-time recovery is off, as it may be: a restored table lacks what was recorded since, and those requests run again")
	}
}

// never holds for no item, so that a write under it changes nothing.
const never = "attribute_exists(#k) AND attribute_not_exists(#k)"

// permissions tries each of the functions' requests, in a form that changes nothing.
func (d *doctor) permissions(ctx context.Context) {
	partition, sort := d.key()
	key := map[string]types.AttributeValue{partition: &types.AttributeValueMemberS{Value: "ikkai-doctor"}}
	if sort != "" {
		key = map[string]types.AttributeValue{partition: &types.AttributeValueMemberS{Value: d.Config.PartitionValue}, sort: &types.AttributeValueMemberS{Value: "ikkai-doctor"}}
	}
	names := map[string]string{"#k": partition}
	for _, try := range []struct {
		action string
		do     func() error
	}{
		{"GetItem", func() error {
			_, err := d.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &d.Name, Key: key})
			return err
		}},
		{"PutItem", func() error {
			_, err := d.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &d.Name, Item: key, ConditionExpression: aws.String(never), ExpressionAttributeNames: names})
			return err
		}},
		{"UpdateItem", func() error {
			_, err := d.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &d.Name, Key: key, ConditionExpression: aws.String(never), ExpressionAttributeNames: names})
			return err
		}},
		{"DeleteItem", func() error {
			_, err := d.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &d.Name, Key: key, ConditionExpression: aws.String(never), ExpressionAttributeNames: names})
			return err
		}},
	} {
		err := try.do()
		failed := (*types.ConditionalCheckFailedException)(nil)
		switch {
		case err == nil && try.action == "GetItem", errors.As(err, &failed):
			d.found("permission dynamodb:"+try.action, OK, "these credentials may")
		case code(err) == "AccessDeniedException":
			d.found("permission dynamodb:"+try.action, Warn, "these credentials may not, of the key ikkai-doctor; functions must, of the keys of their operations")
		default:
			d.found("permission dynamodb:"+try.action, Skip, "%v", code(err))
		}
	}
}

// stuck counts the records that need somebody.
func (d *doctor) stuck(ctx context.Context) {
	counts, limited, err := countStuck(ctx, d.Opened, d.MaxUnits)
	more := ""
	if limited {
		more = ", and not all were looked at (--max-units)"
	}
	switch {
	case err != nil:
		d.found("stuck records", Skip, "%v", code(err))
	case len(counts) == 0:
		d.found("stuck records", OK, "none%s", more)
	default:
		d.found("stuck records", Warn, "%s%s. See: ikkai records list --stuck", byReason(counts), more)
	}
}

func byReason(counts map[records.Reason]int) string {
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s: %d", reason, counts[reason]))
	}
	return strings.Join(all, ", ")
}

// code is the code of an error of AWS, which quotes nothing; or the error.
func code(err error) string {
	if api := (smithy.APIError)(nil); errors.As(err, &api) {
		return api.ErrorCode()
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

func (d *doctor) tell(w io.Writer) error {
	failed := 0
	var rows [][]string
	for _, f := range d.findings {
		if f.Verdict == Fail {
			failed++
		}
		if d.JSON {
			if err := printJSON(w, f); err != nil {
				return err
			}
		}
		rows = append(rows, []string{string(f.Verdict), f.Check, f.Found})
	}
	if !d.JSON {
		if err := columns(w, rows); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &Exit{Unwell, fmt.Errorf("checks that fail: %d", failed)}
	}
	return nil
}
