package dynamotest

import (
	"errors"
	"sync"
	"time"
)

// DB is an embedded DynamoDB: a set of tables in memory, served over DynamoDB's own protocol. It is an http.Handler and an
// http.RoundTripper. It is safe for concurrent use. Requests are applied one at a time, each as a whole.
type DB struct {
	now   func() time.Time
	share float64 // of what partitions bear on AWS; 0 is without limits

	mu      sync.Mutex
	tables  map[string]*table
	streams []*stream // of the tables there are, and were within a day
	tokens  tokens
	log     requestLog
	faults  []*rule
	servers []func() error // what ends them
}

// TB is what New needs of a test, benchmark or fuzz test: testing.TB has it. (This package is also linked into programs,
// which the testing package has no place in.)
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// Option is a way in which a database differs from the usual one.
type Option func(*DB)

// WithClock has the database read the time from now instead of time.Now. The clock dates tables and log entries, ends
// client request tokens after ten minutes, and refills the capacity of WithThroughputLimits. Delays of the fault plan run
// on timers. Inside a testing/synctest bubble time.Now is virtual already, and no option is needed.
func WithClock(now func() time.Time) Option {
	return func(db *DB) { db.now = now }
}

// New returns an empty database for a test, at the end of which it is closed.
func New(t TB, options ...Option) *DB {
	t.Helper()
	db := Open(options...)
	t.Cleanup(func() {
		t.Helper()
		if err := db.Close(); err != nil {
			t.Errorf("closing the embedded DynamoDB: %v", err)
		}
	})
	return db
}

// Open returns an empty database for a program. Close it if it has been served.
func Open(options ...Option) *DB {
	db := &DB{now: time.Now, tables: make(map[string]*table)}
	for _, option := range options {
		option(db)
	}
	return db
}

// Close ends what Serve has begun, breaking what is under way, and returns when its goroutines have ended. Tables, log and
// clients in this process are as good afterwards as before.
func (db *DB) Close() error {
	db.mu.Lock()
	servers := db.servers
	db.servers = nil
	db.mu.Unlock()
	var errs []error
	for _, end := range servers {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// input is a decoded request.
type input interface {
	// subjects are the tables the request names, as far as it names any.
	subjects() []string
	// apply carries the request out, all or nothing, and returns the reply. The database is locked meanwhile.
	apply(c *call) (reply any, err error)
}

// call is one request being applied.
type call struct {
	*DB
	at       time.Time
	consumed consumption
	// unlimited lets a call of the test itself through, whatever the limits.
	unlimited bool
}

// operations makes an empty input for every operation served.
var operations = map[string]func() input{
	"BatchGetItem":       func() input { return new(batchGetInput) },
	"BatchWriteItem":     func() input { return new(batchWriteInput) },
	"CreateTable":        func() input { return new(createTableInput) },
	"DeleteItem":         func() input { return new(deleteItemInput) },
	"DeleteTable":        func() input { return new(deleteTableInput) },
	"DescribeTable":      func() input { return new(describeTableInput) },
	"DescribeTimeToLive": func() input { return new(describeTTLInput) },
	"GetItem":            func() input { return new(getItemInput) },
	"ListTables":         func() input { return new(listTablesInput) },
	"ListTagsOfResource": func() input { return new(listTagsInput) },
	"PutItem":            func() input { return new(putItemInput) },
	"Query":              func() input { return new(queryInput) },
	"Scan":               func() input { return new(scanInput) },
	"TagResource":        func() input { return new(tagResourceInput) },
	"TransactGetItems":   func() input { return new(transactGetInput) },
	"TransactWriteItems": func() input { return new(transactWriteInput) },
	"UntagResource":      func() input { return new(untagResourceInput) },
	"UpdateItem":         func() input { return new(updateItemInput) },
	"UpdateTable":        func() input { return new(updateTableInput) },
	"UpdateTimeToLive":   func() input { return new(updateTTLInput) },
}
