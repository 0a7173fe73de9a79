package dynamotest

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Serve serves the database over HTTP on a free port of 127.0.0.1, for other processes and for clients that want a
// socket, until Close. It returns the server's URL: the endpoint to give to a client or to an AWS_ENDPOINT_URL_DYNAMODB.
// A program that wants another address or its own timeouts serves the DB itself, which is an http.Handler.
func (db *DB) Serve() (url string, err error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: db, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // always http.ErrServerClosed, from Close
	}()
	db.mu.Lock()
	defer db.mu.Unlock()
	db.servers = append(db.servers, func() error {
		err := server.Close()
		<-served
		return err
	})
	return "http://" + listener.Addr().String(), nil
}
