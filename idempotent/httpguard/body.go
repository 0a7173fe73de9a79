package httpguard

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"

	"github.com/aws/aws-lambda-go/lambdaurl"
)

// content reads and decodes a body of up to limit bytes.
type content func(limit int) ([]byte, error)

var (
	errBody  = errors.New("the body is incomplete, or not the base64 that the event says it is")
	errTaken = errors.New("the body, or a part of it, was read before the request came to the guard, such as by ParseForm; what reads it belongs behind the guard, or must put all of it back and say its length")
)

// tooLargeError says that a body is larger than it may be.
type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the body has more than %d bytes", e.limit)
}

// bodyOf is the body of an event.
func bodyOf(text string, isBase64 bool) content {
	return func(limit int) ([]byte, error) {
		body, err := decodeBody(text, isBase64)
		if err != nil {
			return nil, errBody
		}
		if len(body) > limit {
			return nil, &tooLargeError{int64(limit)}
		}
		return body, nil
	}
}

func decodeBody(text string, isBase64 bool) ([]byte, error) {
	if isBase64 {
		return base64.StdEncoding.DecodeString(text)
	}
	return []byte(text), nil
}

// readBody reads the body of a net/http request. What is declared as too large is not
// even begun, so that its client is not told to send it.
func readBody(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	if r.ContentLength > int64(limit) {
		return nil, &tooLargeError{int64(limit)}
	}
	body := new(bytes.Buffer)
	if r.Body != nil {
		if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, int64(limit))); err != nil {
			return nil, readFault(err)
		}
	}
	if isTaken(r, body.Len()) {
		return nil, errTaken
	}
	return body.Bytes(), nil
}

// readFault says what an error of reading a body means.
func readFault(err error) error {
	tooLarge, _ := errors.AsType[*http.MaxBytesError](err) // by the limit here, or by one in front
	switch {
	case tooLarge != nil:
		return &tooLargeError{tooLarge.Limit}
	case errors.Is(err, http.ErrBodyReadAfterClose), err.Error() == closedHTTP2:
		return errTaken
	default:
		return errBody
	}
}

// closedHTTP2 is what net/http says of a body that was closed, and has no name for, where
// the request came by HTTP/2.
const closedHTTP2 = "body closed by handler"

// isTaken tells whether somebody in front has read of a body and not put it back, so that
// there is less of it than the client has sent: less than was declared, or than the event
// has. Where neither tells, a body without anything is taken for one that was read: an
// empty one comes with its length, but for that of a rare client. What somebody in front
// has put there may be shorter, such as what was compressed.
func isTaken(r *http.Request, length int) bool {
	if event, behindLambda := lambdaurl.RequestFromContext(r.Context()); behindLambda {
		sent, err := decodeBody(event.Body, event.IsBase64Encoded)
		switch {
		case err != nil || length >= len(sent) || r.Body == http.NoBody:
			return false
		default:
			return length == 0 && !isUnpacked(r, int64(len(sent))) || length > 0 && isFrom("io", r.Body) && int64(length) != r.ContentLength // lambdaurl makes it by io.NopCloser, and so do others
		}
	}
	isParsed := len(r.PostForm) > 0 || r.MultipartForm != nil
	if length == 0 {
		return r.ContentLength != 0 && !isUnpacked(r, r.ContentLength) || isParsed
	}
	return int64(length) < r.ContentLength && isFrom("net/http", r.Body)
}

// isUnpacked tells whether nothing at all may be what somebody in front has unpacked: the
// packed form of nothing has a few bytes, and says how it is packed.
func isUnpacked(r *http.Request, sent int64) bool {
	const mostOfNothing = 23 // gzip's, as Go writes it; other codings take less
	packed := r.Header.Get("Content-Encoding") != "" && 0 < sent && sent <= mostOfNothing
	return packed && !isFrom("net/http", r.Body) && !isFrom("io", r.Body) // somebody has put it there
}

// isFrom tells whether a body's type is a package's own: of net/http, it is the body that
// came from the client, but for the limit that may be on any.
func isFrom(pkg string, body io.ReadCloser) bool {
	kind := reflect.TypeOf(body)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return kind.PkgPath() == pkg && kind.Name() != "maxBytesReader"
}

// again returns a body that was read, for the handler.
func again(r *http.Request, body []byte) io.ReadCloser {
	if r.Body == http.NoBody {
		return r.Body // handlers ask for it
	}
	return io.NopCloser(bytes.NewReader(body))
}
