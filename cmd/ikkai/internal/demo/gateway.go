package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// event is a Lambda event of an HTTP API.
type event map[string]any

// readEvent reads an event as Lambda delivers it.
func readEvent(path string) (event, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var e event
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

// with is the event that a client's request gives: this one with another key and
// body.
func (e event) with(s Sent) ([]byte, error) {
	body, err := json.Marshal(s.body())
	if err != nil {
		return nil, err
	}
	headers, _ := e["headers"].(map[string]any)
	headers = maps.Clone(headers)
	if headers == nil {
		headers = make(map[string]any)
	}
	headers["idempotency-key"] = s.header()
	headers["content-length"] = strconv.Itoa(len(body))
	sent := maps.Clone(e)
	sent["headers"] = headers
	sent["body"] = string(body)
	sent["isBase64Encoded"] = false
	return json.Marshal(sent)
}

// answerOf is what an HTTP API makes of Lambda's answer: the function's response,
// or a 500 if there is none.
func answerOf(raw []byte) Answer {
	if failure := failureOf(raw); failure != "" {
		return Answer{Status: http.StatusInternalServerError, Failure: failure}
	}
	var said struct {
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
		Body       string            `json:"body"`
	}
	if err := json.Unmarshal(raw, &said); err != nil || said.StatusCode == 0 {
		return Answer{Status: http.StatusInternalServerError}
	}
	answer := Answer{Status: said.StatusCode, Body: said.Body, Replayed: said.Headers["Idempotent-Replayed"] == "true"}
	if seconds, err := strconv.Atoi(said.Headers["Retry-After"]); err == nil {
		answer.RetryAfter = Milliseconds(time.Duration(seconds) * time.Second)
	}
	return answer
}

// failureOf is what Lambda says of an invocation that failed; empty if it did not.
// The emulator tells a failure by its text only.
func failureOf(raw []byte) string {
	var said struct {
		ErrorType    string `json:"errorType"`
		ErrorMessage string `json:"errorMessage"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return string(bytes.TrimSpace(raw))
	}
	return strings.Trim(said.ErrorType+": "+said.ErrorMessage, ": ")
}
