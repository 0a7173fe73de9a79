package dynamotest

import (
	"fmt"
	"time"
)

type (
	timeToLiveSpecification struct {
		AttributeName *string
		Enabled       *bool
	}
	updateTTLInput struct {
		Table         *string                  `json:"TableName"`
		Specification *timeToLiveSpecification `json:"TimeToLiveSpecification"`
	}
	describeTTLInput struct {
		Table *string `json:"TableName"`
	}
	timeToLiveDescription struct {
		AttributeName    string `json:",omitempty"`
		TimeToLiveStatus string
	}
)

func (in *updateTTLInput) subjects() []string   { return nonNil(in.Table) }
func (in *describeTTLInput) subjects() []string { return nonNil(in.Table) }

func (in *updateTTLInput) apply(c *call) (any, error) {
	if in.Table == nil {
		return nil, errNoTableName
	}
	var faults constraints
	const member = "timeToLiveSpecification"
	faults.addIf(in.Specification == nil, "null", member, "Member must not be null")
	if s := in.Specification; s != nil {
		faults.addIf(s.AttributeName == nil, "null", member+".attributeName", "Member must not be null")
		faults.addIf(s.AttributeName != nil && *s.AttributeName == "", "''", member+".attributeName", "Member must have length greater than or equal to 1")
		faults.addIf(s.Enabled == nil, "null", member+".enabled", "Member must not be null")
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	t, err := c.described(in.Table)
	if err != nil {
		return nil, err
	}
	name, enable := *in.Specification.AttributeName, *in.Specification.Enabled
	switch {
	case enable && t.ttl != "":
		return nil, invalid("TimeToLive is already enabled")
	case !enable && t.ttl == "":
		return nil, invalid("TimeToLive is already disabled")
	case !enable && t.ttl != name:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.ttl)
	case enable:
		t.ttl = name
	default:
		t.ttl = ""
	}
	return map[string]*timeToLiveSpecification{"TimeToLiveSpecification": in.Specification}, nil
}

func (in *describeTTLInput) apply(c *call) (any, error) {
	t, err := c.described(in.Table)
	if err != nil {
		return nil, err
	}
	description := timeToLiveDescription{AttributeName: t.ttl, TimeToLiveStatus: "ENABLED"}
	if t.ttl == "" {
		description.TimeToLiveStatus = "DISABLED"
	}
	return map[string]timeToLiveDescription{"TimeToLiveDescription": description}, nil
}

// maxOverdue is how long past its time an item may be and still be removed by TTL; one that is further past is taken
// for a mistake and kept ("How it works: DynamoDB Time to Live").
const maxOverdue = 5 * 365 * 24 * time.Hour

// RemoveExpired deletes the items whose TTL attribute, a number of epoch seconds, is before now, in all tables with TTL
// enabled, and returns how many there were. Nothing else ever deletes them: DynamoDB may take days.
func (db *DB) RemoveExpired(now time.Time) int {
	db.mu.Lock()
	defer db.mu.Unlock()
	removed := 0
	for _, t := range db.tables {
		if t.ttl == "" {
			continue
		}
		var expired []item
		for r := range t.items.within(everywhere, false) {
			if t.expired(r.item, now) {
				expired = append(expired, r.item)
			}
		}
		for _, i := range expired {
			t.expire(i)
		}
		removed += len(expired)
	}
	return removed
}

func (t *table) expired(i item, now time.Time) bool {
	at, ok := i[t.ttl]
	if !ok || at.kind != kindNumber {
		return false
	}
	return at.number.compare(secondsOf(now)) < 0 && at.number.compare(secondsOf(now.Add(-maxOverdue))) >= 0
}

// secondsOf is the time in whole epoch seconds.
func secondsOf(t time.Time) number {
	n, err := parseNumber(fmt.Sprint(t.Unix()))
	if err != nil {
		panic(err) // an int64 always fits
	}
	return n
}
