package dynamostore

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

const (
	// version of the record's format.
	version = 1
	// encodingOmitted marks a result that could not be stored.
	encodingOmitted = "omitted"
	// inProgress is what Powertools writes for PROCESSING.
	inProgress = "INPROGRESS"
)

// Values that are the same in every request. The SDK only reads what it sends.
var (
	currentVersion = number(version)
)

// schema translates between records and items.
type schema struct {
	attr      Attributes
	compress  bool
	format    *Format              // of others; nil for this package's own
	running   types.AttributeValue // the status of a run under way
	partition types.AttributeValue // of a composite table
	nameOf    map[string]string    // placeholder to attribute name
	ofVacant  map[string]string    // the names in the condition vacant
}

func newSchema(c Config) schema {
	a := c.Attributes
	s := schema{attr: a, compress: c.Compress, format: c.Format, running: text(string(persistence.StatusProcessing)), nameOf: map[string]string{
		phKey:         a.Key,
		phStatus:      a.Status,
		phOwner:       a.Owner,
		phLease:       a.LeaseUntil,
		phExpire:      a.ExpireAt,
		phFingerprint: a.Fingerprint,
		phResult:      a.Result,
		phEncoding:    a.ResultEncoding,
		phSteps:       a.Steps,
		phAttempt:     a.Attempt,
	}}
	s.ofVacant = s.names(phKey, phExpire, phLease)
	if c.Format != nil {
		s.running = text(c.Format.InProgress)
		s.nameOf[phSettledBy] = c.Format.SettledBy
	}
	if a.SortKey != "" {
		s.partition = text(c.PartitionValue)
	}
	return s
}

// names returns the ExpressionAttributeNames of some placeholders. DynamoDB
// refuses names that an expression does not use.
func (s *schema) names(placeholders ...string) map[string]string {
	names := make(map[string]string, len(placeholders)+1)
	for _, p := range placeholders {
		names[p] = s.nameOf[p]
	}
	return names
}

// key returns the primary key of a record.
func (s *schema) key(key string) item {
	if s.partition == nil {
		return item{s.attr.Key: text(key)}
	}
	return item{s.attr.Key: s.partition, s.attr.SortKey: text(key)}
}

func (s *schema) maxKey() int {
	if s.partition == nil {
		return maxPartitionKey
	}
	return maxSortKey
}

// encode returns the item of a record without steps; content is that of a finished
// one.
func (s *schema) encode(r persistence.Record, content stored) item {
	i := s.key(r.Key)
	i[s.attr.Owner] = text(r.Owner)
	if r.Status == persistence.StatusProcessing {
		i[s.attr.Status] = s.running
		i[s.attr.LeaseUntil] = number(millis(r.LeaseUntil))
	} else {
		i[s.attr.Status] = text(string(r.Status))
		if s.format != nil {
			i[s.format.SettledBy] = text(r.Owner)
		}
	}
	if content.encoding != "" {
		i[s.attr.ResultEncoding] = text(content.encoding)
	}
	if content.result != nil {
		i[s.attr.Result] = content.result
	}
	if !r.ExpiresAt.IsZero() {
		i[s.attr.ExpireAt] = number(s.seconds(r.ExpiresAt))
	}
	i[s.attr.Attempt] = number(int64(r.Attempt))
	i[s.attr.Version] = currentVersion
	if r.Fingerprint != "" {
		i[s.attr.Fingerprint] = text(r.Fingerprint)
	}
	return i
}

