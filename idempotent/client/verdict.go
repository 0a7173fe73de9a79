package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"time"
)

// How much of a problem document is read for its verdict, and for how long, or for all of
// [Config.Patience] where that is shorter. One that takes longer says nothing.
const (
	longestProblem = 16 << 10
	problemTime    = time.Second
)

// verdict is what a problem document of package httpguard says of another try.
type verdict struct {
	Code  string `json:"code"`
	Done  string `json:"done"`
	Retry *bool  `json:"retry"`
}

// isFinal tells whether a response says itself that another try is of no use. Its body is
// as it was.
func (c *Config) isFinal(ctx context.Context, resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // without parameters that can't be read
	if media != "application/problem+json" || resp.Body == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, min(problemTime, cmp.Or(c.Patience, problemTime)))
	defer cancel()
	problem, ok := readVerdict(ctx, resp)
	return ok && problem.Code != "" && problem.Done != "" && problem.Retry != nil && !*problem.Retry
}

// readVerdict reads the beginning of a body, for as long as the context allows. Nothing but
// closing a body ends a Read that has stalled, and who gets the response may still want it:
// reading goes on, and whoever reads next waits for it.
func readVerdict(ctx context.Context, resp *http.Response) (verdict, bool) {
	var problem verdict
	var err error
	body, rest := resp.Body, &later{ready: make(chan struct{})}
	go func() {
		defer close(rest.ready)
		var read bytes.Buffer
		err = json.NewDecoder(io.LimitReader(io.TeeReader(body, &read), longestProblem)).Decode(&problem)
		rest.Reader = io.MultiReader(&read, body)
	}()
	resp.Body = closedOnce{rest, body.Close}
	select {
	case <-rest.ready:
		return problem, err == nil
	case <-ctx.Done():
		return verdict{}, false
	}
}

// later is a reader that is there when it is ready.
type later struct {
	io.Reader
	ready chan struct{}
}

// Read implements [io.Reader].
func (l *later) Read(p []byte) (int, error) {
	<-l.ready
	return l.Reader.Read(p)
}
