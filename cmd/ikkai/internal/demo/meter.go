package demo

import (
	"net/http"
	"sync"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// meters serve one database to several environments and tell whose request is
// whose, which the database's own log does not.
type meters struct {
	db   *dynamotest.DB
	turn sync.Mutex // one request at a time, so that the log grows by its own entry
}

// meter is one environment's entrance to the database.
type meter struct {
	*meters
	taken []dynamotest.Request
}

// ServeHTTP implements [http.Handler].
func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.turn.Lock()
	defer m.turn.Unlock()
	known := len(m.db.Requests())
	m.db.ServeHTTP(w, r)
	m.taken = append(m.taken, m.db.Requests()[known:]...)
}

// take returns the requests since it was last called.
func (m *meter) take() []dynamotest.Request {
	m.turn.Lock()
	defer m.turn.Unlock()
	taken := m.taken
	m.taken = nil
	return taken
}