// decode returns the record of an item, whoever wrote it. What it can't
// understand, and what a newer format may mean, is refused: a guess could run an
// operation twice.
func (s *schema) decode(i item) (persistence.Record, error) {
	r := persistence.Record{
		Status:      s.status(i),
		Owner:       s.owner(i),
		Fingerprint: textOf(i[s.attr.Fingerprint]),
		Attempt:     s.attempt(i),
	}
	if r.Key = textOf(i[s.attr.Key]); s.partition != nil {
		r.Key = textOf(i[s.attr.SortKey])
	}
	if v, written := numberOf(i[s.attr.Version]); written && v > version {
		return r, fmt.Errorf("%w: %s has format %d, this library knows %d", persistence.ErrUnreadable, r.Key, v, version)
	}
	times := s.times(i)
	r.LeaseUntil, r.ExpiresAt = times.LeaseUntil, times.ExpiresAt
	switch r.Status {
	case persistence.StatusProcessing, persistence.StatusPartial:
	case persistence.StatusCompleted, persistence.StatusFailed:
		var err error
		if r.Result, r.ResultOmitted, err = s.result(i); err != nil {
			return r, fmt.Errorf("%w: %s: %w", persistence.ErrUnreadable, r.Key, err)
		}
	default:
		return r, fmt.Errorf("%w: %s has the status %q", persistence.ErrUnreadable, r.Key, r.Status)
	}
	if fingerprint, exists := i[s.attr.Fingerprint]; exists && r.Fingerprint == "" {
		return r, fmt.Errorf("%w: %s: the fingerprint is a %T", persistence.ErrUnreadable, r.Key, fingerprint)
	}
	steps, err := s.steps(i)
	if err != nil {
		return r, fmt.Errorf("%w: %s: %w", persistence.ErrUnreadable, r.Key, err)
	}
	r.Steps = steps
	return r, nil
}

func (s *schema) owner(i item) string { return textOf(i[s.attr.Owner]) }

func (s *schema) status(i item) persistence.Status {
	switch status := textOf(i[s.attr.Status]); status {
	case inProgress, textOf(s.running):
		return persistence.StatusProcessing
	default:
		return persistence.Status(status)
	}
}

// isOf tells whether an item is the PROCESSING record of a lease.
func (s *schema) isOf(i item, l persistence.Lease) bool {
	return s.owner(i) == l.Owner && s.status(i) == persistence.StatusProcessing
}

// settledBy tells whether an owner has finished the record of an item.
func (s *schema) settledBy(i item, owner string) bool {
	if !s.status(i).Finished() {
		return false
	}
	if s.format != nil {
		return textOf(i[s.format.SettledBy]) == owner
	}
	return s.owner(i) == owner
}

// times returns the record of an item with nothing but its lease and its expiry.
func (s *schema) times(i item) (r persistence.Record) {
	if ms, ok := numberOf(i[s.attr.LeaseUntil]); ok {
		r.LeaseUntil = time.UnixMilli(ms)
	}
	if sec, ok := numberOf(i[s.attr.ExpireAt]); ok {
		r.ExpiresAt = time.Unix(sec, 0)
	}
	return r
}

// renews tells whether a renewal changes anything about the owner's item.
func (s *schema) renews(l persistence.Lease, i item) bool {
	there := s.times(i)
	then := l.Renewed(there)
	return !then.LeaseUntil.Equal(there.LeaseUntil) || !then.ExpiresAt.Equal(there.ExpiresAt)
}

// movesOn tells whether a renewal's own condition holds for an item: see update.renew.
func (s *schema) movesOn(l persistence.Lease, seen, found item) bool {
	if l.Until.IsZero() {
		return true
	}
	there := s.times(found)
	if seen != nil {
		before := s.times(seen)
		return there.LeaseUntil.Equal(before.LeaseUntil) && there.ExpiresAt.Equal(before.ExpiresAt)
	}
	until, expiresAt := l.Renewal()
	return !there.LeaseUntil.IsZero() && !there.LeaseUntil.After(until) &&
		!there.ExpiresAt.IsZero() && there.ExpiresAt.Unix() <= s.seconds(expiresAt)
}

// attempt returns the acquisitions of an item's record so far. Others don't count
// theirs.
func (s *schema) attempt(i item) int {
	n, counted := numberOf(i[s.attr.Attempt])
	if !counted && s.format != nil {
		return 1
	}
	return int(max(0, min(n, math.MaxInt32)))
}

func (s *schema) result(i item) (result []byte, omitted bool, err error) {
	encoding := textOf(i[s.attr.ResultEncoding])
	_, encoded := i[s.attr.ResultEncoding]
	switch {
	case !encoded, encoding == encodingGzip:
	case encoding == encodingOmitted:
		return nil, true, nil
	default: // also one that is no text
		return nil, false, fmt.Errorf("the result has the encoding %q", encoding)
	}
	value, exists := i[s.attr.Result]
	if s.format != nil {
		result, err = s.format.Decode(value)
		return result, false, err
	}
	if !exists {
		return nil, true, nil
	}
	result, ok := contentOf(value)
	if !ok {
		return nil, false, fmt.Errorf("the result is a %T", value)
	}
	if encoding == encodingGzip {
		result, err = expand(result)
	}
	return result, false, err
}

