package dynamostore

import (
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
)

// decodeRun is lenient: nothing is decided by what it reads.
func (s *schema) decodeRun(i item) (run persistence.Run, event []byte) {
	if ms, ok := numberOf(i[s.attr.StartedAt]); ok && s.format == nil {
		run.StartedAt = time.UnixMilli(ms)
	}
	run.Function, run.RequestID = textOf(i[s.attr.Function]), textOf(i[s.attr.RequestID])
	event, _ = contentOf(i[s.attr.Event])
	return run, event
}

// keyOf returns the key of the record of an item.
func (s *schema) keyOf(i item) string {
	if s.partition != nil {
		return textOf(i[s.attr.SortKey])
	}
	return textOf(i[s.attr.Key])
}

// decode returns the record of an item, whoever wrote it. What it can't
// understand, and what a newer format may mean, is refused: a guess could run an
// operation twice.
func (s *schema) decode(i item) (persistence.Record, error) {
	r, err := s.outline(i)
	if err != nil || !r.Status.Finished() {
		return r, err
	}
	if r.Result, r.ResultOmitted, err = s.result(i); err != nil {
		return r, fmt.Errorf("%w: %s: %w", persistence.ErrUnreadable, r.Key, err)
	}
	return r, nil
}

// outline is decode without the result.
func (s *schema) outline(i item) (persistence.Record, error) {
	r := persistence.Record{
		Key:         s.keyOf(i),
		Status:      s.status(i),
		Owner:       s.owner(i),
		Fingerprint: textOf(i[s.attr.Fingerprint]),
		Attempt:     s.attempt(i),
	}
	if v, written := numberOf(i[s.attr.Version]); written && v > version {
		return r, fmt.Errorf("%w: %s has format %d, this library knows %d", persistence.ErrUnreadable, r.Key, v, version)
	}
	times := s.times(i)
	r.LeaseUntil, r.ExpiresAt = times.LeaseUntil, times.ExpiresAt
	switch r.Status {
	case persistence.StatusProcessing, persistence.StatusPartial:
	case persistence.StatusCompleted, persistence.StatusFailed:
		r.ResultOmitted = textOf(i[s.attr.ResultEncoding]) == encodingOmitted
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
	r.Run, r.Event = s.decodeRun(i)
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
