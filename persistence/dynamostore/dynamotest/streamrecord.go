package dynamotest

import "net/http"

// A record as GetRecords gives it.
type (
	recordDescription struct {
		ID       string          `json:"eventID"`
		Name     string          `json:"eventName"`
		Version  string          `json:"eventVersion"`
		Source   string          `json:"eventSource"`
		Region   string          `json:"awsRegion"`
		Change   recordChange    `json:"dynamodb"`
		Identity *recordIdentity `json:"userIdentity,omitempty"`
	}
	recordChange struct {
		At             epochSeconds `json:"ApproximateCreationDateTime"`
		Keys           wireItem
		NewImage       wireItem `json:",omitempty"`
		OldImage       wireItem `json:",omitempty"`
		SequenceNumber string
		SizeBytes      int
		StreamViewType string
	}
	recordIdentity struct {
		PrincipalID string `json:"PrincipalId"`
		Type        string
	}
)

// byTimeToLive is who removes what has expired.
var byTimeToLive = &recordIdentity{PrincipalID: "dynamodb.amazonaws.com", Type: "Service"}

// describe is the record at that position as its stream's view shows it.
func (s *stream) describe(position int) recordDescription {
	r := s.records[position-s.trimmed]
	d := recordDescription{
		ID:      newID(),
		Name:    "MODIFY",
		Version: "1.1",
		Source:  "aws:dynamodb",
		Region:  Region,
		Change: recordChange{
			At:             epochSeconds(r.at),
			SequenceNumber: sequenceNumber(position),
			StreamViewType: s.view,
		},
	}
	if r.timeToLive {
		d.Identity = byTimeToLive
	}
	keys := s.keys.of(r.after)
	switch {
	case r.before == nil:
		d.Name = "INSERT"
	case r.after == nil:
		d.Name = "REMOVE"
		keys = s.keys.of(r.before)
	}
	d.Change.Keys, d.Change.SizeBytes = keys.wire(), keys.size()
	if s.view == viewNew || s.view == viewBoth {
		d.Change.NewImage = r.after.wire()
		d.Change.SizeBytes += r.after.size()
	}
	if s.view == viewOld || s.view == viewBoth {
		d.Change.OldImage = r.before.wire()
		d.Change.SizeBytes += r.before.size()
	}
	return d
}

func trimmedAccess() error {
	return failure("TrimmedDataAccessException", "The operation attempted to read past the oldest stream record in a shard")
}

func noSuchStream(arn string) error {
	return &apiError{
		status: http.StatusBadRequest, typ: dynamoDBErrors + "ResourceNotFoundException",
		message: "Requested resource not found: Stream: " + arn + " not found",
	}
}