func (s *schema) hasSteps(i item) bool {
	_, exists := i[s.attr.Steps]
	return exists
}

func (s *schema) hasStep(i item, name string) bool {
	steps, ok := i[s.attr.Steps].(*types.AttributeValueMemberM)
	if !ok {
		return false
	}
	_, exists := steps.Value[name]
	return exists
}

// hasOther tells whether an item has a step with another output.
func (s *schema) hasOther(i item, name string, output []byte) bool {
	if !s.hasStep(i, name) {
		return false
	}
	there, ok := contentOf(i[s.attr.Steps].(*types.AttributeValueMemberM).Value[name])
	return !ok || !bytes.Equal(there, output)
}

// records tells whether a finished item says what an outcome says, in the form that it
// would be kept in.
func (s *schema) records(i item, o persistence.Outcome, finished stored) bool {
	return s.status(i) == o.Status &&
		textOf(i[s.attr.ResultEncoding]) == finished.encoding &&
		reflect.DeepEqual(i[s.attr.Result], finished.result)
}

func (s *schema) steps(i item) (map[string][]byte, error) {
	stored, exists := i[s.attr.Steps]
	if !exists {
		return nil, nil
	}
	m, ok := stored.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("the steps are a %T", stored)
	}
	steps := make(map[string][]byte, len(m.Value))
	for name, value := range m.Value {
		if steps[name], ok = contentOf(value); !ok {
			return nil, fmt.Errorf("the step %q is a %T", name, value)
		}
	}
	return steps, nil
}

// size is how large a record's item is for DynamoDB, in bytes, with its result as
// it is: the lengths of names and values, with the rules of the developer guide
// ("DynamoDB item sizes and formats"). An attempt that is not known, as to who
// completes, counts as one of two digits at most.
func (s *schema) size(r persistence.Record) int {
	n := len(s.attr.Key) + len(r.Key) +
		len(s.attr.Status) + len(r.Status) +
		len(s.attr.Owner) + len(r.Owner) +
		len(s.attr.Attempt) + sizeOf(int64(max(r.Attempt, 1))) +
		len(s.attr.Version) + sizeOf(version)
	if partition, composite := s.partition.(*types.AttributeValueMemberS); composite {
		n += len(s.attr.SortKey) + len(partition.Value)
	}
	if !r.Status.Finished() || !r.ExpiresAt.IsZero() {
		n += len(s.attr.ExpireAt) + sizeOf(s.seconds(r.ExpiresAt))
	}
	if r.Status == persistence.StatusProcessing {
		n += len(s.attr.LeaseUntil) + sizeOf(millis(r.LeaseUntil))
	} else if s.format != nil {
		n += len(s.attr.LeaseUntil) + sizeOf(math.MaxInt64) + len(s.format.SettledBy) + len(r.Owner)
	}
	if r.Fingerprint != "" {
		n += len(s.attr.Fingerprint) + len(r.Fingerprint)
	}
	switch {
	case r.ResultOmitted:
		n += len(s.attr.ResultEncoding) + len(encodingOmitted)
	case r.Status.Finished():
		n += len(s.attr.Result) + len(r.Result)
	}
	if len(r.Steps) > 0 {
		n += s.sizeOfNoSteps()
		for name, output := range r.Steps {
			n += len(name) + len(output) + persistence.StepOverhead
		}
	}
	return n
}

// sizeOfNoSteps is what the steps take besides each of them.
func (s *schema) sizeOfNoSteps() int { return len(s.attr.Steps) + sizeOfCollection }

// sizeOf is the size of a whole number: a byte for each pair of digits, without
// the pairs of zeros at its end, one more, and another for a minus.
func sizeOf(n int64) int {
	size := 1
	if n < 0 {
		size++
		n = -n
	}
	for n != 0 && n%100 == 0 {
		n /= 100
	}
	for ; n > 0; n /= 100 {
		size++
	}
	return size
}

// millis and seconds round up, so that a lease or a record never ends early; seconds
// as a format of others has it.
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
