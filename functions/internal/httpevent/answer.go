package httpevent

import (
	"encoding/json"
	"net/http"
)

// Answer is a response.
type Answer struct {
	Status      int
	ContentType string
	Body        string
}

// JSON is an answer with a JSON document.
func JSON(status int, document any) (Answer, error) {
	return encode(status, "application/json", document)
}

// Problem is an answer with a problem document (RFC 9457), as the guard's own
// refusals are.
func Problem(status int, detail string) (Answer, error) {
	return encode(status, "application/problem+json", struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
}

func encode(status int, contentType string, document any) (Answer, error) {
	body, err := json.Marshal(document)
	return Answer{Status: status, ContentType: contentType, Body: string(body)}, err
}

func (a Answer) headers() map[string]string {
	return map[string]string{"Content-Type": a.ContentType}
}
