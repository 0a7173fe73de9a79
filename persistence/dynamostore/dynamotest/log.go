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
	Key       string    // the key of the only item it is about, e.g. "id=a#1"; "" if there are several or none
	Time      time.Time // when it arrived

	Applied  bool     // the database carried it out without error, whatever the caller was told
	Status   int      // the HTTP status answered; 0 while under way, and if the connection broke instead
	Code     string   // the error code answered, "" for success
	Capacity Capacity // consumed, also by failed conditions and by requests whose reply was lost
	Faults   []string // the effects of the fault plan that touched it
}

// Requests returns the log, oldest first: every request that reached the server since New or ResetLog.
func (db *DB) Requests() []Request {
	db.mu.Lock()
	defer db.mu.Unlock()
	requests := make([]Request, len(db.log))
	for i, logged := range db.log {
		requests[i] = logged.copied()
	}
	return requests
}

func (r *Request) copied() Request {
	copied := *r
	copied.Tables = slices.Clone(r.Tables)
	copied.Faults = slices.Clone(r.Faults)
	return copied
}

// ResetLog forgets all requests so far; the next one has Index 1. Faults that count requests count anew.
func (db *DB) ResetLog() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.log = nil
}

// Capacity is the capacity consumed by all requests in the log.
func (db *DB) Capacity() Capacity {
	db.mu.Lock()
	defer db.mu.Unlock()
	var total Capacity
	for _, logged := range db.log {
		total = total.Plus(logged.Capacity)
	}
	return total
}
