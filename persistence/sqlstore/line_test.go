package sqlstore_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/ikkai-go/idempotency/internal/proof/lincheck"
)

// loss is what happens to a request on its way.
type loss int

const (
	nothing loss = iota
	request      // it does not arrive, and the connection breaks
	reply        // it is carried out, and the connection breaks before the answer
	late         // the connection breaks, and it is carried out on its arrival
)

// line is the way to a database, on which requests and replies get lost. It also keeps
// a log of the requests. Safe for concurrent use; a nil line loses nothing.
type line struct {
	// lose is asked about each request, with its number, from 1. Nil loses nothing.
	lose func(number int, what string) loss
	// broken is the error of what is lost. Defaults to errBroken.
	broken error
	// arrival of the requests that are late.
	arrival  chan struct{}
	underWay sync.WaitGroup

	mu  sync.Mutex
	log []string
}

// errBroken is what a connection says that is gone, in no driver's words.
var errBroken = errors.New("connection reset by peer")

// requests returns what was asked since the last call.
func (l *line) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.log
	l.log = nil
	return log
}

func (l *line) to(way driver.Connector) driver.Connector {
	if l == nil {
		return way
	}
	return wire{way, l}
}

// pass notes a request, and says what becomes of it.
func (l *line) pass(ctx context.Context, what string) loss {
	runtime.Gosched()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, what)
	if l.lose == nil {
		return nothing
	}
	lost := l.lose(len(l.log), what)
	if lost != nothing {
		lincheck.Unanswered(ctx)
	}
	return lost
}

type wire struct {
	driver.Connector
	line *line
}

func (w wire) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, line: w.line}, nil
}

// connection is one that may break. Then nothing goes through it any more, and the
// server rolls back what was not committed.
type connection struct {
	driver.Conn
	line   *line
	broken bool
}

var (
	_ driver.ConnBeginTx       = (*connection)(nil)
	_ driver.ExecerContext     = (*connection)(nil)
	_ driver.QueryerContext    = (*connection)(nil)
	_ driver.NamedValueChecker = (*connection)(nil)
	_ driver.Validator         = (*connection)(nil)
	_ driver.SessionResetter   = (*connection)(nil)
)

// send sends a request and returns its error, or the connection's.
func (c *connection) send(ctx context.Context, what string, do func() error) error {
	if c.broken {
		return driver.ErrBadConn
	}
	lost := c.line.pass(ctx, what)
	switch lost {
	case nothing:
		return do()
	case request:
		c.Conn.Close()
	case reply:
		do()
		c.Conn.Close()
	case late:
		c.line.underWay.Go(func() {
			<-c.line.arrival
			do()
			c.Conn.Close()
		})
	}
	c.broken = true
	if c.line.broken != nil {
		return c.line.broken
	}
	return errBroken
}

func (c *connection) BeginTx(ctx context.Context, opts driver.TxOptions) (begun driver.Tx, err error) {
	err = c.send(ctx, "BEGIN", func() (err error) {
		begun, err = c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
		return err
	})
	return transaction{ctx, begun, c}, err
}

func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (done driver.Result, err error) {
	err = c.send(ctx, query, func() (err error) {
		done, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return done, err
}

func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.send(ctx, query, func() (err error) {
		found, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		if err != nil {
			return err
		}
		rows, err = all(found)
		return err
	})
	return rows, err
}

// CheckNamedValue leaves values to the driver, if it has an opinion of them.
func (c *connection) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *connection) IsValid() bool { return !c.broken }

func (c *connection) ResetSession(ctx context.Context) error {
	if resetter, ok := c.Conn.(driver.SessionResetter); ok && !c.broken {
		return resetter.ResetSession(ctx)
	}
	return nil
}

func (c *connection) Close() error {
	if c.broken {
		return nil
	}
	return c.Conn.Close()
}

type transaction struct {
	ctx context.Context
	driver.Tx
	on *connection
}

func (t transaction) Commit() error   { return t.on.send(t.ctx, "COMMIT", t.Tx.Commit) }
func (t transaction) Rollback() error { return t.on.send(t.ctx, "ROLLBACK", t.Tx.Rollback) }

// answer is the whole answer to a query: as for a server, the statement is carried out
// before anything of its answer can be lost.
type answer struct {
	driver.Rows
	rows [][]driver.Value
}

func all(found driver.Rows) (*answer, error) {
	a := &answer{Rows: found}
	for {
		row := make([]driver.Value, len(found.Columns()))
		switch err := found.Next(row); {
		case errors.Is(err, io.EOF):
			return a, found.Close()
		case err != nil:
			return nil, errors.Join(err, found.Close())
		}
		a.rows = append(a.rows, row)
	}
}

func (a *answer) Next(row []driver.Value) error {
	if len(a.rows) == 0 {
		return io.EOF
	}
	copy(row, a.rows[0])
	a.rows = a.rows[1:]
	return nil
}

func (*answer) Close() error { return nil }
