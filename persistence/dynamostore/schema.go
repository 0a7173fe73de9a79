package dynamostore

import (
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

// schema translates between records and items.
type schema struct {
	attr      Attributes
	compress  bool
	format    *Format              // of others; nil for this package's own
	running   types.AttributeValue // the status of a run under way
	partition types.AttributeValue // of a composite table
	nameOf    map[string]string    // placeholder to attribute name
	ofVacant  map[string]string    // the names in the condition vacant
	shapes    *shapes
}

func newSchema(c Config) schema {
	a := c.Attributes
	s := schema{attr: a, shapes: &shapes{known: make(map[string]*shape)}, compress: c.Compress, format: c.Format, running: text(string(persistence.StatusProcessing)), nameOf: map[string]string{
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
		phVersion:     a.Version,
		phStartedAt:   a.StartedAt,
		phFunction:    a.Function,
		phRequestID:   a.RequestID,
		phEvent:       a.Event,
		phSortKey:     a.SortKey,
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
	i := make(item, 2)
	s.putKey(i, key)
	return i
}

func (s *schema) putKey(i item, key string) {
	if s.partition == nil {
		i[s.attr.Key] = text(key)
		return
	}
	i[s.attr.Key], i[s.attr.SortKey] = s.partition, text(key)
}

// itemSize is about how many attributes a record has; a map that grows is one made twice.
func itemSize(r persistence.Record) int {
	n := 8
	for _, more := range []bool{r.Fingerprint != "", r.Function != "", r.RequestID != "", len(r.Event) > 0} {
		if more {
			n++
		}
	}
	return n
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
	i := make(item, itemSize(r))
	s.putKey(i, r.Key)
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
	i[s.attr.Attempt] = counter(r.Attempt)
	i[s.attr.Version] = currentVersion
	if r.Fingerprint != "" {
		i[s.attr.Fingerprint] = text(r.Fingerprint)
	}
	s.encodeRun(i, r)
	return i
}

// encodeRun puts who runs a record, and with what, into its item. The formats of others have
// no place for it.
func (s *schema) encodeRun(i item, r persistence.Record) {
	if s.format != nil {
		return
	}
	if !r.StartedAt.IsZero() {
		i[s.attr.StartedAt] = number(r.StartedAt.UnixMilli())
	}
	if r.Function != "" {
		i[s.attr.Function] = text(r.Function)
	}
	if r.RequestID != "" {
		i[s.attr.RequestID] = text(r.RequestID)
	}
	if len(r.Event) > 0 {
		i[s.attr.Event] = content(r.Event)
	}
}
