package coldstart

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// runtimeAPI is the Lambda Runtime API for one process, which gets one event. It
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

// answer is what the process made of the event.
type answer struct {
	at     time.Time
	body   []byte
	failed bool // the body describes an error
}

func serveRuntimeAPI(ctx context.Context, event []byte) (*runtimeAPI, error) {
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
	a.events <- event
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", a.response)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", a.failure)
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

func (a *runtimeAPI) response(w http.ResponseWriter, r *http.Request) { a.take(w, r, answer{}) }

func (a *runtimeAPI) failure(w http.ResponseWriter, r *http.Request) {
	a.take(w, r, answer{failed: true})
}

func (a *runtimeAPI) take(w http.ResponseWriter, r *http.Request, taken answer) {
	var err error
	if taken.body, err = io.ReadAll(r.Body); err != nil {
		taken.body, taken.failed = []byte(err.Error()), true
	}
	taken.at = time.Now()
	a.answers <- taken
	w.WriteHeader(http.StatusAccepted)
}
