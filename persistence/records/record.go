package records

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Record is a record as an operator sees it. Its JSON is for scripts: members are added and
// never renamed.
type Record struct {
	// Key of the record.
	Key string `json:"key"`
	// Operation and Tenant are those in the key, where it has them.
	Operation string `json:"operation,omitempty"`
	Tenant    string `json:"tenant,omitempty"`

	// State and Stuck say where the request stands, at ShownAt.
	State   State     `json:"state"`
	Stuck   Reason    `json:"stuck,omitempty"`
	ShownAt time.Time `json:"shown_at"`

	// Status is what the record says.
	Status persistence.Status `json:"status"`
	// Attempt counts the runs so far; 0 is not known.
	Attempt int `json:"attempt,omitempty"`
	// StartedAt, Function and RequestID are those of the last run; zero where not known.
	StartedAt time.Time `json:"started_at,omitzero"`
	Function  string    `json:"function,omitempty"`
	RequestID string    `json:"request_id,omitempty"`
	// Execution is the durable execution that the record belongs to, also while that is
	// suspended; empty for others.
	Execution string `json:"execution,omitempty"`
	// LeaseUntil ends the lease; zero where there is none.
	LeaseUntil time.Time `json:"lease_until,omitzero"`
	// ExpiresAt ends the record; zero for never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// Fingerprint of what must not differ between the tries of the request.
	Fingerprint string `json:"fingerprint,omitempty"`

	// Steps in the order in which they were finished; others before them.
	Steps []Step `json:"steps,omitempty"`
	// Undoing is how far a request that has failed for good has come with undoing its steps;
	// nil for others.
	Undoing *Undoing `json:"undoing,omitempty"`
	// Result of a finished request, and Event that it was called with. Lists have neither.
	Result *Value `json:"result,omitempty"`
	Event  *Value `json:"event,omitempty"`
	// Unreadable says why the record can't be understood, if so: of such a one, only the key
	// is known, and nothing can be done here but to look.
	Unreadable string `json:"unreadable,omitempty"`

	// Version changes whenever owner, status, lease, attempt or steps do.
	Version string `json:"version"`

	stored persistence.Record
}

// Value is something stored, which is not shown until it is asked for ([Desk.Open]).
type Value struct {
	// Size as it is stored, in bytes.
	Size int `json:"size"`
	// Form of the envelope, if it is in one: "sealed/1" is a ciphertext.
	Form string `json:"form,omitempty"`
	// Omitted says that there was a value that could not be stored.
	Omitted bool `json:"omitted,omitempty"`
	// Content; nil where it is not opened.
	Content []byte `json:"content,omitempty"`
}

// view is what an operator sees of a stored record.
func (c Config) view(r persistence.Record, now time.Time) Record {
	v := Record{
		Key: r.Key, Status: r.Status, Attempt: r.Attempt,
		Execution: r.Execution(), StartedAt: r.StartedAt, Function: r.Function, RequestID: r.RequestID,
		LeaseUntil: r.LeaseUntil, ExpiresAt: r.ExpiresAt, Fingerprint: r.Fingerprint,
		ShownAt: now, Version: versionOf(r), stored: r,
	}
	v.Operation, v.Tenant = partsOf(r.Key)
	v.Steps, v.Undoing = stepsOf(r)
	v.State = c.stateOf(r, now)
	v.Stuck = c.reasonOf(v, now)
	return v
}

// unreadable is what is seen of a record that can't be understood.
func (c Config) unreadable(u storekit.Unreadable, now time.Time) Record {
	v := Record{Key: u.Key, State: StateUnreadable, Stuck: StuckUnreadable, ShownAt: now, Unreadable: u.Err.Error()}
	v.Operation, v.Tenant = partsOf(u.Key)
	return v
}

// partsOf takes a key apart: operation#request, or operation#@tenant#request.
func partsOf(key string) (operation, tenant string) {
	operation, request, ok := strings.Cut(key, "#")
	if !ok {
		return "", ""
	}
	if name, isTenants := strings.CutPrefix(request, "@"); isTenants {
		tenant, _, _ = strings.Cut(name, "#")
	}
	return operation, tenant
}

func versionOf(r persistence.Record) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %d", r.Owner, r.Status, r.LeaseUntil.UnixMilli(), r.Attempt)
	if r.Owner == "" { // of another toolkit, whose runs differ in their expiry, if in anything
		fmt.Fprintf(h, " %d", r.ExpiresAt.Unix())
	}
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		fmt.Fprintf(h, " %q", name)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func valueOf(stored []byte) *Value {
	form, _, _ := storekit.OpenEnvelope(stored)
	return &Value{Size: len(stored), Form: form}
}
