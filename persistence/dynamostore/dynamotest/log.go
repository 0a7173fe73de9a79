package dynamotest

import (
	"slices"
	"time"
)

// Request is one request as the log keeps it.
type Request struct {
	Index     int       // 1 for the first request since New or ResetLog
	Operation string    // as in the API: "PutItem"
	Tables    []string  // the tables it names, in the order of the request, each once
	Keys      []string  // the keys of the items it names, in the order of the request, e.g. "id=a#1"; none of a Query
	Time      time.Time // when it arrived

	Applied  bool     // the database carried it out without error, whatever the caller was told
	Status   int      // the HTTP status answered; 0 while under way, and if the connection broke instead
	Code     string   // the error code answered, "" for success
	Capacity Capacity // consumed, also by failed conditions and by requests whose reply was lost
	Faults   []string // the effects of the fault plan that touched it
}

// requestLog is the newest requests and what all of them since the last reset consumed.
type requestLog struct {
	newest   []*Request
	count    int // of all requests, also of those that are no longer kept
	consumed Capacity
}

// logLimit is how many requests the log keeps at least.
const logLimit = 10_000

// add numbers the request and keeps it. Every so often it lets go of what is over the limit.
func (l *requestLog) add(r *Request) {
	l.count++
	r.Index = l.count
	if len(l.newest) == 2*logLimit {
		l.newest = append(make([]*Request, 0, 2*logLimit), l.newest[logLimit:]...)
	}
	l.newest = append(l.newest, r)
}

// Requests returns the log, oldest first: the requests that reached the server since New or ResetLog, of more than
// ten thousand at least the newest ten thousand.
func (db *DB) Requests() []Request {
	db.mu.Lock()
	defer db.mu.Unlock()
	requests := make([]Request, len(db.log.newest))
	for i, logged := range db.log.newest {
		requests[i] = logged.copied()
	}
	return requests
}

func (r *Request) copied() Request {
	copied := *r
	copied.Tables = slices.Clone(r.Tables)
	copied.Keys = slices.Clone(r.Keys)
	copied.Faults = slices.Clone(r.Faults)
	return copied
}

// ResetLog forgets all requests so far; the next one has Index 1. Faults that count requests count anew.
func (db *DB) ResetLog() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.log = requestLog{}
}

// Capacity is the capacity consumed by all requests since New or ResetLog, also by those that the log no longer keeps.
func (db *DB) Capacity() Capacity {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.log.consumed
}
