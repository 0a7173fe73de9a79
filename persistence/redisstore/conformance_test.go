package redisstore_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/redisstore"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// The store keeps the contract, on a server and on a cluster.
func TestTheContractIsKept(t *testing.T) {
	conforms := func(t *testing.T, client redis.UniversalClient, prefix string) {
		storetest.Run(t, func(t *testing.T) persistence.Store {
			return planter{newStore(t, client, redisstore.Config{Prefix: prefix}), client, prefix}
		})
	}
	t.Run("server", func(t *testing.T) { conforms(t, startServer(t).client(t), "idempotency:") })
	t.Run("RESP2", func(t *testing.T) {
		conforms(t, startServer(t).client(t, func(o *redis.Options) { o.Protocol = 2 }), "idempotency:")
	})
	t.Run("cluster", func(t *testing.T) {
		conforms(t, startServer(t, "--cluster-enabled", "yes").cluster(t), "idempotency:")
	})
	if client, prefix, set := external(t); set {
		t.Run(urlEnv, func(t *testing.T) { conforms(t, client, prefix) })
	}
}

// wire is a way to the server that loses the reply of every second request.
type wire struct{ requests, lost atomic.Int64 }

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return &lossy{Conn: conn, wire: w}, err
}

type lossy struct {
	net.Conn
	wire   *wire
	losing bool
	broken bool
}

func (l *lossy) Write(b []byte) (int, error) {
	if bytes.Contains(b[:min(len(b), 20)], []byte("evalsha")) || bytes.Contains(b[:min(len(b), 20)], []byte("hgetall")) {
		l.losing = l.wire.requests.Add(1)%2 == 0
	}
	return l.Conn.Write(b)
}

// Read loses what it reads, and the connection with it: the server has answered, so
// the request was carried out.
func (l *lossy) Read(b []byte) (int, error) {
	if l.broken {
		return 0, io.EOF
	}
	n, err := l.Conn.Read(b)
	if !l.losing || err != nil {
		return n, err
	}
	l.wire.lost.Add(1)
	l.broken = true
	l.Close()
	return 0, io.EOF
}

// The same with the reply of every second request lost: go-redis repeats it, and the
// store recognises its own writes.
func TestTheContractIsKeptWithLostReplies(t *testing.T) {
	s := startServer(t)
	w := new(wire)
	client := s.client(t, impatient, func(o *redis.Options) {
		o.Dialer = w.dial
		o.MaxRetries = 50 // of many at once, one may be the second again and again
	})
	store := newStore(t, client, redisstore.Config{})
	for _, rule := range storetest.Rules() {
		switch rule.Needs {
		case storetest.NeedsPlanter, storetest.NeedsSizer, storetest.NeedsLedger:
			continue
		}
		if rule.Name == "race/release" {
			// A release whose reply is lost, and a record that somebody else makes
			// before it is repeated: the repeat can only report the other's record.
			continue
		}
		t.Run(rule.Name, func(t *testing.T) {
			if err := rule.Check(t.Context(), store); err != nil {
				t.Errorf("%s\nThe store does otherwise: %v", rule.Doc, err)
			}
		})
	}
	if lost := w.lost.Load(); lost < 100 {
		t.Errorf("%d replies were lost", lost)
	}
}
