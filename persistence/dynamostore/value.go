package dynamostore

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// millis rounds up, so that a lease never ends early.
func millis(t time.Time) int64 {
	return t.Add(time.Millisecond - 1).UnixMilli()
}

func (s *schema) seconds(t time.Time) int64 {
	if s.format != nil {
		return s.format.Expiry(t)
	}
	return t.Add(time.Second - 1).Unix()
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// numberOf returns a whole number, rounded down and limited to what a time can
// hold; false for what is no number. DynamoDB's numbers go to 1e125.
func numberOf(v types.AttributeValue) (int64, bool) {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	if whole, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
		return max(-maxTime, min(whole, maxTime)), true
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	if math.IsNaN(f) || err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return int64(max(-maxTime, min(math.Floor(f), maxTime))), true
}

// maxTime keeps times within what time.Time can compare, in either unit.
const maxTime = 1 << 50

// content is the value of a result or a step: readable where it is text.
func content(b []byte) types.AttributeValue {
	if utf8.Valid(b) {
		return text(string(b))
	}
	return &types.AttributeValueMemberB{Value: b}
}

func contentOf(v types.AttributeValue) ([]byte, bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return []byte(v.Value), true
	case *types.AttributeValueMemberB:
		return v.Value, true
	default:
		return nil, false
	}
}

// Values that most requests have are made once.

// currentVersion and firstAttempt are the same in every request: the SDK only reads what it
// sends.
var currentVersion, firstAttempt = number(version), number(1)

// completed is the status of most records that are written a second time.
var completed = text(string(persistence.StatusCompleted))

func statusOf(s persistence.Status) types.AttributeValue {
	if s == persistence.StatusCompleted {
		return completed
	}
	return text(string(s))
}

// counter is the number of an attempt.
func counter(attempt int) types.AttributeValue {
	if attempt == 1 {
		return firstAttempt
	}
	return number(int64(attempt))
}
