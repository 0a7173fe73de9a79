package coldstart

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// runtimeAPI is the Lambda Runtime API for one process, which gets the events that are sent. It
// notes when the process asks and answers, at the other end of the same calls that
// Lambda itself measures by.
type runtimeAPI struct {
	address string
	events  chan []byte
	polls   chan time.Time // its requests for an event: the first, and the one after its answer
	answers chan answer

	server *http.Server
	served chan struct{} // closed when the server has ended
}

// answer is what the process made of the event: a response or an error.
type answer struct {
	at   time.Time
	body []byte
}

func serveRuntimeAPI(ctx context.Context) (*runtimeAPI, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &runtimeAPI{
		address: listener.Addr().String(),
		events:  make(chan []byte, 1),
		polls:   make(chan time.Time, 2),
		answers: make(chan answer, 1),
		served:  make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", a.take)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", a.take)
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: functionTimeout}
	go func() {
		defer close(a.served)
		_ = a.server.Serve(listener) // until it is closed
	}()
	return a, nil
}

func (a *runtimeAPI) close() error {
	err := a.server.Close()
	<-a.served
	return err
}

// next hands the event out and then, like Lambda between two events, keeps the
// process waiting.
func (a *runtimeAPI) next(w http.ResponseWriter, r *http.Request) {
	a.polls <- time.Now()
	select {
	case event := <-a.events:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "cold-start")
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:cold-start")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(functionTimeout).UnixMilli(), 10))
		_, _ = w.Write(event) // a process that is gone is noticed elsewhere
	case <-r.Context().Done():
	}
}

func (a *runtimeAPI) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		body = []byte(err.Error())
	}
	a.answers <- answer{at: time.Now(), body: body}
	w.WriteHeader(http.StatusAccepted)
}
