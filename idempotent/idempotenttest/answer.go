package idempotenttest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

var (
	// ErrKilled is the answer of a process that was killed: there is none.
	ErrKilled = errors.New("idempotenttest: the process was killed")
	// ErrTimedOut is the answer of an invocation that has outlived its time-out.
	ErrTimedOut = errors.New("idempotenttest: the invocation has timed out")
	// ErrPanicked is the answer of an invocation that has panicked, or whose goroutine has
	// ended. Lambda ends the process then.
	ErrPanicked = errors.New("idempotenttest: the function has panicked")
)

// Answer is what became of an invocation.
type Answer struct {
	// Payload is what the function has answered.
	Payload []byte
	// Err is its error, or one of [ErrKilled], [ErrTimedOut] and [ErrPanicked].
	Err error
}

// response is what the forms of answers that mean something to their source have.
type response struct {
	StatusCode        *int                `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Body              string              `json:"body"`
	IsBase64Encoded   bool                `json:"isBase64Encoded"`
	BatchItemFailures []json.RawMessage   `json:"batchItemFailures"`
}

// response is the answer in one of those forms; empty for any other.
func (a Answer) response() (r response) {
	if json.Unmarshal(a.Payload, &r) != nil {
		return response{}
	}
	return r
}

// Status is the HTTP status of the answer; 0 if it is no HTTP response.
func (a Answer) Status() int {
	if status := a.response().StatusCode; a.Err == nil && status != nil {
		return *status
	}
	return 0
}

// Body is the body of an HTTP response, decoded where it is base64.
func (a Answer) Body() []byte {
	r := a.response()
	if r.IsBase64Encoded {
		if decoded, err := base64.StdEncoding.DecodeString(r.Body); err == nil {
			return decoded
		}
	}
	return []byte(r.Body)
}

// Header is the first value of a header of an HTTP response.
func (a Answer) Header(name string) string {
	r := a.response()
	for given, value := range r.Headers {
		if strings.EqualFold(given, name) {
			return value
		}
	}
	for given, values := range r.MultiValueHeaders {
		if strings.EqualFold(given, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

func (a Answer) settled() bool {
	if a.Err != nil || len(a.response().BatchItemFailures) > 0 {
		return false
	}
	switch status := a.Status(); status {
	case http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	default:
		return status < http.StatusInternalServerError
	}
}

func (a Answer) same(again Answer) bool {
	if a.Err != nil || again.Err != nil {
		return a.Err != nil && again.Err != nil && a.Err.Error() == again.Err.Error()
	}
	if a.Status() == 0 {
		return bytes.Equal(a.Payload, again.Payload)
	}
	return a.Status() == again.Status() && bytes.Equal(a.Body(), again.Body()) && a.Header("Content-Type") == again.Header("Content-Type")
}

// String is the answer as stories tell it.
func (a Answer) String() string {
	switch failed := len(a.response().BatchItemFailures); {
	case a.Err != nil:
		return fmt.Sprintf("fails: %s", shortened(a.Err.Error()))
	case a.Status() != 0:
		return fmt.Sprintf("answers %d %s", a.Status(), shortened(string(a.Body())))
	case failed > 0:
		return fmt.Sprintf("reports %d failed items", failed)
	default:
		return "answers " + shortened(string(a.Payload))
	}
}

// shortened is a text that fits into a line of a story.
func shortened(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
