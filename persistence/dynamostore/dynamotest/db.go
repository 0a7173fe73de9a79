package dynamotest

import (
	"sync"
	"time"
)

// DB is an embedded DynamoDB: a set of tables in memory, served over DynamoDB's own protocol. It is safe for
// concurrent use. Requests are applied one at a time, each as a whole.
type DB struct {
	now func() time.Time

	mu     sync.Mutex
	tables map[string]*table
	tokens tokens
	log    requestLog
	faults []*rule
}

// New returns an empty database that reads the time from time.Now.
func New() *DB { return NewAt(time.Now) }

// NewAt returns an empty database with its own clock. The clock dates tables, log entries and client request
// tokens; delays of the fault plan run on timers.
func NewAt(now func() time.Time) *DB {
	return &DB{
		now:    now,
		tables: make(map[string]*table),
	}
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
	key      string // for the log
	consumed consumption
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
