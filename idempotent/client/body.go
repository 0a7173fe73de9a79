package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// body is the content of a request, once for each try.
type body struct {
	next   io.ReadCloser
	again  func() (io.ReadCloser, error) // nil where there is content for one try only
	length int64                         // as that of an [http.Request]
}

// asItIs is the content as the caller gives it.
func asItIs(r *http.Request) body {
	return body{next: r.Body, again: r.GetBody, length: r.ContentLength}
}

// nothing is no content.
func nothing() body {
	return body{next: http.NoBody, again: func() (io.ReadCloser, error) { return http.NoBody, nil }}
}

// repeatable is the content of a request that may have to be sent again.
func repeatable(r *http.Request, limit int64) (body, error) {
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		return nothing(), nil
	case r.GetBody != nil || r.ContentLength > limit:
		return asItIs(r), nil
	}
	return buffered(r, limit)
}

// onceAtMost is the content of a request that is sent once. Content of unknown length that
// turns out to be none is said by its length here as well.
func onceAtMost(r *http.Request) (body, error) {
	if r.Body == nil || r.Body == http.NoBody || r.GetBody != nil || r.ContentLength > 0 || r.Trailer != nil {
		return asItIs(r), nil
	}
	b, err := buffered(r, 0)
	b.again = nil
	return b, err
}

// buffered reads the content into memory. If there is too much of it, what has been
// read is put back in front.
func buffered(r *http.Request, limit int64) (body, error) {
	b := asItIs(r)
	original := closedOnce{r.Body, sync.OnceValue(r.Body.Close)}
	b.next = original
	// Nothing but closing the body ends a Read that waits for its writer.
	stop := context.AfterFunc(r.Context(), b.close)
	content, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if interrupted := !stop(); interrupted {
		err = context.Cause(r.Context())
	}
	if err != nil {
		return b, fmt.Errorf("client: reading the request's body: %w", err)
	}
	if int64(len(content)) > limit {
		b.next = closedOnce{io.MultiReader(bytes.NewReader(content), r.Body), original.close}
		return b, nil
	}
	b.close()
	if len(content) == 0 && b.length <= 0 && r.Trailer == nil {
		return nothing(), nil // said by its length: what has none, and is empty, looks like content that was lost
	}
	b.again = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	b.next, _ = b.again()
	if b.length <= 0 && r.Trailer == nil { // trailers come only after content of unknown length
		b.length = int64(len(content))
	}
	return b, nil
}

// rewind makes the content ready for another try.
func (b *body) rewind() (err error) {
	if b.next, err = b.again(); err != nil {
		return fmt.Errorf("client: getting the request's body again: %w", err)
	}
	return nil
}

func (b *body) close() {
	if b.next != nil {
		b.next.Close()
	}
}

// closedOnce is a body that may be closed from two sides at once, which not every one
// can bear.
type closedOnce struct {
	io.Reader
	close func() error
}

// Close implements [io.Closer].
func (c closedOnce) Close() error { return c.close() }

// How much of a response, and for how long, is read so that its connection can be used
// again. More costs more than a new connection.
const (
	discardLimit = 64 << 10
	discardTime  = 50 * time.Millisecond
)

// discard is done with a response that is not returned.
func discard(resp *http.Response) {
	if resp == nil || resp.Body == nil {
		return
	}
	body := closedOnce{resp.Body, sync.OnceValue(resp.Body.Close)}
	defer body.Close()
	if resp.ContentLength > discardLimit {
		return
	}
	// Nothing but closing it ends a Read of a body that has stalled.
	stalled := time.AfterFunc(discardTime, func() { body.Close() })
	defer stalled.Stop()
	_, _ = io.CopyN(io.Discard, body, discardLimit) // what can't be read need not be
}
