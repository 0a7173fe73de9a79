package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// fields are the hash that keeps a record; nil is none.
type fields map[string]string

// The names of the fields. The scripts have them, too.
const (
	fieldStatus      = "status"
	fieldOwner       = "owner"
	fieldLeaseUntil  = "lease_until"
	fieldExpireAt    = "expire_at"
	fieldFingerprint = "fingerprint"
	fieldResult      = "result"
	fieldEncoding    = "result_encoding"
	fieldAttempt     = "attempt"
	fieldVersion     = "version"
	fieldStartedAt   = "started_at"
	fieldFunction    = "function"
	fieldRequestID   = "request_id"
	fieldEvent       = "event"
	fieldStep        = "step:" // and then the name of the step
)

const (
	// version of the record's format.
	version = "1"
	// encodingOmitted marks a result that could not be stored.
	encodingOmitted = "omitted"
)

// encode returns names and values of the fields of a PROCESSING record, but for its
// steps.
func encode(r persistence.Record) []any {
	pairs := []any{
		fieldStatus, string(r.Status),
		fieldOwner, r.Owner,
		fieldLeaseUntil, millis(r.LeaseUntil),
		fieldExpireAt, seconds(r.ExpiresAt),
		fieldAttempt, r.Attempt,
		fieldVersion, version,
	}
	if r.Fingerprint != "" {
		pairs = append(pairs, fieldFingerprint, r.Fingerprint)
	}
	return append(pairs, encodeRun(r)...)
}

// encodeRun returns names and values of what a record says of its run. One that takes a record
// over says it all, so that nothing is left of the run before.
func encodeRun(r persistence.Record) (pairs []any) {
	if !r.StartedAt.IsZero() {
		pairs = append(pairs, fieldStartedAt, r.StartedAt.UnixMilli())
	}
	for _, field := range []struct{ name, value string }{{fieldFunction, r.Function}, {fieldRequestID, r.RequestID}} {
		if field.value != "" || r.TookOver != "" && !r.StartedAt.IsZero() {
			pairs = append(pairs, field.name, field.value)
		}
	}
	if len(r.Event) > 0 {
		pairs = append(pairs, fieldEvent, r.Event)
	}
	return pairs
}

// encodeOutcome returns names and values of the fields that an outcome changes.
func encodeOutcome(o persistence.Outcome) []any {
	pairs := []any{fieldStatus, string(o.Status)}
	if o.ResultOmitted {
		pairs = append(pairs, fieldEncoding, encodingOmitted)
	} else {
		pairs = append(pairs, fieldResult, o.Result)
	}
	if !o.ExpiresAt.IsZero() {
		pairs = append(pairs, fieldExpireAt, seconds(o.ExpiresAt))
	}
	return pairs
}

// decode returns the record of a key. What it can't understand, and what another
// format may mean, is refused: a guess could run an operation twice.
func decode(key string, f fields) (persistence.Record, error) {
	unreadable := func(format string, args ...any) (persistence.Record, error) {
		return persistence.Record{}, fmt.Errorf("%w: %s %s", persistence.ErrUnreadable, key, fmt.Sprintf(format, args...))
	}
	if v := f[fieldVersion]; v != version {
		return unreadable("has format %q, this library knows %s", v, version)
	}
	r := persistence.Record{
		Key:         key,
		Status:      persistence.Status(f[fieldStatus]),
		Owner:       f[fieldOwner],
		Fingerprint: f[fieldFingerprint],
		Run:         persistence.Run{Function: f[fieldFunction], RequestID: f[fieldRequestID]},
	}
	if event, kept := f[fieldEvent]; kept {
		r.Event = []byte(event)
	}
	for _, number := range []struct {
		name string
		set  func(int64)
	}{
		{fieldLeaseUntil, func(ms int64) { r.LeaseUntil = time.UnixMilli(ms) }},
		{fieldExpireAt, func(sec int64) { r.ExpiresAt = time.Unix(sec, 0) }},
		{fieldAttempt, func(n int64) { r.Attempt = int(n) }},
		{fieldStartedAt, func(ms int64) { r.StartedAt = time.UnixMilli(ms) }},
	} {
		digits, exists := f[number.name]
		if !exists {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return unreadable("has %q as %s", digits, number.name)
		}
		number.set(n)
	}
	result, hasResult := f[fieldResult]
	encoding := f[fieldEncoding]
	switch {
	case r.Status == persistence.StatusProcessing, r.Status == persistence.StatusPartial:
	case !r.Status.Finished():
		return unreadable("has the status %q", r.Status)
	case encoding == encodingOmitted:
		r.ResultOmitted = true
	case encoding != "":
		return unreadable("has a result with the encoding %q", encoding)
	case !hasResult:
		return unreadable("is %s without a result", r.Status)
	default:
		r.Result = []byte(result)
	}
	r.Steps = f.steps()
	return r, nil
}

func (f fields) steps() map[string][]byte {
	var steps map[string][]byte
	for name, output := range f {
		if step, ok := strings.CutPrefix(name, fieldStep); ok {
			if steps == nil {
				steps = make(map[string][]byte)
			}
			steps[step] = []byte(output)
		}
	}
	return steps
}

// millis and seconds round up, so that a lease or a record never ends early.
func millis(t time.Time) int64 {
	return t.Add(time.Millisecond - 1).UnixMilli()
}

func seconds(t time.Time) int64 {
	return t.Add(time.Second - 1).Unix()
}

// sweep is when the server may remove a record that expires at a time, in epoch
// milliseconds: the last second still belongs to the record. No lease is live
// then, since it ends before its record expires.
func sweep(expires time.Time, grace time.Duration) int64 {
	return (seconds(expires)+1)*1000 + grace.Milliseconds()
}
