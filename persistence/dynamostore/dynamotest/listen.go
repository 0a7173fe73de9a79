package dynamotest

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Listen serves the database over HTTP on a free port of 127.0.0.1 and returns its URL. stop ends the server, breaking
// what is under way, and returns when its goroutine has ended.
func (db *DB) Listen() (url string, stop func() error, err error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: db, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // always http.ErrServerClosed, from stop
	}()
	return "http://" + listener.Addr().String(), func() error {
		err := server.Close()
		<-served
		return err
	}, nil
}
