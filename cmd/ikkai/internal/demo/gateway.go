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

// eventFile is the event that the story's orders are sent as, but for their keys
// and bodies.
const eventFile = "testdata/events/httpapi-payment.json"

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

// with is the event that an order gives: this one with another key and body.
func (e event) with(o Order) ([]byte, error) {
	body, err := json.Marshal(map[string]any{"amount": o.Amount, "currency": "EUR", "customer": customerOf(o)})
	if err != nil {
		return nil, err
	}
	headers, _ := e["headers"].(map[string]any)
	headers = maps.Clone(headers)
	if headers == nil {
		headers = make(map[string]any)
	}
	headers["idempotency-key"] = o.Key
	headers["content-length"] = strconv.Itoa(len(body))
	sent := maps.Clone(e)
	sent["headers"] = headers
	sent["body"] = string(body)
	sent["isBase64Encoded"] = false
	return json.Marshal(sent)
}

// answerOf is what an HTTP API makes of Lambda's answer: the function's response,
// or a 500 if there is none. The emulator tells a failure by its text only.
func answerOf(raw []byte) Answer {
	answer := Answer{Status: http.StatusInternalServerError, raw: raw}
	var said struct {
		StatusCode   int               `json:"statusCode"`
		Headers      map[string]string `json:"headers"`
		Body         string            `json:"body"`
		ErrorType    string            `json:"errorType"`
		ErrorMessage string            `json:"errorMessage"`
	}
	err := json.Unmarshal(raw, &said)
	switch {
	case err != nil:
		answer.Failure = string(bytes.TrimSpace(raw))
	case said.StatusCode == 0:
		answer.Failure = strings.TrimPrefix(said.ErrorType+": "+said.ErrorMessage, ": ")
	default:
		answer.Status, answer.Body = said.StatusCode, said.Body
		if seconds, err := strconv.Atoi(said.Headers["Retry-After"]); err == nil {
			answer.RetryAfter = Milliseconds(time.Duration(seconds) * time.Second)
		}
	}
	return answer
}
